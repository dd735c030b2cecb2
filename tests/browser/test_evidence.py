"""Looking into a finished attempt: token diff, waterfall, replay by keyboard, a plot under the strict policy."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import LogIn

pytestmark = [pytest.mark.browser, pytest.mark.server]


@pytest.fixture
def page(log_in: LogIn, attempt: uuid.UUID) -> Page:
    page = log_in("park")
    page.goto(f"/attempts/{attempt}/")
    return page


def number(page: Page, selector: str) -> float:
    return float(page.locator(selector).first.inner_text().split()[0].replace(",", ""))


def test_the_diff_paints_the_prefix_and_marks_the_prediction(page: Page) -> None:
    broken = page.locator("details.diff", has_text="Another time on the clock").first
    expect(broken).to_have_attribute("open", "")
    expect(broken.locator(".diff-said")).to_contain_text("tokens are the same as before")
    sent = broken.locator(".toks").last
    expect(sent.locator("mark", has_text="your prediction:")).to_be_visible()
    expect(sent.locator("mark", has_text="prefix ends:")).to_be_visible()
    assert sent.locator(".tok-lab > span").count() >= 6, "the lab line is told apart"
    # What is painted adds up to the number of tokens that the heading says.
    n = int(broken.locator("h4 .num").last.inner_text())
    ticks = sent.locator(".ticks i").count()
    assert sent.locator(":scope > span > span").count() - sent.locator(".joined").count() + ticks == n


def test_a_stream_is_watched_again_by_keyboard(page: Page) -> None:
    replay = page.locator("#replay")
    replay.locator("summary").first.focus()
    page.keyboard.press("Enter")
    first_token = replay.locator("[data-mark=first_token]").first
    expect(first_token).to_be_visible()
    words, clock = replay.locator("[data-words]").first, replay.locator("[data-clock]")
    expect(words).to_have_text("")

    first_token.focus()
    page.keyboard.press("Enter")
    expect(words).not_to_have_text("")
    here = clock.inner_text()
    page.keyboard.press(",")
    expect(words).to_have_text("")
    page.keyboard.press(".")
    expect(clock).to_have_text(here)
    expect(replay.locator("[data-said]")).to_contain_text(re.compile(r"Frame \d+ of \d+"))

    page.keyboard.press("Home")
    expect(clock).to_have_text("0.0\u00a0ms")
    replay.locator("[data-speed]").select_option("4")
    replay.locator("[data-act=play]").focus()
    page.keyboard.press("Enter")
    expect(replay).to_have_attribute("data-playing", "yes")
    expect(replay).to_have_attribute("data-playing", "no")
    expect(words).not_to_have_text("")

    replay.locator("[data-side]").last.select_option(index=2)
    expect(replay.locator("[data-pane]")).to_have_count(2)
    expect(replay.locator("[data-pane]").last).to_be_visible()
    with page.expect_download() as download:
        replay.locator("[data-download]").first.click()
    assert " bytes\ndata: " in download.value.path().read_text()


def test_with_reduced_motion_it_plays_in_few_steps(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    replay = page.locator("#replay")
    replay.locator("summary").first.click()
    expect(replay.locator("[data-mark=end]").first).to_be_visible()
    replay.locator("[data-act=play]").click()
    expect(replay).to_have_attribute("data-playing", "no")
    assert page.evaluate("document.getAnimations().length") == 0


def test_plots_draw_under_the_strict_policy_with_a_table_behind(page: Page) -> None:
    svg = page.locator("[data-plot=reuse] svg")
    expect(svg).to_have_attribute("role", "img")
    expect(svg).to_have_attribute("aria-label", re.compile(r"^Cold and warm\. .*prompt tokens were computed"))
    assert svg.locator("style, [aria-label], [aria-hidden]").count() == 0
    assert svg.locator("rect").count() == 5
    figure = page.locator("figure.plot")
    figure.locator("summary").click()
    expect(figure.locator("tbody tr")).to_have_count(5)


def test_the_page_fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    for box in page.locator("details.figure").all():
        box.evaluate("box => box.open = true")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert number(page, ".waterfall .lane-total") > 0
