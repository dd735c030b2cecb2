from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from labs.steps import blocks
from tests.system.enrol import enrol
from tests.system.site import Site

LogIn = Callable[..., Page]
SitDown = Callable[..., Page]
NEWCOMERS = 30
# A real model on a shared machine: upper bounds only.
expect.set_options(timeout=120_000)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The Chromium that scripts/browser found. Not for the whole session: its driver keeps an event loop running,
    beside which no other test could run one."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert path, "no Chromium: scripts/test finds or installs one"
    options = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
    ]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=options)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def attempt(site: Site) -> uuid.UUID:
    """cache-break run to its end without a browser; whether the answers are right does not matter here."""
    visitor = site.log_in("park")
    guess = {"place": "front", "second_clock": "00:00:01", "pick_front": "10"}
    found = visitor.submit("cache-break", "guess", guess)
    visitor.wait_for(found, lambda said: said["state"]["state"] == "open")
    visitor.submit(
        "cache-break", "repair", {"order": ",".join(blocks.PLACES["between"]), "more_computed": "1"}
    )
    visitor.wait_for(found, lambda said: said["state"]["state"] == "graded")
    return found


@pytest.fixture(scope="package")
def newcomers(site: Site) -> Iterator[str]:
    """Sessions of students who have done nothing yet, one after another."""
    people = [[f"newcomer-{number}", "", f"Newcomer {number}"] for number in range(NEWCOMERS)]
    return iter(enrol(site, people).values())


@pytest.fixture
def sit_down(browser: Browser, newcomers: Iterator[str], site: Site) -> Iterator[SitDown]:
    """sit_down() gives the page of a student who has done nothing yet. What a page has to say of itself ends the test
    as in `log_in`."""
    contexts: list[BrowserContext] = []
    troubles: list[str] = []

    def do(*, base_url: str | None = None, session: str = "", **options: Any) -> Page:
        url = base_url or site.url
        context = browser.new_context(base_url=url, **options)
        cookies = {"django_language": "en", "sessionid": session or next(newcomers)}
        context.add_cookies([{"name": name, "value": value, "url": url} for name, value in cookies.items()])
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        return page

    yield do
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def log_in(browser: Browser, site: Site) -> Iterator[LogIn]:
    """log_in('kim') gives a page. A console error or a refused script fails the test when it ends."""
    pages: list[Page] = []
    troubles: list[str] = []

    def do(username: str, *, base_url: str | None = None, language: str = "en") -> Page:
        url = base_url or site.url
        context = browser.new_context(base_url=url)
        context.add_cookies([{"name": "django_language", "value": language, "url": url}])
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "console",
            lambda said: troubles.append(said.text) if "Content Security Policy" in said.text else None,
        )
        page.goto("/login/")
        page.locator("[name=username]").fill(username)
        page.locator("[name=password]").fill(site.password(username))
        page.locator("form[method=post] [type=submit], form[method=post] button").last.click()
        page.wait_for_url("**/")
        pages.append(page)
        return page

    yield do
    for page in pages:
        page.context.close()
    assert troubles == []
