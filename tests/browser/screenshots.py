"""`scripts/screenshots`: does the lab as a student with the model answers and pictures every page."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from labs.steps import all_steps
from tests.browser.model_student import ModelAnswers, do_step
from tests.system.site import ROOT, Site

WHO = "park"
STEP = "/courses/demo/steps/{}/"


@dataclass(frozen=True, slots=True)
class Look:
    language: str
    scheme: str
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
                take(browser, site, look, before, arguments.out)
            with ModelAnswers(site) as answers:
                page = log_in(browser, site, LOOKS[0])
                for step in arguments.steps:
                    print(f"{step}: {do_step(page, answers, WHO, step)} rounds", flush=True)
            after = [(f"{step}-done", STEP.format(step)) for step in arguments.steps] + [("home-done", "/")]
            for look in LOOKS:
                take(browser, site, look, after, arguments.out)
        finally:
            browser.close()
            site.stop()


def pages_before(steps: list[str]) -> Iterator[tuple[str, str]]:
    yield "home", "/"
    for step in steps:
        yield step, STEP.format(step)


def log_in(browser: Browser, site: Site, look: Look) -> Page:
    context = browser.new_context(
        base_url=site.url, viewport={"width": look.width, "height": 900}, color_scheme=look.scheme
    )
    context.add_cookies([{"name": "django_language", "value": look.language, "url": site.url}])
    page = context.new_page()
    page.goto("/login/")
    page.locator("[name=username]").fill(WHO)
    page.locator("[name=password]").fill(site.password(WHO))
    page.locator("form[method=post] button").last.click()
    page.wait_for_url("**/")
    return page


def take(browser: Browser, site: Site, look: Look, pages: list[tuple[str, str]], out: Path) -> None:
    page = log_in(browser, site, look)
    for name, path in pages:
        page.goto(path)
        page.wait_for_load_state("networkidle")
        page.screenshot(path=out / f"{name}.{look.name}.png", full_page=True)
    page.context.close()


if __name__ == "__main__":
    main()
