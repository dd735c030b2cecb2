"""When repeats are too noisy to compare, and that a run then makes more of them."""

from __future__ import annotations

import pytest

from labs.measure.noise import Noise, is_noisy, judge_noise
from labs.measure.plan import Ask, Note, Plan
from labs.measure.recording import Figures, Recording
from labs.text import N_
from tests.measure.driving import Event, drive, user
from tests.measure.scripted import ScriptedLlama


def test_calm_runs_are_not_noisy() -> None:
    noise = judge_noise([4.5, 4.6, 9.8, 4.7, 9.9])
    assert noise == Noise(slow=2, runs=5)
    assert not noise.is_noisy


@pytest.mark.parametrize(
    ("times", "best", "noisy"),
    [
        ([4.0, 6.0, 6.0], None, False),  # 1.5 times the fastest is still calm
        ([4.0, 6.1, 4.0], None, False),
        ([4.0, 6.1, 6.1], None, True),
        ([4.0, 6.1, 6.1, 4.0], None, False),  # half is not more than half
        ([9.0] * 3, 4.5, True),  # evenly slow: the endpoint has been faster
        ([4.0] * 3, 4.5, False),  # faster than ever before
        ([], None, False),
    ],
)
def test_the_noise_gate(times: list[float], best: float | None, noisy: bool) -> None:
    assert judge_noise(times, best).is_noisy is noisy


def asks(*figures: tuple[int, float]) -> list[Recording]:
    return [
        Recording(f"{n}-{i}", "ask", figures=Figures(end="done", prompt_n=n, prompt_ms=ms))
        for i, (n, ms) in enumerate(figures)
    ]


def test_each_size_is_judged_for_itself() -> None:
    """A short prompt costs more a token than a long one, for what does not depend on its length."""
    calm = asks((40, 320.0), (40, 330.0), (40, 325.0), (160, 720.0), (160, 730.0), (160, 725.0))
    assert not is_noisy(calm, None)
    assert not is_noisy(calm, 4.5), "the short ones are not held to the endpoint's figure"
    assert is_noisy(calm, 2.9), "the long ones are"
    assert is_noisy([*calm[:3], *asks((160, 720.0), (160, 1_300.0), (160, 1_400.0))], None)
    assert not is_noisy(asks(), 4.5)


def repeated(count: int, first: int = 1) -> tuple[Ask, ...]:
    return tuple(Ask(f"try-{i}", user("x" * 80), 2, cache=False) for i in range(first, first + count))


PLAN = Plan(repeated(3), spare=(Note("more", N_("Two more.")), *repeated(2, 4)))


@pytest.mark.parametrize(
    ("took_ms", "runs"), [([400.0, 410.0, 900.0], 3), ([400.0, 900.0, 950.0], 5), ([900.0] * 3, 5)]
)
def test_a_noisy_run_makes_its_spare_repeats(took_ms: list[float], runs: int) -> None:
    """The driver knows this endpoint for 4.5 ms a token, and these prompts have some ninety letters."""
    events: list[Event] = []
    with ScriptedLlama(prompt_ms=lambda number: [*took_ms, 400.0, 400.0][number - 1]) as server:
        result = drive(server.url, PLAN, events=events)
        assert (result.outcome, len(server.chats)) == ("recorded", runs)
    assert list(result.record.recordings) == [f"try-{i}" for i in range(1, runs + 1)]
    assert result.record.metrics_agree is True
    notes = [data["key"] for kind, data in events if kind == "note"]
    assert notes == (["more"] if runs == 5 else [])


def test_a_plan_without_spare_repeats_makes_none() -> None:
    with ScriptedLlama(prompt_ms=lambda number: 9_000.0) as server:
        assert list(drive(server.url, Plan(repeated(3))).record.recordings) == ["try-1", "try-2", "try-3"]


def test_the_spare_repeats_are_no_part_of_a_clean_pass() -> None:
    assert PLAN.server_ms() == Plan(repeated(3)).server_ms() == 54.0
    assert PLAN.spare_ms() == 36.0
    assert [ask.key for ask in PLAN.asks] == [f"try-{i}" for i in range(1, 6)]
    stored = PLAN.to_json()
    assert Plan.from_json(stored) == PLAN
    del stored["spare"]
    assert Plan.from_json(stored) == Plan(repeated(3)), "as plans were frozen before"
