"""A student does the whole lab in the browser with the model answers, on the real server."""

from __future__ import annotations

import pytest

from labs.steps import all_steps
from tests.browser.conftest import LogIn
from tests.browser.model_student import ModelAnswers, do_step
from tests.browser.test_live import verdicts
from tests.system.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.server, pytest.mark.slow]


@pytest.mark.parametrize("step_key", list(all_steps()))
def test_the_model_answers_pass(log_in: LogIn, site: Site, step_key: str) -> None:
    step = all_steps()[step_key]
    page = log_in("park")
    with ModelAnswers(site) as answers:
        assert do_step(page, answers, "park", step_key) == len(step.rounds)
    assert page.locator("#run[data-state=graded]").count() == 1
    assert set(verdicts(page).values()) == {"pass"}, verdicts(page)
