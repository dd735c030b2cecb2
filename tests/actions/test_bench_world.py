"""The bench's attempts are what the engine stores: grading them again gives what they have."""

from __future__ import annotations

import pytest

from labs.actions.regrade.build import build, start
from labs.actions.regrade.report import counts_of, effects_of
from labs.steps import all_steps
from tests.actions.bench.world import make_world


@pytest.mark.django_db
def test_a_small_world() -> None:
    course = make_world("cache-break", attempts=12, students=4)
    regrade = start(course, all_steps()["cache-break"], None, "", {})
    assert build(regrade)
    assert counts_of(regrade) == {"attempts": 12, "lower": 0, "higher": 0, "kept": 0}
    assert effects_of(regrade) == []
