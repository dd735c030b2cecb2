"""How much a first visit brings over the wire, and that a second one brings no static file again."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from labs.steps import all_steps
from tests.browser.conftest import LogIn
from tests.browser.traffic import Traffic

pytestmark = [pytest.mark.browser, pytest.mark.server]

MOST_BYTES = 150_000
EDITOR = {"read-sse.", "sandbox.", "python.", "python-stdlib."}


@pytest.fixture
def page(log_in: LogIn) -> Iterator[Page]:
    """A browser that knows no file of ours yet: logging in fetched some, so the visit is made by another one."""
    old = log_in("park", language="ko")
    browser = old.context.browser
    assert browser is not None
    context = browser.new_context(base_url=old.url)
    context.add_cookies(old.context.cookies())  # type: ignore[arg-type]  # what it gives it takes
    yield context.new_page()
    context.close()


def visit(page: Page, path: str) -> Traffic:
    traffic = Traffic(page)
    page.goto(path)
    page.wait_for_load_state("networkidle")
    assert traffic.static
    return traffic


def asks_for_the_editor(traffic: Traffic) -> bool:
    return any(one.path.startswith(f"/static/build/{name}") for one in traffic.static for name in EDITOR)


def check(page: Page, path: str) -> None:
    first = visit(page, path)
    assert not any(one.from_cache for one in first.fetched), "a cold load"
    assert not asks_for_the_editor(first)
    assert first.wire_bytes <= MOST_BYTES, sorted((one.wire_bytes, one.path) for one in first.fetched)
    print(f"{path:50} {first.wire_bytes:8} bytes, {len(first.fetched)} files")
    page.goto("about:blank")
    second = visit(page, path)
    assert [one.path for one in second.static if not one.from_cache] == []


@pytest.mark.parametrize("step_key", [key for key, step in all_steps().items() if not step.bundle])
def test_a_step_is_light_and_kept(page: Page, step_key: str) -> None:
    check(page, f"/courses/demo/steps/{step_key}/")


def test_an_attempt_is_light_and_kept(page: Page, attempt: uuid.UUID) -> None:
    check(page, f"/attempts/{attempt}/")


def test_read_sse_is_light_without_its_editor(page: Page) -> None:
    traffic = visit(page, "/courses/demo/steps/read-sse/")
    assert asks_for_the_editor(traffic), "only here"
    light = [one for one in traffic.fetched if not one.path.startswith("/static/build/")]
    assert sum(one.wire_bytes for one in light) <= MOST_BYTES
