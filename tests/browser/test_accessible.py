"""No page keeps anybody out: axe on the pages around the lab (the lab's own are judged in test_whole_lab), and a
finished attempt read by keyboard alone."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.axe import hindrances
from tests.browser.conftest import LogIn
from tests.system.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.server]

MOST_STOPS = 400
FOCUSED = "element => element === document.activeElement"
OUTLINE = "getComputedStyle(document.activeElement).outlineStyle"
WRONG_PASSWORDS = 5


@pytest.fixture(params=["ko", "en"])
def stranger(request: pytest.FixtureRequest, browser: Browser, site: Site) -> Iterator[Page]:
    """Nobody is logged in."""
    context = browser.new_context(base_url=site.url)
    context.add_cookies([{"name": "django_language", "value": request.param, "url": site.url}])
    yield context.new_page()
    context.close()


def test_the_way_in(stranger: Page) -> None:
    stranger.goto("/login/")
    assert hindrances(stranger) == []
    name = f"nobody-{uuid.uuid4()}"
    for _ in range(WRONG_PASSWORDS):
        stranger.locator("[name=username]").fill(name)
        stranger.locator("[name=password]").fill("wrong")
        stranger.locator("[name=password]").press("Enter")
        stranger.wait_for_load_state()
    assert stranger.locator("[name=password]").count() == 0, "locked out"
    assert hindrances(stranger) == []
    stranger.goto("/no/such/page")
    assert hindrances(stranger) == []


@pytest.mark.parametrize("language", ["ko", "en"])
def test_home_and_nowhere(log_in: LogIn, language: str) -> None:
    page = log_in("park", language=language)
    assert hindrances(page) == []
    page.goto("/no/such/page")
    assert hindrances(page) == []


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_instructors_pages(log_in: LogIn, attempt: uuid.UUID, language: str) -> None:
    page = log_in("choi", language=language)
    steps = "/courses/demo/steps"
    addresses = [
        "/courses/demo/regrades/",
        "/courses/demo/grades/",
        "/courses/demo/people/",
        "/courses/demo/pairs/",
        "/courses/demo/hour/",
        "/join/",
        "/courses/demo/rules/",
        "/courses/demo/extensions/",
        f"{steps}/cache-break/rules/",
        f"{steps}/cache-break/regrade/",
        f"{steps}/read-sse/rerun/",
        f"/attempts/{attempt}/",
    ]
    for address in addresses:
        page.goto(address)
        expect(page.locator("h1").first).to_be_visible()
        assert hindrances(page) == []


def test_the_admins_pages(log_in: LogIn) -> None:
    page = log_in("admin", language="ko")
    page.goto("/endpoints/")
    server = page.locator(".card h2 a").first.get_attribute("href")
    for address in ("/endpoints/", server, "/endpoints/add", "/stuck/"):
        page.goto(str(address))
        expect(page.locator("h1").first).to_be_visible()
        assert hindrances(page) == []


def test_an_attempt_with_its_evidence_open(log_in: LogIn, attempt: uuid.UUID) -> None:
    page = log_in("park", language="ko")
    page.goto(f"/attempts/{attempt}/")
    page.locator("#replay > summary").click()
    expect(page.locator("#replay [data-mark=end]").first).to_be_visible()
    assert hindrances(page) == []


def tab_to(page: Page, wanted: Locator) -> None:
    """By Tab alone; wherever it stops on the way, one sees where."""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        assert page.evaluate(OUTLINE) != "none", page.evaluate("document.activeElement.outerHTML")[:300]
        if wanted.evaluate(FOCUSED):
            return
    raise AssertionError(f"{wanted} is not reached by Tab")


def test_evidence_and_replay_by_keyboard_alone(log_in: LogIn, attempt: uuid.UUID) -> None:
    page = log_in("park")
    page.goto(f"/attempts/{attempt}/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    check = page.locator(".check").first
    tab_to(page, check.locator(".evidence > summary"))
    page.keyboard.press("Enter")
    expect(check.locator(".evidence-tables table").first).to_be_visible()
    tab_to(page, check.locator(".evidence-tables"))

    replay = page.locator("#replay")
    tab_to(page, replay.locator(":scope > summary"))
    page.keyboard.press("Enter")
    expect(replay.locator("[data-mark=end]").first).to_be_visible()
    tab_to(page, replay.locator("[data-side]").first)
    title = replay.locator("[data-title]").first
    before = title.inner_text()
    page.keyboard.press("ArrowDown")
    expect(title).not_to_have_text(before)
    tab_to(page, replay.locator("[data-act=play]"))
    page.keyboard.press("Space")
    expect(replay).to_have_attribute("data-playing", "yes")
    page.keyboard.press("Space")
    expect(replay).to_have_attribute("data-playing", "no")
    page.keyboard.press("Home")
    words = replay.locator("[data-words]").first
    expect(words).to_have_text("")
    tab_to(page, replay.locator("[data-mark=first_token]").first)
    page.keyboard.press("Enter")
    expect(words).not_to_have_text("")
    page.keyboard.press(".")
    expect(replay.locator("[data-said]")).to_contain_text(re.compile(r"Frame \d+ of \d+"))
