"""A double click, two tabs and the way back: one attempt, which the later click shows."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown
from tests.browser.student import finished
from tests.system.site import Site
from tests.system.test_faults import rows

pytestmark = [pytest.mark.browser, pytest.mark.server]

STEP = "/courses/demo/steps/server-up/"


def open_form(page: Page) -> None:
    page.goto(STEP)
    page.locator("[name=more_tokens]").fill("2000")
    page.locator("[name=waiting]").fill("3")


def press(page: Page, clicks: int = 1) -> str:
    """The attempt that the page shows afterwards."""
    page.locator("form[data-once] [data-busy]").last.click(click_count=clicks, delay=20)
    page.wait_for_url("**/#run")
    return page.locator("#run").get_attribute("data-attempt") or ""


def test_one_attempt(sit_down: SitDown, site: Site) -> None:
    first = sit_down()
    second = first.context.new_page()
    open_form(first)
    open_form(second)
    attempt = press(first, clicks=2)
    assert attempt
    second.locator("form[data-once] [data-busy]").last.click()
    expect(second.locator(f"#run[data-attempt='{attempt}']")).to_be_visible()
    finished(first)
    first.go_back()
    again = first.locator("form[data-once] [data-busy]")
    if again.count() and again.last.is_enabled():  # a browser that kept the page as it was
        again.last.click()
    expect(first.locator(f"#run[data-attempt='{attempt}']")).to_be_visible()
    owner = "select user_id from labs_attempt where id = ?"
    key = attempt.replace("-", "")
    assert rows(site, f"select count(*) from labs_attempt where user_id = ({owner})", key) == [(1,)]
    assert rows(site, "select count(*) from labs_round where attempt_id = ?", key) == [(1,)]
