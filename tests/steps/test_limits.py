"""The numbers of a step's rules that a course may set otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labs.grading.checks import Verdict, total
from labs.steps import all_steps
from labs.steps.base import Seen, Step
from labs.steps.examples import play

STEPS = list(all_steps().values())


def passing(step: Step) -> Seen:
    return next(example for example in step.examples() if example.kind == "pass").seen()


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
def test_the_steps_own_limits_change_nothing(step: Step) -> None:
    limits = step.all_limits()
    assert len({limit.key for limit in limits}) == len(limits)
    assert all(limit.least <= limit.default <= limit.most for limit in limits)
    assert sum(limit.default for limit in limits if limit.unit == "points") == step.points + step.bonus
    seen = passing(step)
    assert step.grade(seen, {limit.key: limit.default for limit in limits}) == step.grade(seen)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
def test_points_follow_the_limits_and_verdicts_do_not(step: Step) -> None:
    first, *_others = (limit for limit in step.all_limits() if limit.unit == "points")
    seen = passing(step)
    before, after = step.grade(seen), step.grade(seen, {first.key: 0})
    assert total(after) == total(before) - first.default
    assert [(check.key, check.verdict) for check in after] == [(check.key, check.verdict) for check in before]


def test_how_far_a_predicted_prefix_may_be_off() -> None:
    step = all_steps()["cache-break"]
    seen = play(step, answers={"guess": {"pick_front": lambda pick, _challenge: pick + 10}})

    def verdict(slack_tokens: int) -> Verdict:
        checks = {check.key: check for check in step.grade(seen, {"predicted-tokens": slack_tokens})}
        assert checks["prediction"].evidence["limit"] == {"tokens": slack_tokens}
        return checks["prediction"].verdict

    assert (verdict(9), verdict(10)) == (Verdict.FAIL, Verdict.PASS)


@pytest.mark.parametrize(
    ("limit", "round_", "field", "check"),
    [
        ("predicted-percent", "large", "twelve_ms", "prediction"),
        ("cost-percent", "explain", "per_document_ms", "per-document"),
    ],
)
def test_how_far_a_time_may_be_off(limit: str, round_: str, field: str, check: str) -> None:
    step = all_steps()["prefill"]
    seen = passing(step)
    right = seen[round_].answers[field]
    seen[round_] = replace(seen[round_], answers={**seen[round_].answers, field: right * 1.3})
    verdicts = {
        percent: next(c.verdict for c in step.grade(seen, {limit: percent}) if c.key == check)
        for percent in (25, 35)
    }
    assert verdicts == {25: Verdict.FAIL, 35: Verdict.PASS}
