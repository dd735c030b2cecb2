"""`scripts/screenshots`: pictures of every page in four looks, into docs/screens.

Three parts, in this order: `before` the lab, a student's pages `after` it, done in the browser with the model answers,
and `class`, an instructor's pages of a class that is made up (tests.browser.picture_class).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal, cast

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from labs.steps import all_steps
from tests.browser.model_student import ModelAnswers, do_step, environ_of
from tests.system.site import ROOT, Site

WHO, TEACHER, ADMIN = "park", "choi", "admin"
PARTS = ("before", "after", "class")
COURSE = "/courses/demo/"
STEP = COURSE + "steps/{}/"
# The step whose finished attempt is pictured with everything open.
OPEN_STEP = "cache-break"
REGRADED, REGRADE_WHY = "prefill", "모두가 15%를 쉽게 지켜서 기준을 좁힙니다."
RERUN = "read-sse"
ROSTER = """학번,이름,이메일
20260101,강도윤,dy.kang@univ.example
20260102,고서진,sj.ko@univ.example
20260103,곽하준,hj.kwak@univ.example
20260201,한새봄,sb.han@univ.example
20260202,하윤슬,ys.ha@univ.example
20260203,주소 없음,
"""
HEIGHT = 900
COLOURS = 128
# Every colour that the style names, in light and in dark.
NAMED = [
    (int(found[1:3], 16), int(found[3:5], 16), int(found[5:7], 16))
    for found in dict.fromkeys(
        re.findall(r"#[0-9a-f]{6}", (ROOT / "static" / "labs" / "tokens.css").read_text(encoding="utf-8"))
    )
]
DRAWN = """
async () => {
  for (let i = 0; i < 3; i += 1) await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
}
"""


@dataclass(frozen=True, slots=True)
class Look:
    language: str
    scheme: Literal["light", "dark"]
    width: int

    @property
    def name(self) -> str:
        return f"{self.language}-{self.scheme}-{self.width}"


LOOKS = [
    Look("en", "light", 1440),
    Look("ko", "dark", 1440),
    Look("ko", "light", 390),
    Look("en", "dark", 390),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--steps", nargs="*", default=list(all_steps()), help="only these steps")
    parser.add_argument("--looks", nargs="*", default=[look.name for look in LOOKS])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screens")
    parser.add_argument("--chromium", required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=120_000)
    looks = [look for look in LOOKS if look.name in arguments.looks]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Site(Path(folder))
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        try:
            site.start()
            if "before" in arguments.parts:
                for look in looks:
                    take_login(browser, site, look, arguments.out)
                    take(browser, site, look, list(pages_before(arguments.steps)), arguments.out)
            if "after" in arguments.parts:
                after = do_lab(browser, site, arguments.steps)
                for look in looks:
                    take(browser, site, look, after, arguments.out)
            if "class" in arguments.parts:
                make_class(site)
                taught = prepare_class(browser, site)
                for look in looks:
                    take(browser, site, look, taught, arguments.out, who=TEACHER)
                    take_class_forms(browser, site, look, arguments.out)
                    take(browser, site, look, [("audit", "/audit/")], arguments.out, who=ADMIN)
                    take(
                        browser, site, look, [("board-student", COURSE + "boards/predictor/")], arguments.out
                    )
        finally:
            browser.close()
            site.stop()


def do_lab(browser: Browser, site: Site, steps: list[str]) -> list[tuple[str, str]]:
    """Every step with the model answers. Returns the pages to look at afterwards."""
    with ModelAnswers(site) as answers:
        page = log_in(browser, site, LOOKS[0])
        for step in steps:
            print(f"{step}: {do_step(page, answers, WHO, step)} rounds", flush=True)
    after = [(f"{step}-done", STEP.format(step)) for step in steps] + [("home-done", "/")]
    if OPEN_STEP in steps:
        page.goto(STEP.format(OPEN_STEP))
        after.append(("attempt-open", f"/attempts/{page.locator('#run').get_attribute('data-attempt')}/"))
    page.context.close()
    return after


def make_class(site: Site) -> None:
    subprocess.run(
        [
            sys.executable,
            "manage.py",
            "shell",
            "-c",
            "from tests.browser.picture_class import build; build()",
        ],
        cwd=ROOT,
        env=environ_of(site),
        check=True,
    )


def prepare_class(browser: Browser, site: Site) -> list[tuple[str, str]]:
    """Previews a regrade with a narrower limit, and returns an instructor's pages."""
    page = log_in(browser, site, LOOKS[0], TEACHER)
    page.goto(STEP.format(REGRADED) + "regrade/")
    page.locator(".limit-fields input").first.fill("8")
    page.locator("[name=why]").fill(REGRADE_WHY)
    page.locator("main form[method=post] button").last.click()
    expect(page.locator("main[data-state=preview]")).to_be_visible()
    regrade = page.url.removeprefix(site.url)
    page.goto(COURSE + "grades/")
    attempt = page.locator(".grades tbody a").nth(4).get_attribute("href") or ""
    page.context.close()
    return [
        ("home-teacher", "/"),
        ("class-now", COURSE + "now/"),
        ("gradebook", COURSE + "grades/?sort=-total"),
        ("attempt-teacher", attempt),
        ("people", COURSE + "people/"),
        ("rules", COURSE + "rules/"),
        ("rule-step", STEP.format("voice-turn") + "rules/"),
        ("extensions", COURSE + "extensions/"),
        ("regrades", COURSE + "regrades/"),
        ("regrade", regrade),
        *((f"board-{key}", f"{COURSE}boards/{key}/") for key in ("ttft", "predictor", "voice")),
        ("projector", COURSE + "boards/ttft/projector"),
        ("projector-ranked", COURSE + "boards/voice/projector"),
    ]


