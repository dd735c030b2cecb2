"""A student does the whole lab in the browser with the model answers, on the real server. Each step's page is judged by
axe before and after: once in each language, and once in light and in dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from labs.steps import all_steps
from tests.browser.axe import Scheme, hindrances
from tests.browser.conftest import LogIn
from tests.browser.model_student import ModelAnswers, do_step
from tests.browser.test_live import verdicts
from tests.system.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.server, pytest.mark.slow]

# By step: checks that are rightly inconclusive at times, whatever the student does; none of them may fail. That they
# pass is shown by the recorded runs (tests/steps/test_recorded.py), which neither load nor luck can change.
MAY_STAY_OPEN = {
    # Compare times, on a machine that other tests keep busy.
    "prefill": {"guessed", "line", "prediction", "measured", "per-document"},
    # The small model's first sentence runs in circles (0.0000...) for three in sixty of the inputs that are drawn.
    "voice-turn": {"sentence"},
}
LOOKS: list[tuple[str, Scheme]] = [("ko", "light"), ("en", "dark")]


def open_step(page: Page, site: Site, step_key: str, language: str) -> None:
    page.context.add_cookies([{"name": "django_language", "value": language, "url": site.url}])
    page.goto(f"/courses/demo/steps/{step_key}/")
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.locator("sse-lab:not([data-state=ready])")).to_have_count(0)


@pytest.mark.parametrize("step_key", list(all_steps()))
def test_the_model_answers_pass(log_in: LogIn, site: Site, step_key: str) -> None:
    step = all_steps()[step_key]
    # Neighbours have it the other way round: what one page has in the dark another has in the light.
    looks = LOOKS if step.order % 2 else LOOKS[::-1]
    page = log_in("park")
    open_step(page, site, step_key, looks[0][0])
    assert hindrances(page, looks[0][1]) == []
    with ModelAnswers(site) as answers:
        assert do_step(page, answers, "park", step_key) == len(step.rounds)
    assert page.locator("#run[data-state=graded]").count() == 1
    open_to_luck = MAY_STAY_OPEN.get(step_key, set())
    found = verdicts(page)
    assert found and all(
        verdict == "pass" or (verdict == "inconclusive" and check in open_to_luck)
        for check, verdict in found.items()
    ), found
    open_step(page, site, step_key, looks[1][0])
    assert hindrances(page, looks[1][1]) == []
