"""Practice as a student meets it: found on the step's page, run, marked, and ended."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LogIn
from tests.browser.student import finished, press_run

pytestmark = [pytest.mark.browser, pytest.mark.server]

STEP = "/courses/demo/steps/server-up/"
LEFT = "of 300 s of machine time are left for practice"


def test_a_round_of_practice_and_its_end(log_in: LogIn) -> None:
    page = log_in("park")
    page.goto(STEP)
    expect(page.locator("#practice")).to_contain_text(LEFT)
    page.get_by_role("link", name="Practise this step").click()
    expect(page.locator("#cost")).to_contain_text(LEFT)
    page.locator("[name=more_tokens]").fill("2000")
    page.locator("[name=waiting]").fill("3")
    press_run(page)
    finished(page)
    expect(page.locator(".outcome h2").first).to_contain_text("practice, does not count")
    expect(page.locator("#form-title")).to_contain_text("practice, does not count")
    page.get_by_role("button", name="End this practice").click()
    expect(page.locator("#again > summary")).to_contain_text("Start another attempt")
    expect(page.locator(".past-list li").first).to_contain_text("practice, does not count")
