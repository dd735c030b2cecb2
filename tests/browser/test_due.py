"""Due times in a real browser: in the course's zone and the reader's own, counted down without a word too many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import LogIn
from tests.system.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.server]

SEOUL, NEW_YORK = ZoneInfo("Asia/Seoul"), ZoneInfo("America/New_York")
STEP = "/courses/demo/steps/server-up/"
# Every sentence that a screen reader is given, and how often the countdown changes.
LISTEN = """() => {
  window.spoken = []; window.changes = 0;
  const look = (id, heard) => new MutationObserver(heard).observe(
    document.querySelector(id), { childList: true, characterData: true, subtree: true });
  look("#announce", () => window.spoken.push(document.querySelector("#announce").textContent));
  look("[data-counts-to]", () => window.changes++);
}"""


@pytest.fixture
def teacher(log_in: LogIn) -> Iterator[Page]:
    page = log_in("choi")
    yield page
    # The next test meets the class as it was.
    set_rule(page, due_at="", late="refused", late_percent_a_day="")


@pytest.fixture
def reader(browser: Browser, site: Site) -> Iterator[Page]:
    """A student of the class in Seoul who sits in New York."""
    context = browser.new_context(base_url=site.url, timezone_id="America/New_York", locale="en")
    context.add_cookies([{"name": "django_language", "value": "en", "url": site.url}])
    page = context.new_page()
    page.clock.install()
    page.goto("/login/")
    page.locator("[name=username]").fill("lee")
    page.locator("[name=password]").fill(site.password("lee"))
    page.locator("main form button").click()
    page.wait_for_url("**/")
    yield page
    context.close()


def set_rule(page: Page, **fields: str) -> None:
    """As an instructor does it, on the rules page."""
    page.goto(STEP + "rules/")
    for name, value in fields.items():
        field = page.locator(f"[name={name}]")
        if name == "late":
            field.select_option(value)
        else:
            field.fill(value)
    page.get_by_role("button", name="Put in force").click()
    page.wait_for_url("**/rules/")
    expect(page.locator(".notice")).to_contain_text("in force")


def minute(at: datetime, zone: ZoneInfo, between: str = " ") -> str:
    return at.astimezone(zone).strftime(f"%Y-%m-%d{between}%H:%M")


def test_both_clocks_and_a_countdown_that_speaks_three_times(teacher: Page, reader: Page) -> None:
    due_at = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=125)
    set_rule(teacher, due_at=minute(due_at, SEOUL, "T"))
    reader.goto(STEP)
    due = reader.locator("#due")
    expect(due).to_contain_text(f"{minute(due_at, SEOUL)} KST")
    expect(due.locator("[data-yours]").first).to_have_text(f"({minute(due_at, NEW_YORK)} by your clock)")
    countdown = reader.get_by_role("timer")
    expect(countdown).to_have_text(re.compile(r"^2 h [45] min left$"))
    expect(reader.locator("#cost")).to_contain_text("On time")
    reader.evaluate(LISTEN)
    reader.clock.run_for("20:00")
    assert reader.evaluate("window.spoken") == []
    assert reader.evaluate("window.changes") <= 21, "once a minute"
    reader.clock.run_for("02:00:00")
    expect(countdown).to_have_text("The due time has passed. Reload the page to see what running now costs.")
    reader.clock.run_for("00:10")
    assert reader.evaluate("window.spoken") == [
        "60 minutes until this step is due.",
        "10 minutes until this step is due.",
        "One minute until this step is due.",
        "The due time has passed. Reload the page to see what running now costs.",
    ]


def test_late_is_said_before_run(teacher: Page, reader: Page) -> None:
    due_at = datetime.now(UTC) - timedelta(hours=25)
    set_rule(teacher, due_at=minute(due_at, SEOUL, "T"), late="reduced", late_percent_a_day="10")
    reader.goto(STEP)
    run = reader.get_by_role("button", name="Lock my answers and run")
    expect(run).to_have_accessible_description(re.compile("loses 20% of its points and counts 80%"))
