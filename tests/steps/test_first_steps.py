"""What the first three steps promise beyond the generic test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labs.grading.checks import Verdict
from labs.measure.plan import Close, Hold
from labs.measure.recording import RunRecord
from labs.steps.barge_in import TWIN_AT_LEAST, TWIN_TOKENS, BargeIn, twin_tokens
from labs.steps.base import Seen
from labs.steps.blocks import BLOCKS, PLACES, Layout
from labs.steps.cache_break import CacheBreak
from labs.steps.examples import play
from labs.steps.examples.server import ModelServer
from labs.steps.first_token import FirstToken
from labs.steps.snippets import SNIPPETS


def test_a_sane_server_without_metrics_is_no_obstacle() -> None:
    step = CacheBreak()
    checks = step.grade(play(step, ModelServer(has_metrics=False)))
    assert {check.verdict for check in checks} == {Verdict.PASS}


def test_both_clocks_all_documents_and_the_question_stand_verbatim_in_every_layout() -> None:
    step = CacheBreak()
    for order in (*PLACES.values(), tuple(reversed(BLOCKS))):
        seen = play(step, answers={"repair": {"order": ",".join(order)}})
        guess, repair = seen["guess"].challenge, seen["repair"].challenge
        plan = step.round("repair").plan(repair, seen["repair"].answers, seen)
        assert plan is not None
        for ask, clock in zip(plan.asks, (repair["clock"], repair["other"]), strict=True):
            text = "\n".join(message["content"] for message in ask.messages)
            assert all(part in text for part in (clock, guess["question"], *guess["documents"]))


def test_documents_behind_the_clock_are_named() -> None:
    layout = Layout(("question", "documents-1", "clock", "rule", "documents-2"), ["a", "b", "c"], "q?")
    assert layout.behind_clock == ["documents-2"]
    assert layout.messages("00:00:00")[0] == {"role": "system", "content": ""}


def test_the_first_round_asks_five_times_with_the_cache_off() -> None:
    step = FirstToken()
    seen = play(step, rounds=1)
    plan = step.round("predict").plan(seen["predict"].challenge, seen["predict"].answers, Seen())
    assert plan is not None
    assert [(ask.cache, ask.max_tokens, ask.slot) for ask in plan.asks] == [(False, 4, 0)] * 5


def test_the_question_shows_raw_times_and_not_the_answer() -> None:
    step = FirstToken()
    seen = play(step)
    before = Seen({key: seen[key] for key in ("predict", "mark")})
    moments, timings = step.round("split").exhibits({}, before)
    sample = step.round("split").sample({}, before)
    shown = {str(cell) for row in moments.rows for cell in row}
    assert str(sample["wait_ms"]) not in shown
    assert str(sample["rest_ms"]) not in shown | {timings.text}


def run_at(us_per_token: float | None, n_ctx: int = 4096) -> RunRecord:
    run = play(BargeIn(), rounds=1).run_of("cut")
    writing = run["writing"]
    writing = replace(writing, figures=replace(writing.figures, us_per_token=us_per_token))
    return replace(
        run, recordings={**run.recordings, "writing": writing}, server=replace(run.server, n_ctx=n_ctx)
    )


@pytest.mark.parametrize(
    ("run", "tokens"),
    [
        (None, TWIN_TOKENS),
        (run_at(None), TWIN_TOKENS),
        (run_at(9_000), 444),
        (run_at(2_000), 2_000),
        (run_at(200), 4096 - 80),
        (run_at(90_000), TWIN_AT_LEAST),
        (run_at(2_000, n_ctx=512), 512 - 80),
    ],
)
def test_the_twin_outlasts_four_deadlines_within_the_slot(run: RunRecord | None, tokens: int) -> None:
    assert twin_tokens(run) == tokens


def test_the_second_barge_in_round_cuts_holds_and_looks_in_this_order() -> None:
    step = BargeIn()
    seen = play(step)
    before = Seen({"cut": seen["cut"]})
    plan = step.round("stop").plan(seen["stop"].challenge, seen["stop"].answers, before)
    assert plan is not None
    keys = [item.key for item in plan.items]
    assert keys == [
        "close",
        "leave",
        "break",
        "break-end",
        "stall",
        "look",
        "other",
        "look-again",
        "same",
        "after",
    ]
    assert plan.ask("close").end == plan.ask("leave").end == Close(300)
    assert plan.ask("break").end == Hold(until="break-end", stop_after_ms=300)
    assert plan.ask("stall").end == Hold(until="same", stop_after_ms=300, shut_after_ms=500)
    assert (plan.ask("other").slot, plan.ask("same").slot, plan.ask("stall").slot) == (1, 0, 0)


def test_a_way_of_stopping_counts_only_where_the_run_showed_it() -> None:
    """A server that ignores the close gives no pass and fails nobody, whatever was answered."""
    step = BargeIn()
    for stops in (["break"], ["close", "leave"], list(SNIPPETS)):
        seen = play(step, ModelServer(notices_close=False), {"stop": {"stops": stops}})
        assert {check.verdict for check in step.grade(seen)} == {Verdict.INCONCLUSIVE}


def test_text_behind_a_long_role_event_in_the_same_frame_is_shown() -> None:
    """Seen on the real server: one read brought the last role event and the first text, 600 bytes in all."""
    role = 'data: {"choices":[{"delta":{"role":"assistant","content":null}}],"id":"' + "x" * 400 + '"}\n\n'
    text = role + 'data: {"choices":[{"delta":{"content":" The"}}]}\n\n'
    step = FirstToken()
    seen = play(step, rounds=1)
    round_ = step.round("mark")
    form = round_.Form(None, challenge={"frames": [{"at_us": 5_000, "text": text}]}, seen=seen, tokens={})
    assert "&quot; The&quot;" in form.as_p()
