"""`scripts/long-tasks`: is the page's own thread ever busy for over 50 ms while tokens stream in and a run ends?"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.live.servers import Daphne, Valkey

if TYPE_CHECKING:
    from tests.browser.long_tasks_world import World

STEP = "cache-break"

# Before any script of the page. What the browser calls a long task or frame took over 50 ms.
WATCH = """
window.seen = {};
for (const type of ["longtask", "long-animation-frame"]) {
  if (!PerformanceObserver.supportedEntryTypes.includes(type)) continue;
  seen[type] = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) seen[type].push([entry.startTime, entry.duration]);
  }).observe({ type, buffered: true });
}
"""
# Durations since `from`, in ms, once what was asked for is drawn and the observers have been told of it. Whatever
# else the driver asks the page takes its time as well, so it asks nothing in between.
UNTIL = """
async ([from, selector]) => {
  await new Promise((found) => {
    const look = () => document.querySelector(selector) && found();
    new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
    look();
  });
  await new Promise((drawn) => setTimeout(drawn, 500));
  const began = from ?? performance.getEntriesByType("navigation")[0].loadEventEnd;
  const later = (entries) => entries.filter(([at]) => at >= began).map(([, took]) => took);
  return Object.fromEntries(Object.entries(seen).map(([type, entries]) => [type, later(entries)]));
}
"""
Found = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Scene:
    """`slowdown`: how many times slower than this machine the page's thread runs; such a scene only tells."""

    title: str
    width: int
    slowdown: int

    @property
    def is_graded(self) -> bool:
        return self.slowdown == 1


SCENES = [Scene("wide", 1440, 1), Scene("phone, 4 times slower", 390, 4)]
HEADS = (("tokens", 8), ("tasks > 50 ms", 15), ("longest ms", 12), ("frames > 50 ms", 16), ("longest ms", 12))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=100.0, help="tokens a second")
    parser.add_argument("--chromium", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="long-tasks-") as name, Valkey(Path(name)) as valkey:
        environ = {
            "LABHUB_DEMO": "1",
            "LABHUB_LOG_LEVEL": "WARNING",
            "LABHUB_STATE_DIR": name,
            "DATABASE_URL": f"sqlite://{name}/site.sqlite3",
            "REDIS_URL": valkey.url,
            "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        }
        os.environ.update(environ)
        from tests.browser.long_tasks_world import make_site, make_world

        make_site()
        worlds = [make_world(f"owner-{number}", STEP) for number in range(len(SCENES))]
        print(f"{options.seconds:g} s at {options.rate:g} tokens/s, {os.cpu_count()} cores")
        print(" " * 32 + "".join(f"{head:>{width}}" for head, width in HEADS))
        with Daphne(Path(name), environ) as daphne, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=options.chromium, args=["--no-sandbox", "--disable-gpu"]
            )
            long_tasks = sum(
                watch(scene, browser, daphne.origin, world, options.seconds, options.rate)
                for scene, world in zip(SCENES, worlds, strict=True)
            )
            browser.close()
    return 1 if long_tasks else 0


def watch(scene: Scene, browser: Browser, origin: str, world: World, seconds: float, rate: float) -> int:
    """How many long tasks count against the page, from its load to the verdict."""
    from labs.live.topics import publisher
    from tests.browser.long_tasks_world import grade, publish

    page = open_page(scene, browser, origin, world)
    topic = publisher().topic(UUID(world.attempt_id), world.run_number)
    said = publish(topic, seconds, rate)
    streaming: Found = page.evaluate(UNTIL, [None, "#tokens section:nth-of-type(5) .figures:not(:empty)"])
    shown = page.locator("#tokens pre").all_text_contents()
    assert shown == ["".join(words) for words in said], "every token is on the page"
    now_ms = page.evaluate("performance.now()")
    # This thread runs the browser's event loop, where Django's tables may not be asked.
    with ThreadPoolExecutor(1) as database:
        database.submit(grade, world).result()
    topic.finish()
    verdict: Found = page.evaluate(UNTIL, [now_ms, "#run[data-live=no]"])
    page.context.close()
    report(f"{scene.title}: streaming", str(sum(map(len, said))), streaming)
    report(f"{scene.title}: the verdict comes", "", verdict)
    return len(streaming["longtask"]) + len(verdict["longtask"]) if scene.is_graded else 0


def open_page(scene: Scene, browser: Browser, origin: str, world: World) -> Page:
    context = browser.new_context(base_url=origin, viewport={"width": scene.width, "height": 900})
    name, value = world.cookie
    context.add_cookies([{"name": name, "value": value, "url": origin}])
    page = context.new_page()
    if scene.slowdown > 1:
        throttle = {"rate": scene.slowdown}
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", throttle)
    page.add_init_script(WATCH)
    page.goto(world.step_path)
    expect(page.locator("#link[data-link=live]")).to_be_visible()
    return page


def report(title: str, tokens: str, found: Found) -> None:
    cells = [tokens]
    for kind in ("longtask", "long-animation-frame"):
        durations = found.get(kind)
        cells += (
            ["-", "-"] if durations is None else [f"{len(durations)}", f"{max(durations, default=0):.0f}"]
        )
    print(f"{title:32}" + "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, HEADS, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
