"""`scripts/class-of-eight`: eight students in browsers of their own do a short lab hour on the real server, and their
instructor looks on. What each saw at fixed moments is kept as pictures; what went wrong ends it with 1.

Four of them answer one question wrongly, each at another step, so every verdict is known before. At the end the
instructor's gradebook must say what the students' own pages say.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, Page, Response, expect, sync_playwright

from labs.steps import all_steps
from tests.browser.camera import DRAWN, few_colours
from tests.browser.model_student import ModelAnswers, fill
from tests.browser.student import press_run
from tests.steps.wrong_answers import WRONG, Wrong
from tests.system.enrol import enrol
from tests.system.site import ROOT, Site

STEPS = ("server-up", "first-token", "cache-reuse", "barge-in", "cache-break")
STEP_LIMIT_S = 400.0
POLL_S = 0.25
WIDE, PHONE = (1280, 820), (390, 780)


@dataclass(frozen=True, slots=True)
class Seat:
    """`slips`: the check that this student fails, if any; all else is answered well."""

    login: str
    family: str
    given: str
    language: str
    scheme: Literal["light", "dark"]
    size: tuple[int, int] = WIDE
    slips: tuple[str, str] | None = None


CLASS = (
    Seat("minjun", "김", "민준", "ko", "light"),
    Seat("seoyeon", "이", "서연", "ko", "dark", PHONE),
    Seat("jiho", "박", "지호", "ko", "light", slips=("server-up", "share")),
    Seat("haeun", "정", "하은", "ko", "dark", slips=("cache-break", "own-figures")),
    Seat("ada", "Silva", "Ada", "en", "light", slips=("first-token", "frame")),
    Seat("tom", "Baker", "Tom", "en", "dark"),
    Seat("mina", "Weber", "Mina", "en", "dark", PHONE),
    Seat("omar", "Haddad", "Omar", "en", "light", PHONE, slips=("barge-in", "stop-close")),
)
TEACHER = "choi"


@dataclass
class Desk:
    """One browser with one page, and everything that is wrong with it."""

    page: Page
    name: str
    troubles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda error: self.troubles.append(f"{self.name}: {error}"))
        self.page.on("response", self._answered)

    def _answered(self, answer: Response) -> None:
        if answer.status >= 400:
            self.troubles.append(f"{self.name}: {answer.request.method} {answer.url} got {answer.status}")

    def look(self) -> None:
        """What no page may show in this hour: an alarm, or an attempt that a fault ended."""
        for where in ("#alert:visible", "#run[data-state=errored]", ".error-summary", "main.error-page"):
            found = self.page.locator(where)
            if found.count():
                self.troubles.append(f"{self.name}: {where} {found.first.inner_text()[:200]!r}")


@dataclass
class Pupil:
    seat: Seat
    desk: Desk
    answers: ModelAnswers
    verdicts: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def page(self) -> Page:
        return self.desk.page

    def run_round(self, step: str) -> None:
        """Fills in the round that waits and presses Run."""
        self.page.goto(address(step))
        waiting = self.answers.of(self.seat.login, step)
        assert waiting is not None, f"{self.seat.login}: no round of {step} waits"
        post = waiting["post"]
        wrong = self._slip(step)
        if wrong is not None and wrong.round == waiting["round"]:
            for name, change in wrong.changes.items():
                post[name] = change(post.get(name), waiting["challenge"]) if callable(change) else change
        fill(self.page, post)
        press_run(self.page)

    def _slip(self, step: str) -> Wrong | None:
        if self.seat.slips is None or self.seat.slips[0] != step:
            return None
        return next(wrong for wrong in WRONG if (wrong.step, wrong.check) == self.seat.slips)

    def is_still_running(self) -> bool:
        """By what the open page shows; nothing is reloaded."""
        self.desk.look()
        return self.page.locator("#run[data-live=no]").count() == 0

    def has_verdict(self) -> bool:
        return self.page.locator("#run[data-state=graded]").count() > 0

    def keep_verdicts(self, step: str) -> None:
        self.verdicts[step] = self.page.locator("[data-check]").evaluate_all(
            "checks => Object.fromEntries(checks.map(c => [c.dataset.check, c.dataset.verdict]))"
        )

    def mistakes(self) -> list[str]:
        """An inconclusive verdict is none: the server proved nothing and no attempt was used."""
        found = []
        for step in STEPS:
            slip = self.seat.slips[1] if self.seat.slips and self.seat.slips[0] == step else None
            checks = self.verdicts.get(step, {})
            if not checks:
                found.append(f"{self.seat.login} has no verdict in {step}")
            found += [
                f"{self.seat.login} {step} {key}: {verdict}"
                for key, verdict in checks.items()
                if (slip is None and verdict == "fail") or (key == slip and verdict == "pass")
            ]
        return found

    def own_points(self) -> list[str]:
        """As the student's own page has them: the sum, then each step of the hour."""
        self.page.goto("/")
        texts = self.page.locator(".lab-map .tile-points").all_inner_texts()
        by_step = {key: text.split("/")[0].strip() for key, text in zip(all_steps(), texts, strict=True)}
        total = self.page.locator(".course-head .points strong").inner_text().strip()
        return [total, *(by_step[step] for step in STEPS)]


