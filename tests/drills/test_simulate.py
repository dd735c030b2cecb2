"""The simulated class: a queue of one server, and the lab's budget."""

from __future__ import annotations

import random

from tests.drills.simulate import LIMIT_MIN, lab_of, model_runs_ms


def test_one_student_waits_for_nobody() -> None:
    lab = lab_of([1000.0, 2000.0], 1, 2, 500.0, (1.0, 1.0), random.Random(1))
    assert lab.runs == 4
    assert lab.busy_min * 60 == 1.5 + 2.5 + 1.5 + 2.5
    assert set(lab.waits_s) == {0.0}


def test_who_comes_together_waits_for_the_others() -> None:
    lab = lab_of([60_000.0], 10, 1, 0.0, (0.0, 0.0), random.Random(1))
    assert lab.busy_min == 10
    assert max(lab.waits_s) > 400


def test_two_tries_of_forty_students_fit_an_hour_of_one_server() -> None:
    """At 400 ms a lease, as scripts/drill-class measures it (docs/drills.md)."""
    lab = lab_of(model_runs_ms(), 40, 2, 400.0, (20.0, 90.0), random.Random(1))
    assert 40 < lab.busy_min <= LIMIT_MIN
