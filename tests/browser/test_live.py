"""One student's run in a real Chromium on the real server, through a network that fails."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
import redis
from playwright.sync_api import Page, expect

from tests.browser.conftest import LogIn
from tests.browser.student import (
    WATCH_LIVE,
    finished,
    live_text,
    run_mark,
    run_predict,
    shown_text,
    submit_split,
)
from tests.browser.wire_cutter import WireCutter
from tests.system.site import Site, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.server, pytest.mark.slow]


def verdicts(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.locator("[data-check]").evaluate_all(
        "checks => Object.fromEntries(checks.map(c => [c.dataset.check, c.dataset.verdict]))"
    )
    return found


def test_every_token_once_and_in_order_over_a_cut_socket(log_in: LogIn, site: Site) -> None:
    address = urlsplit(site.url)
    assert address.hostname and address.port
    with WireCutter((address.hostname, address.port)) as cutter:
        page = log_in("kim", base_url=cutter.url)
        page.add_init_script(WATCH_LIVE)
        run_predict(page)
        finished(page)
        expect(page.locator("[name=too_short_ms]")).to_be_visible()

        run_mark(page)
        busy = page.locator("#tokens [data-ask=busy] pre")
        expect(busy).not_to_be_empty()
        assert cutter.cut_sockets() == 1, "cut in the middle of the stream"
        finished(page)
        assert cutter.cuts == 1
        kept = live_text(page)
        assert kept["busy"] == shown_text(page)["busy"] != ""
        assert kept["waits"] == shown_text(page)["waits"] != ""

        submit_split(page)
        expect(page.locator("[data-check=unknown]")).to_be_visible()
        got = verdicts(page)
        assert set(got.values()) == {"pass"}, got
        page.reload()
        assert verdicts(page) == got
        assert shown_text(page)["busy"] == kept["busy"]


def test_a_flushed_stream_says_what_is_missing_and_still_ends(log_in: LogIn, site: Site) -> None:
    page = log_in("lee")
    page.add_init_script(WATCH_LIVE)
    run_predict(page)
    expect(page.locator("#tokens [data-ask=cold-1] pre")).not_to_be_empty()
    with redis.Redis.from_url(site.state["redis_url"]) as client:
        client.flushall()
        # The page loads anew: what was flushed is gone for it, what comes later is not.
        page.reload()
        expect(page.locator("#run[data-gap=yes]")).to_be_visible()
        expect(page.locator("#run-notice")).to_contain_text("Some live tokens are missing")
        wait_for(lambda: client.dbsize() > 0, 60)
    finished(page)
    assert set(shown_text(page)) == {f"cold-{i}" for i in range(1, 6)}, "the recording is whole"
    page.locator("#stop, form").first.wait_for()


def test_stop_frees_the_page_at_once(log_in: LogIn) -> None:
    page = log_in("park")
    run_predict(page)
    expect(page.locator("#tokens [data-ask=cold-1] pre")).not_to_be_empty()
    page.locator("#stop button").click()
    expect(page.locator("#run[data-state=cancelled]")).to_be_visible()
    expect(page.locator(".outcome")).to_contain_text("Stopped")
