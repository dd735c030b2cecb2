"""An instructor shows the class a run, a student watches it, and it is taken away again."""

from __future__ import annotations

import uuid

import pytest
from playwright.sync_api import expect

from tests.browser.axe import hindrances
from tests.browser.conftest import LogIn

pytestmark = [pytest.mark.browser, pytest.mark.server]

STEP = "/courses/demo/steps/cache-break/"


def test_shown_watched_and_withdrawn(log_in: LogIn, attempt: uuid.UUID) -> None:
    teacher, student = log_in("choi"), log_in("lee")
    teacher.goto(f"/attempts/{attempt}/")
    shown = teacher.locator(".show-run form").first
    shown.locator("[name=note]").fill("Mind the first token")
    shown.get_by_role("button").click()
    expect(teacher.get_by_role("heading", name="A run to watch")).to_be_visible()

    student.goto(STEP)
    student.locator(".shown-run a").click()
    expect(student.locator("main")).to_contain_text("Mind the first token")
    expect(student.locator("#replay [data-mark=end]").first).to_be_visible()
    student.locator("#replay [data-act=next]").click()
    student.locator("#replay [data-mark=end]").first.click()
    expect(student.locator("#replay [data-words]").first).not_to_have_text("")
    assert student.request.get(
        student.locator("#replay [data-download]").first.get_attribute("href") or ""
    ).ok
    assert str(attempt) not in student.content() and "park" not in student.locator("main").inner_text()
    assert hindrances(student) == []

    teacher.get_by_role("button", name="Do not show it any longer").click()
    teacher.wait_for_url(f"**{STEP}")
    assert student.reload().status == 404  # type: ignore[union-attr]