@dataclass
class Album:
    """Pictures of what was on a screen, as it was: no page is made higher or scrolled for them but to what is named."""

    folder: Path
    taken: list[str] = field(default_factory=list)

    def take(self, page: Page, name: str, at: str = "") -> None:
        if at:
            page.locator(at).first.evaluate("node => node.scrollIntoView({ block: 'start' })")
            page.evaluate("scrollBy(0, -12)")
        page.evaluate(DRAWN)
        path = self.folder / f"{len(self.taken) + 1:02}-{name}.png"
        page.screenshot(path=path)
        with Image.open(path) as picture:
            few_colours(picture.convert("RGB")).save(path, optimize=True)
        self.taken.append(path.name)


def address(step: str) -> str:
    return f"/courses/demo/steps/{step}/"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/class-of-eight", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "class-of-eight")
    parser.add_argument("--chromium", required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=30_000)
    for old in arguments.out.glob("*.png"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="class-of-eight-") as folder, sync_playwright() as playwright:
        site = Site(Path(folder))
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        try:
            site.start()
            began_s = time.monotonic()
            problems = hour(browser, site, Album(arguments.out))
            took_s = time.monotonic() - began_s
        finally:
            browser.close()
            site.stop()
    print(f"eight students, {', '.join(STEPS)}: {took_s:.0f} s, {len(problems)} problems")
    print("\n".join(problems))
    return 1 if problems else 0


def hour(browser: Browser, site: Site, album: Album) -> list[str]:
    """The whole hour; gives what went wrong."""
    sessions = enrol(site, [(seat.login, seat.family, seat.given) for seat in CLASS])
    teacher = [
        open_desk(browser, site, f"{TEACHER} {what}", "ko", "light", WIDE)
        for what in ("now", "board", "projector")
    ]
    for desk in teacher:
        log_in(desk.page, site, TEACHER)
    now, board, projector = (desk.page for desk in teacher)
    with ModelAnswers(site) as answers:
        pupils = []
        for seat in CLASS:
            desk = open_desk(browser, site, seat.login, seat.language, seat.scheme, seat.size)
            desk.page.context.add_cookies(
                [{"name": "sessionid", "value": sessions[seat.login], "url": site.url}]
            )
            pupils.append(Pupil(seat, desk, answers))
        minjun, seoyeon, jiho, haeun, ada, tom, mina, omar = pupils
        minjun.page.goto("/")
        album.take(minjun.page, "before")
        board.goto("/courses/demo/boards/ttft/")
        projector.goto("/courses/demo/boards/ttft/projector")

        do_step(pupils, "server-up")
        album.take(jiho.page, "server-up-one-answer-wrong", "[data-verdict=fail]")

        press_all(pupils, "first-token")
        album.take(mina.page, "place-in-the-queue")
        now.goto("/courses/demo/now/")
        album.take(now, "instructor-who-waits")
        running = first_that_streams(pupils)
        album.take(running.page, "tokens-arrive")
        finish_step(pupils, "first-token")
        album.take(ada.page, "first-token-one-answer-wrong", "[data-verdict=fail]")

        do_step(pupils, "cache-reuse")
        album.take(board, "board-instructor")
        tom.page.goto("/courses/demo/boards/ttft/")
        album.take(tom.page, "board-student")
        problems = unlike_boards(board, tom.page)
        expect(projector.locator(".projector-median .num")).to_have_text(
            board.locator("[data-swap=board] > p strong .num").inner_text()
        )
        album.take(projector, "projector")

        press_all(pupils, "barge-in")
        album.take(first_that_streams(pupils).page, "barge-in-runs")
        finish_step(pupils, "barge-in")
        album.take(seoyeon.page, "barge-in-phone", ".outcome")
        album.take(omar.page, "barge-in-one-answer-wrong", "[data-verdict=fail]")

        do_step(pupils, "cache-break")
        album.take(haeun.page, "cache-break-one-answer-wrong", "[data-verdict=fail]")
        album.take(tom.page, "cache-break-passed", ".outcome")

        now.reload()
        album.take(now, "instructor-at-the-end")
        problems += [problem for pupil in pupils for problem in pupil.mistakes()]
        problems += unlike_gradebook(now, pupils)
        album.take(now, "gradebook")
        mina.page.goto("/")
        album.take(mina.page, "after-phone")
        minjun.page.goto("/")
        album.take(minjun.page, "after")
        open_ = sum(
            verdict == "inconclusive" for p in pupils for c in p.verdicts.values() for verdict in c.values()
        )
        all_ = sum(len(checks) for pupil in pupils for checks in pupil.verdicts.values())
        print(f"{all_} checks, {open_} of them inconclusive; {len(album.taken)} pictures")
    for desk in [*teacher, *(pupil.desk for pupil in pupils)]:
        problems += desk.troubles
        desk.page.context.close()
    return problems


