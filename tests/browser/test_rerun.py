"""An instructor runs the class's sources again: what a student handed in agrees, what gives something else is named."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from labs.steps.sse_kit.source import source
from tests.browser.conftest import LogIn
from tests.browser.model_student import ModelAnswers
from tests.browser.sse_probes import probes
from tests.steps.sse_sources import core, feed
from tests.system.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.server]

STEP = "read-sse"
# Counts the role frame, and leaves something behind in Python that whoever runs there next would meet.
WRONG = (
    feed().replace(core(), core(counts='text or "role" in choice["delta"]')) + "\njson.left_behind = True\n"
)
RIGHT = source("solution") + "\nimport json\nassert not hasattr(json, 'left_behind')\n"


def hand_in(site: Site, answers: ModelAnswers, username: str, text: str) -> None:
    """Both rounds with the model's answers, and with this source: as from a terminal, where anything can be typed."""
    student, state = site.log_in(username), "open"
    while state == "open":
        waiting = answers.of(username, STEP)
        assert waiting is not None
        attempt = student.submit(STEP, waiting["round"], {**waiting["post"], "source": text})
        told = student.wait_for(attempt, lambda found: found["state"]["state"] in ("open", "graded"))
        state = told["state"]["state"]


def row_of(page: Page, given_name: str) -> Locator:
    return page.locator("tr[data-source]").filter(has_text=given_name)


def test_who_handed_in_other_code_is_told_from_who_did_not(site: Site, log_in: LogIn) -> None:
    with ModelAnswers(site) as answers:
        hand_in(site, answers, "kim", WRONG)
        hand_in(site, answers, "lee", RIGHT)
        hand_in(site, answers, "park", probes(f"{site.url}/probe-rerun/"))
    page = log_in("choi")
    page.goto(f"/courses/demo/steps/{STEP}/")
    page.get_by_role("link", name="Re-run the class").click()
    expect(page.locator("class-rerun[data-state=ready]")).to_be_visible()
    page.get_by_role("button", name="Run all sources").click()
    wrong, right = row_of(page, "김민준"), row_of(page, "이서연")
    expect(right.locator("[data-result]")).to_have_text("as stored")
    expect(wrong.locator("[data-result] li")).to_have_count(1)
    expect(wrong.locator("[data-result]")).to_contain_text("Pieces with a role and no text")
    expect(wrong.locator("[data-result]")).to_contain_text("stored: Pass, now: Fail.")
    expect(page.locator("[data-status]")).to_contain_text("of them do not give what was stored")
    # The code ran in a frame without an origin, and nothing that it tried came out of there.
    expect(row_of(page, "박지호").locator("[data-result] li").first).to_contain_text(
        "stored: Pass, now: Fail."
    )
    expect(page.locator("iframe[sandbox=allow-scripts]")).to_have_count(1)
    assert page.frames[1].evaluate("origin") == "null"
    log = (site.folder / "log" / "web.log").read_text()
    assert "/rerun/" in log
    assert "probe-rerun" not in log


def test_a_student_finds_no_such_page(log_in: LogIn) -> None:
    page = log_in("lee")
    answer = page.goto(f"/courses/demo/steps/{STEP}/rerun/")
    assert answer is not None and answer.status == 404
