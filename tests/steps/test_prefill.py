"""What `prefill` promises beyond the generic test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labs.grading.checks import Check, Verdict
from labs.grading.line import PREDICTION_SHARE, line_through
from labs.steps.base import Seen
from labs.steps.examples import play
from labs.steps.examples.server import SANE
from labs.steps.prefill import Prefill
from labs.steps.sizes import LARGE_KEYS, SMALL, repeats, small_keys, some, spare_keys
from tests.steps.playing import check, with_recordings, with_run

STEP = Prefill()
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def test_both_sizes_are_measured_in_turns_and_cold() -> None:
    seen = play(STEP)
    plan = STEP.round("small").plan(seen["small"].challenge, seen["small"].answers, Seen())
    assert plan is not None
    turns = [f"documents-{count}-{i}" for i in (1, 2, 3) for count in (0, 4)]
    assert [item.key for item in plan.items] == turns
    more = [f"documents-{count}-{i}" for i in (4, 5) for count in (0, 4)]
    assert [item.key for item in plan.spare] == ["more", *more], "from three to five where times are noisy"
    assert {(ask.cache, ask.lab_line, ask.max_tokens, ask.slot) for ask in plan.asks} == {
        (False, False, 4, 0)
    }
    before = Seen({"small": seen["small"]})
    large = STEP.round("large").plan(seen["large"].challenge, seen["large"].answers, before)
    assert large is not None
    assert [ask.key for ask in large.asks] == [LARGE_KEYS[0], "own", LARGE_KEYS[1]]


def test_the_sizes_are_told_in_tokens_and_estimated_without_a_server() -> None:
    seen = play(STEP)
    round_, before = STEP.round("large"), Seen({"small": seen["small"]})
    challenge = seen["large"].challenge
    tokens = {name: SANE.pieces(messages) for name, messages in round_.tokenise(challenge).items()}
    assert tokens.keys() == {"6", "7", "8", "9", "10", "12"}
    told = str(round_.Form(challenge=challenge, seen=before, tokens=tokens).as_p())
    for count, pieces in tokens.items():
        assert f"{count} documents, {len(pieces)} tokens" in told
    guessed = str(round_.Form(challenge=challenge, seen=before).as_p())
    assert "12 documents, about " in guessed


def predicted(share: float) -> Check:
    """The check of a prediction that lies `share` off the line."""
    line = check(STEP, play(STEP), "prediction").evidence["saw"]["line_ms"]
    return check(STEP, play(STEP, answers={"large": {"twelve_ms": line * (1 + share)}}), "prediction")


@pytest.mark.parametrize("side", [1, -1])
def test_a_prediction_may_lie_15_percent_off_the_line(side: int) -> None:
    assert predicted(side * (PREDICTION_SHARE - 0.01)).verdict is PASS
    off = predicted(side * (PREDICTION_SHARE + 0.02))
    assert off.verdict is FAIL
    assert off.evidence["limit"] == {"share": PREDICTION_SHARE}


def test_multiplying_by_the_documents_is_named() -> None:
    tripled = next(e for e in STEP.examples() if e.name.startswith("multiplied")).seen()
    assert "multiplied" in str(check(STEP, tripled, "prediction").reason)
    assert "multiplied" not in str(predicted(-0.3).reason)


def test_a_size_of_ones_own_is_not_marked() -> None:
    seen = play(STEP, answers={"large": {"own_documents": "6", "own_ms": 1}})
    assert {found.verdict for found in STEP.grade(seen)} == {PASS}
    assert "6 documents: predicted 1.0 ms" in str(check(STEP, seen, "measured").reason)


@pytest.mark.parametrize(
    ("known", "verdict"), [(4.5, PASS), (6.4, PASS), (3.05, PASS), (6.5, OPEN), (2.9, OPEN), (None, PASS)]
)
def test_a_line_that_this_server_cannot_have_predicts_nothing(known: float | None, verdict: Verdict) -> None:
    seen = play(STEP)
    run = seen.run_of("small")
    seen = with_run(seen, "small", replace(run, server=replace(run.server, prompt_ms_per_token=known)))
    assert check(STEP, seen, "line").verdict is check(STEP, seen, "prediction").verdict is verdict


def arriving(seen: Seen, at_us: int, *keys: str) -> Seen:
    """The same first round, but the first text of these asks came at `at_us`."""
    run = seen.run_of("small")
    late = [replace(run[key], figures=replace(run[key].figures, first_token_us=at_us)) for key in keys]
    return with_recordings(seen, "small", *late)


def test_a_long_prompt_that_was_not_slower_fails_nobody() -> None:
    seen = arriving(play(STEP), 1_000, *small_keys(4))
    assert check(STEP, seen, "line").verdict is check(STEP, seen, "prediction").verdict is OPEN
    assert "busy" in str(check(STEP, seen, "line").reason)


def with_spare(seen: Seen, small_us: int, large_us: int) -> Seen:
    """As if the run had been noisy: two more of each size, with these times until the first text."""
    more = []
    for count, at_us in zip(SMALL, (small_us, large_us), strict=True):
        first = seen.run_of("small")[small_keys(count)[0]]
        figures = replace(first.figures, first_token_us=at_us)
        more += [replace(first, key=key, figures=figures) for key in spare_keys(count)]
    return with_recordings(seen, "small", *more)


def test_the_fastest_of_five_counts_where_five_were_made() -> None:
    seen = play(STEP)
    whole = check(STEP, seen, "line").evidence["saw"]
    noisy = arriving(seen, 9_000_000, *small_keys(4))
    assert check(STEP, noisy, "line").verdict is OPEN
    none, four = (min(ask.figures.ttft_us or 0 for ask in repeats(seen.run_of("small"), n)) for n in SMALL)
    mended = with_spare(noisy, none, four)
    saw = check(STEP, mended, "line").evidence["saw"]
    assert saw == {**whole, "repeats": 5}
    assert whole["repeats"] == 3
    assert {found.verdict for found in STEP.grade(mended)} == {PASS}


def test_what_stays_noisy_is_inconclusive_and_never_failed() -> None:
    seen = with_spare(arriving(play(STEP), 9_000_000, *small_keys(4)), 300_000, 9_000_000)
    verdicts = {found.key: found.verdict for found in STEP.grade(seen)}
    assert verdicts["line"] is verdicts["prediction"] is OPEN
    assert FAIL not in verdicts.values()


def test_a_spare_repeat_must_have_been_cold_too() -> None:
    seen = with_spare(play(STEP), 300_000, 800_000)
    warm = seen.run_of("small")[spare_keys(4)[1]]
    seen = with_recordings(seen, "small", replace(warm, figures=replace(warm.figures, cache_n=9)))
    assert check(STEP, seen, "line").verdict is OPEN


def test_one_slow_run_of_three_moves_nothing() -> None:
    seen = play(STEP)
    noisy = arriving(seen, 9_000_000, small_keys(0)[0], small_keys(4)[2])
    lines = [line_through(*(some(s.run_of("small"), small_keys(n)) for n in SMALL)) for s in (seen, noisy)]
    assert lines[0] == lines[1] is not None
    assert {found.verdict for found in STEP.grade(noisy)} == {PASS}
