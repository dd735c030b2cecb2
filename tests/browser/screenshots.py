"""`scripts/screenshots`: pictures of every page in four looks, into docs/screens.

Three parts, in this order: `before` the lab, a student's pages `after` it, from stored runs on a real server, and
`class`, an instructor's and an admin's pages of a class that is made up (tests.browser.picture_class).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from labs.steps import all_steps
from tests.browser.camera import LOOKS, Camera, Look
from tests.browser.model_student import environ_of
from tests.system.site import ROOT, Site

WHO, TEACHER, ADMIN = "park", "choi", "admin"
LANGUAGES = {"en": "English", "ko": "Korean"}
PARTS = ("before", "after", "class")
COURSE = "/courses/demo/"
STEP = COURSE + "steps/{}/"
# Pages of many screens: a step, an attempt.
LONG = (COURSE + "steps/", "/attempts/")
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
,이름뿐,
"""


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
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        camera = Camera(browser, Site(Path(folder)), arguments.out)
        try:
            camera.site.start()
            if "before" in arguments.parts:
                take_before(camera, looks, arguments.steps)
            if "after" in arguments.parts:
                after = pages_after(camera, arguments.steps)
                for look in looks:
                    camera.take(look, WHO, short_enough(look, after))
            if "class" in arguments.parts:
                in_site(camera.site, "build")
                taught = prepare_class(camera)
                for look in looks:
                    take_class(camera, look, taught)
        finally:
            browser.close()
            camera.site.stop()
    write_index(arguments.out)


def write_index(out: Path) -> None:
    """A table of what is there: a row a page, a column a look."""
    names = sorted({path.name.partition(".")[0] for path in out.glob("*.webp")})
    heads = [f"{LANGUAGES[look.language]}, {look.scheme}, {look.width} px" for look in LOOKS]
    lines = [f"| page | {' | '.join(heads)} |", "|---" * (len(LOOKS) + 1) + "|"]
    for name in names:
        files = [out / f"{name}.{look.name}.webp" for look in LOOKS]
        links = [f"[look]({file.name})" if file.exists() else "" for file in files]
        lines.append(f"| {name} | {' | '.join(links)} |")
    made = (
        "Made by `scripts/screenshots`: a student's pages before and after the whole lab, "
        "and those of who teaches it."
    )
    (out / "README.md").write_text("\n".join(["# Every page", "", made, "", *lines, ""]), encoding="utf-8")


def take_before(camera: Camera, looks: Sequence[Look], steps: Sequence[str]) -> None:
    for look in looks:
        page = camera.open(look)
        camera.picture(page, "login", look)
        page.context.close()
        camera.take(look, WHO, short_enough(look, list(pages_before(steps))))


def short_enough(look: Look, pages: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The long pages are left out of the last look, or the pictures would take two megabytes more."""
    return [(name, path) for name, path in pages if look != LOOKS[-1] or not path.startswith(LONG)]


def pages_before(steps: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "home", "/"
    yield "join", "/join/"
    yield "not-found", "/no/such/page"
    for step in steps:
        yield step, STEP.format(step)


def pages_after(camera: Camera, steps: Sequence[str]) -> list[tuple[str, str]]:
    in_site(camera.site, "finish_lab")
    page = camera.log_in(LOOKS[0], WHO)
    page.goto(STEP.format(OPEN_STEP))
    attempt = page.locator("#run").get_attribute("data-attempt")
    page.context.close()
    done = [(f"{step}-done", STEP.format(step)) for step in steps]
    return [*done, ("home-done", "/"), ("me", "/me/"), ("attempt-open", f"/attempts/{attempt}/")]


def in_site(site: Site, what: str) -> None:
    """A function of tests.browser.picture_class in a process that sees the site's database."""
    code = f"from tests.browser.picture_class import {what}; {what}()"
    subprocess.run(
        [sys.executable, "manage.py", "shell", "-c", code], cwd=ROOT, env=environ_of(site), check=True
    )


def prepare_class(camera: Camera) -> list[tuple[str, str]]:
    """Previews a regrade with a narrower limit, and returns an instructor's pages."""
    page = camera.log_in(LOOKS[0], TEACHER)
    page.goto(STEP.format(REGRADED) + "regrade/")
    page.locator(".limit-fields input").first.fill("8")
    page.locator("[name=why]").fill(REGRADE_WHY)
    page.locator("main form[method=post] button").last.click()
    expect(page.locator("main[data-state=preview]")).to_be_visible()
    regrade = page.url.removeprefix(camera.site.url)
    page.goto(COURSE + "grades/")
    attempt = page.locator(".grades tbody a").nth(4).get_attribute("href") or ""
    page.context.close()
    return [
        ("home-teacher", "/"),
        ("class-now", COURSE + "now/"),
        ("class-hour", COURSE + "hour/"),
        ("gradebook", COURSE + "grades/?sort=-total"),
        ("attempt-teacher", attempt),
        ("people", COURSE + "people/"),
        ("pairs", COURSE + "pairs/"),
        ("rules", COURSE + "rules/"),
        ("rule-step", STEP.format("voice-turn") + "rules/"),
        ("extensions", COURSE + "extensions/"),
        ("regrades", COURSE + "regrades/"),
        ("regrade", regrade),
        *((f"board-{key}", f"{COURSE}boards/{key}/") for key in ("ttft", "predictor", "voice")),
        ("projector", COURSE + "boards/ttft/projector"),
        ("projector-ranked", COURSE + "boards/predictor/projector"),
    ]


def take_class(camera: Camera, look: Look, taught: Sequence[tuple[str, str]]) -> None:
    camera.take(look, TEACHER, taught)
    take_class_forms(camera, look)
    camera.take(look, ADMIN, [("audit", "/audit/"), ("endpoints", "/endpoints/"), ("stuck", "/stuck/")])
    camera.take(look, WHO, [("board-student", COURSE + "boards/predictor/")])


def take_class_forms(camera: Camera, look: Look) -> None:
    """What comes of pressing something: what a list would change, and the class's programs run again."""
    page = camera.log_in(look, TEACHER)
    page.goto(COURSE + "people/")
    page.locator("[name=people]").fill(ROSTER)
    page.locator("form[action$='/people/list'] button").click()
    page.wait_for_url(re.compile("/people/list$"))
    camera.picture(page, "roster", look)
    page.goto(STEP.format(RERUN) + "rerun/")
    page.locator("[data-run]").click()
    expect(
        page.locator("[data-source]:not([data-state=agrees], [data-state=differs], [data-state=failed])")
    ).to_have_count(0)
    camera.picture(page, "rerun", look)
    page.context.close()


if __name__ == "__main__":
    main()
