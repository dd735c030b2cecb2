"""In the queue: the place falls and is said, the wait is a range, and leaving is free."""

from __future__ import annotations

import re
import signal

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.browser.student import finished, press_run
from tests.browser.test_one_attempt import open_form
from tests.system.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.server]

SPEAKS_EVERY = "00:05"


def test_third_in_the_queue(sit_down: SitDown, site: Site) -> None:
    warm_up = sit_down()
    open_form(warm_up)
    press_run(warm_up)
    finished(warm_up)  # the server is known by now, so that a wait can be said
    first, second, third = sit_down(), sit_down(), sit_down(viewport={"width": 390, "height": 780})
    third.clock.install()
    site.signal("drive", signal.SIGSTOP)  # nobody is served, so that all three wait
    try:
        for page in (first, second, third):
            open_form(page)
            press_run(page)
        status, heard = third.locator("#status-text"), third.locator("#announce")
        expect(status).to_have_text(
            re.compile(r"^In the queue: place 3, about \d+ to \d+ s\. You may leave this page\.")
        )
        expect(status).to_be_in_viewport()
        expect(third.locator("#run-title")).to_be_in_viewport()
        expect(heard).to_contain_text("place 3,")
        for place, leaver in ((2, first), (1, second)):
            leaver.locator("#stop button").click()
            expect(leaver.locator("#run[data-state=cancelled]")).to_be_visible()
            expect(status).to_have_text(re.compile(rf"^In the queue: place {place}, about"))
            third.clock.fast_forward(SPEAKS_EVERY)
            expect(heard).to_contain_text(f"place {place},")
        expect(first.locator(".outcome")).to_contain_text("No attempt was used")
    finally:
        site.signal("drive", signal.SIGCONT)
    finished(third)
    third.clock.fast_forward(SPEAKS_EVERY)
    expect(heard).to_have_text(
        re.compile(r"^This round is recorded\. The next round is open\. \d of \d passed")
    )
