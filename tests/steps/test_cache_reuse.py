"""What `cache-reuse` promises beyond the generic test."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from labs.grading.checks import Verdict
from labs.grading.sane import HEAD_AT_MOST
from labs.measure.figures import read_figures
from labs.measure.plan import Get
from labs.steps.base import Seen
from labs.steps.cache_reuse import CacheReuse
from labs.steps.examples import play
from labs.steps.examples.server import ModelServer
from labs.steps.recorded import kept_runs
from tests.steps.playing import check, with_recordings

STEP = CacheReuse()
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def test_the_slot_is_emptied_between_two_equal_asks() -> None:
    seen = play(STEP)
    plan = STEP.round("emptied").plan({}, seen["emptied"].answers, Seen({"again": seen["again"]}))
    assert plan is not None
    assert [item.key for item in plan.items] == ["send", "hit", "erase", "after"]
    assert plan.items[2] == Get("erase", "erase", slot=0)
    assert len({str(ask.messages) for ask in plan.asks}) == 1
    assert {(ask.slot, ask.lab_line, ask.cache) for ask in plan.asks} == {(0, True, True)}
    run = seen.run_of("emptied")
    counted = [run[key].figures.prompt_n for key in ("send", "hit", "after")]
    assert counted[1] == 1
    assert counted[2] == run["after"].n >= (counted[0] or 0)


def test_without_slot_save_path_nobody_fails_and_the_flag_is_named() -> None:
    seen = play(STEP, ModelServer(can_erase=False), {"emptied": {"after_prompt_n": 1}})
    found = check(STEP, seen, "emptied")
    assert found.verdict is OPEN
    assert "--slot-save-path" in str(found.reason)


def test_a_slot_that_was_not_really_emptied_fails_nobody() -> None:
    seen = play(STEP)
    after = seen.run_of("emptied")["after"]
    warm = replace(after, figures=replace(after.figures, cache_n=after.n - 1, prompt_n=1))
    found = check(STEP, with_recordings(seen, "emptied", warm), "emptied")
    assert found.verdict is OPEN
    assert "elsewhere" in str(found.reason)


@pytest.mark.parametrize(("off_by", "verdict"), [(2, PASS), (-2, PASS), (3, FAIL), (-3, FAIL)])
def test_the_prediction_may_be_two_tokens_off(off_by: int, verdict: Verdict) -> None:
    answers = {"emptied": {"after_prompt_n": lambda n, _challenge: n + off_by}}
    assert check(STEP, play(STEP, answers=answers), "emptied").verdict is verdict


def test_the_stored_run_shows_the_host_memory_at_work() -> None:
    runs = kept_runs("host-cache")
    for key, run in runs.items():
        asks = [run[name] for name in ("a", "b", "c", "a-again")]
        assert run.metrics_agree is True
        assert all((ask.figures.cache_n or 0) <= HEAD_AT_MOST for ask in asks[:3])
        assert asks[3].prompt_ids == asks[0].prompt_ids
        assert asks[3].figures.prompt_n == (1 if key == "on" else asks[3].n)
        for slot in (0, 1):
            assert json.loads(run[f"erase-{slot}"].body)["id_slot"] == slot
        for ask in asks:
            seen = ask.figures
            again = read_figures(ask.frames, headers_us=seen.headers_us, end=seen.end, end_us=seen.end_us)
            assert again == seen


def test_the_stored_run_is_shown_where_it_is_asked_about() -> None:
    seen = play(STEP)
    _measured, stored = STEP.round("explain").exhibits({}, seen)
    last = stored.rows[-1]
    assert last[2] == 1
    assert last[3] == last[1]


def test_c6_a_cold_request_that_found_its_prefix_is_on_no_board() -> None:
    """The same prompt three times: 2.0 s, and twice 0.12 s out of the cache. Cold and warm are columns of their own."""
    seen = play(STEP)
    run = seen.run_of("again")
    [score] = STEP.scores(seen)
    assert (score.board, score.value) == ("ttft", round((run["cold"].figures.ttft_us or 0) / 1000, 1))
    assert score.detail["warm_ms"] == round((run["repeat"].figures.ttft_us or 0) / 1000, 1)
    repeated = replace(run["repeat"], key="cold")
    assert list(STEP.scores(with_recordings(seen, "again", repeated))) == []