def open_desk(
    browser: Browser,
    site: Site,
    name: str,
    language: str,
    scheme: Literal["light", "dark"],
    size: tuple[int, int],
) -> Desk:
    context = browser.new_context(
        base_url=site.url,
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        timezone_id="Asia/Seoul",
        locale=language,
    )
    context.add_cookies([{"name": "django_language", "value": language, "url": site.url}])
    return Desk(context.new_page(), name)


def log_in(page: Page, site: Site, username: str) -> None:
    page.goto("/login/")
    page.locator("[name=username]").fill(username)
    page.locator("[name=password]").fill(site.password(username))
    page.locator("form[method=post] button").last.click()
    page.wait_for_url("**/")


def do_step(pupils: Sequence[Pupil], step: str) -> None:
    press_all(pupils, step)
    finish_step(pupils, step)


def press_all(pupils: Sequence[Pupil], step: str) -> None:
    for pupil in pupils:
        pupil.run_round(step)


def finish_step(pupils: Sequence[Pupil], step: str) -> None:
    """Each goes on to the next round as soon as their page shows the last one's end."""
    left = list(pupils)
    with time_limit(
        STEP_LIMIT_S, lambda: f"{step}: {[pupil.seat.login for pupil in left]} do not end"
    ) as check:
        while left:
            check()
            for pupil in list(left):
                if pupil.is_still_running():
                    continue
                if pupil.has_verdict():
                    pupil.keep_verdicts(step)
                    left.remove(pupil)
                else:
                    pupil.run_round(step)
            time.sleep(POLL_S)


def first_that_streams(pupils: Sequence[Pupil]) -> Pupil:
    """Whose page shows tokens as they come."""
    with time_limit(STEP_LIMIT_S, lambda: "nobody's tokens arrive") as check:
        while True:
            check()
            for pupil in pupils:
                if pupil.page.locator("#run[data-live=yes] #tokens pre:not(:empty)").count():
                    return pupil
            time.sleep(POLL_S)


@contextmanager
def time_limit(limit_s: float, said: Callable[[], str]) -> Iterator[Callable[[], None]]:
    until_s = time.monotonic() + limit_s

    def check() -> None:
        assert time.monotonic() < until_s, f"{said()} within {limit_s:.0f} s"

    yield check


def unlike_boards(live: Page, fresh: Page) -> list[str]:
    """What the instructor's open page was told, against a page that was just loaded: the same values."""
    values = "rows => rows.map(r => [...r.querySelectorAll('td')].map(d => d.textContent))"
    with time_limit(30, lambda: "the live board does not hold what the database holds") as check:
        while True:
            seen = [page.locator("[data-swap=board] tbody tr").evaluate_all(values) for page in (live, fresh)]
            if seen[0] == seen[1]:
                break
            check()
            time.sleep(POLL_S)
    if len(seen[0]) != len(CLASS):
        return [f"{len(seen[0])} rows on the board of a class of {len(CLASS)}"]
    names = [seat.given for seat in CLASS if seat.given in fresh.locator("[data-swap=board]").inner_text()]
    return [f"the class reads the names {names} on its board"] if names else []


def unlike_gradebook(page: Page, pupils: Sequence[Pupil]) -> list[str]:
    """The instructor's matrix against each student's own page, cell by cell."""
    page.goto("/courses/demo/grades/")
    rows: list[dict[str, Any]] = page.locator("table.grades tbody tr").evaluate_all(
        "rows => rows.map(r => ({"
        " login: (r.querySelector('th bdi.hint') ?? r.querySelector('th bdi')).textContent,"
        " total: r.querySelector('td.total').textContent,"
        " cells: [...r.querySelectorAll('td')].slice(2).map(d => d.querySelector('a')?.textContent ?? '') }))"
    )
    book = {row["login"]: row for row in rows}
    found = []
    for pupil in pupils:
        row, own = book[pupil.seat.login], pupil.own_points()
        by_step = dict(zip(all_steps(), row["cells"], strict=True))
        seen = [row["total"], *(by_step[step] for step in STEPS)]
        if seen != own:
            found.append(f"{pupil.seat.login}: the gradebook says {seen}, the student's page {own}")
    return found


if __name__ == "__main__":
    sys.exit(main())