def take_class_forms(browser: Browser, site: Site, look: Look, out: Path) -> None:
    """What comes of pressing something: what a list would change, and the class's programs run again."""
    page = log_in(browser, site, look, TEACHER)
    page.goto(COURSE + "people/")
    page.locator("[name=people]").fill(ROSTER)
    page.locator("form[action$='/people/list'] button").click()
    page.wait_for_url(re.compile("/people/list$"))
    picture(page, out, "roster", look)
    page.goto(STEP.format(RERUN) + "rerun/")
    page.locator("[data-run]").click()
    expect(
        page.locator("[data-source]:not([data-state=agrees], [data-state=differs], [data-state=failed])")
    ).to_have_count(0)
    picture(page, out, "rerun", look)
    page.context.close()


def pages_before(steps: list[str]) -> Iterator[tuple[str, str]]:
    yield "home", "/"
    yield "not-found", "/no/such/page"
    for step in steps:
        yield step, STEP.format(step)


def open_browser(browser: Browser, site: Site, look: Look) -> Page:
    context = browser.new_context(
        base_url=site.url,
        viewport={"width": look.width, "height": HEIGHT},
        color_scheme=look.scheme,
        locale={"en": "en-US", "ko": "ko-KR"}[look.language],
    )
    context.add_cookies([{"name": "django_language", "value": look.language, "url": site.url}])
    page = context.new_page()
    page.goto("/login/")
    return page


def log_in(browser: Browser, site: Site, look: Look, who: str = WHO) -> Page:
    page = open_browser(browser, site, look)
    page.locator("[name=username]").fill(who)
    page.locator("[name=password]").fill(site.password(who))
    page.locator("form[method=post] button").last.click()
    page.wait_for_url("**/")
    return page


def take_login(browser: Browser, site: Site, look: Look, out: Path) -> None:
    page = open_browser(browser, site, look)
    picture(page, out, "login", look)
    page.context.close()


def take(
    browser: Browser, site: Site, look: Look, pages: list[tuple[str, str]], out: Path, *, who: str = WHO
) -> None:
    page = log_in(browser, site, look, who)
    for name, path in pages:
        page.goto(path)
        page.wait_for_load_state("networkidle")
        if name.endswith("-open"):
            page.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
            page.wait_for_load_state("networkidle")
        picture(page, out, name, look)
    page.context.close()


def picture(page: Page, out: Path, name: str, look: Look) -> None:
    """With a window as high as the page: what is drawn as it comes into view is in the picture too."""
    expect(page.locator("sse-lab:not([data-state=ready])")).to_have_count(0)
    for _ in range(2):  # what is drawn may make it higher
        height: int = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": look.width, "height": max(HEIGHT, height)})
        page.evaluate(DRAWN)
    taken = Image.open(BytesIO(page.screenshot())).convert("RGB")
    page.set_viewport_size({"width": look.width, "height": HEIGHT})
    few_colours(taken).convert("RGB").save(out / f"{name}.{look.name}.webp", lossless=True, method=4)


def few_colours(full: Image.Image) -> Image.Image:
    """With the commonest colours and those that the style names as its palette: small, and a mark drawn in a few pixels
    keeps its hue."""
    counted = full.getcolors(full.width * full.height) or []
    common = [cast("tuple[int, int, int]", colour) for _count, colour in sorted(counted, reverse=True)]
    palette = Image.new("P", (1, 1))
    chosen = list(dict.fromkeys([*common[: COLOURS // 2], *NAMED, *common]))[:COLOURS]
    palette.putpalette([part for colour in chosen for part in colour])
    return full.quantize(palette=palette, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
