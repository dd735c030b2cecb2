"""Two students find each other and share one run, each in a browser of their own."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import hindrances
from tests.browser.conftest import SitDown
from tests.browser.student import finished, press_run

pytestmark = [pytest.mark.browser, pytest.mark.server]

STEP = "/courses/demo/steps/server-up/"


def predict(page: Page, tokens: str) -> None:
    page.goto(STEP)
    expect(page.locator(".pair")).to_be_visible()
    page.locator("[name=more_tokens]").fill(tokens)
    page.locator("[name=waiting]").fill("3")
    press_run(page)


def test_one_run_for_two(sit_down: SitDown) -> None:
    one, other = sit_down(), sit_down()
    other.goto("/courses/demo/pair/")
    one.goto("/courses/demo/pair/")
    one.locator("[name=whom]").fill(other.locator(".who bdi").inner_text())
    one.locator("[name=whom]").press("Enter")
    expect(one.get_by_role("button", name="Take it back")).to_be_visible()
    other.reload()
    other.get_by_role("button", name="Accept").click()
    expect(other.get_by_role("button", name="Work alone again")).to_be_visible()

    predict(one, "100")
    expect(one.locator("#status-text")).to_contain_text("waits for your partner")
    expect(one.get_by_role("button", name="Run without my partner")).to_be_visible()
    assert hindrances(one) == []
    predict(other, "2000")
    for page in (one, other):
        finished(page)
        expect(page.locator("[name=loading]").first).to_be_visible()
    expect(other.locator(".recordings").first).to_contain_text("Measured once")
    shown = [
        page.locator("[name=more_tokens]").locator("xpath=ancestor::div[1]").inner_text()
        for page in (one, other)
    ]
    assert shown[0] == shown[1], "both are asked the same"
