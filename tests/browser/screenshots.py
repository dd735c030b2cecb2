"""`scripts/screenshots`: does the lab as a student with the model answers and pictures every page."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from labs.steps import all_steps
from tests.browser.model_student import ModelAnswers, do_step
from tests.system.site import ROOT, Site

WHO = "park"
STEP = "/courses/demo/steps/{}/"
# The step whose finished attempt is pictured with everything open.
OPEN_STEP = "cache-break"
HEIGHT = 900
COLOURS = 256
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
    parser.add_argument("--steps", nargs="*", default=list(all_steps()), help="only these steps")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screens")
    parser.add_argument("--chromium", required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=120_000)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Site(Path(folder))
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        try:
            site.start()
            before = list(pages_before(arguments.steps))
            for look in LOOKS:
                take_login(browser, site, look, arguments.out)
                take(browser, site, look, before, arguments.out)
            with ModelAnswers(site) as answers:
                page = log_in(browser, site, LOOKS[0])
                for step in arguments.steps:
                    print(f"{step}: {do_step(page, answers, WHO, step)} rounds", flush=True)
            after = [(f"{step}-done", STEP.format(step)) for step in arguments.steps] + [("home-done", "/")]
            if OPEN_STEP in arguments.steps:
                page.goto(STEP.format(OPEN_STEP))
                after.append(
                    ("attempt-open", f"/attempts/{page.locator('#run').get_attribute('data-attempt')}/")
                )
            for look in LOOKS:
                take(browser, site, look, after, arguments.out)
        finally:
            browser.close()
            site.stop()


def pages_before(steps: list[str]) -> Iterator[tuple[str, str]]:
    yield "home", "/"
    yield "not-found", "/no/such/page"
    for step in steps:
        yield step, STEP.format(step)


def open_browser(browser: Browser, site: Site, look: Look) -> Page:
    context = browser.new_context(
        base_url=site.url, viewport={"width": look.width, "height": HEIGHT}, color_scheme=look.scheme
    )
    context.add_cookies([{"name": "django_language", "value": look.language, "url": site.url}])
    page = context.new_page()
    page.goto("/login/")
    return page


def log_in(browser: Browser, site: Site, look: Look) -> Page:
    page = open_browser(browser, site, look)
    page.locator("[name=username]").fill(WHO)
    page.locator("[name=password]").fill(site.password(WHO))
    page.locator("form[method=post] button").last.click()
    page.wait_for_url("**/")
    return page


def take_login(browser: Browser, site: Site, look: Look, out: Path) -> None:
    page = open_browser(browser, site, look)
    picture(page, out, "login", look)
    page.context.close()


def take(browser: Browser, site: Site, look: Look, pages: list[tuple[str, str]], out: Path) -> None:
    page = log_in(browser, site, look)
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
    path = out / f"{name}.{look.name}.png"
    page.screenshot(path=path)
    page.set_viewport_size({"width": look.width, "height": HEIGHT})
    with Image.open(path) as taken:
        few_colours(taken.convert("RGB")).save(path, optimize=True)


def few_colours(full: Image.Image) -> Image.Image:
    """With the commonest colours as its palette: a third of the size, and what is drawn in few pixels keeps its hue."""
    counted = full.getcolors(full.width * full.height) or []
    common = sorted(counted, reverse=True)[:COLOURS]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _count, colour in common for part in cast("tuple[int, ...]", colour)])
    return full.quantize(palette=palette, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
