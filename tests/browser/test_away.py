"""A laptop is closed in mid-run, and the phone that is opened instead loses its network: nothing is missing."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown
from tests.browser.student import WATCH_LIVE, finished, live_text, run_predict, shown_text
from tests.browser.wire_cutter import WireCutter
from tests.system.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.server, pytest.mark.slow]

LIVE_REGION = "node => node.closest('[aria-live], [role=status], [role=log], [role=alert]')"
LISTEN = """() => {
  window.spoken = [];
  const region = document.querySelector("#announce");
  new MutationObserver(() => window.spoken.push(region.textContent)).observe(region, {
    childList: true, characterData: true, subtree: true });
}"""


def test_closed_and_opened_again_on_a_phone_that_loses_its_network(sit_down: SitDown, site: Site) -> None:
    laptop = sit_down()
    run_predict(laptop)
    expect(laptop.locator("#tokens [data-ask] pre").first).not_to_be_empty()
    session = next(c["value"] for c in laptop.context.cookies() if c["name"] == "sessionid")
    laptop.close()

    address = urlsplit(site.url)
    assert address.hostname and address.port
    with WireCutter((address.hostname, address.port)) as cutter:
        phone = sit_down(base_url=cutter.url, session=session, viewport={"width": 390, "height": 780})
        phone.clock.install()
        phone.add_init_script(WATCH_LIVE)
        phone.goto("/courses/demo/steps/first-token/")
        expect(phone.locator("#run[data-live=yes]")).to_be_visible()
        expect(phone.locator("#tokens [data-ask] pre").first).not_to_be_empty()
        assert phone.locator("#tokens").evaluate(LIVE_REGION) is None, "tokens are not read out one by one"
        phone.evaluate(LISTEN)

        cutter.lose()
        notice = phone.locator("#run-notice")
        expect(notice).to_contain_text("Live updates are paused")
        for _ in range(3):
            phone.clock.fast_forward("00:10")
            expect(notice).to_contain_text("Live updates are paused")
        cutter.mend()
        phone.clock.fast_forward("00:16")
        finished(phone)
        expect(notice).to_be_hidden()
        phone.clock.fast_forward("00:06")
        expect(phone.locator("#announce")).to_contain_text("This round is recorded. The next round is open.")
        kept, whole = live_text(phone), shown_text(phone)
        assert set(whole) == {f"cold-{number}" for number in range(1, 6)}
        assert all(whole[key].startswith(text) for key, text in kept.items())
        spoken = phone.evaluate("window.spoken")
        assert len(spoken) <= 8, f"boundaries only: {spoken}"
