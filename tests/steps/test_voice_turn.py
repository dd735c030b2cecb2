"""`voice-turn`: which layouts pass for everybody, what a form refuses, and what a valid prompt holds."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from labs.grading.checks import Check, Verdict
from labs.measure.plan import Get
from labs.steps import talk
from labs.steps.base import Seen
from labs.steps.examples import play
from labs.steps.examples.server import SANE
from labs.steps.fields import as_post
from labs.steps.talk_forms import DesignForm
from labs.steps.voice_turn import KEYS, Design, VoiceTurn

PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE
STYLE, DOCS, EARLIER, CLOCK, QUESTION = talk.BLOCKS


def by_key(seen: Seen) -> dict[str, Check]:
    return {check.key: check for check in VoiceTurn().grade(seen)}


def only_needed(_all: list[str], challenge: dict[str, Any]) -> list[str]:
    drawn = talk.Talk.of(challenge)
    return [f"{turn}:{drawn.needed(turn)}" for turn in talk.TURNS]


@pytest.mark.parametrize("seed", range(5))
def test_the_needed_document_behind_the_earlier_turns_passes_too(seed: int) -> None:
    answers = {"design": {"order": ",".join((STYLE, EARLIER, DOCS, CLOCK, QUESTION)), "riding": only_needed}}
    checks = by_key(play(VoiceTurn(), answers=answers, seed=seed, rounds=1))
    assert (checks["valid"].verdict, checks["half"].verdict) == (PASS, PASS)


def test_every_order_that_the_form_takes_is_graded_by_what_it_computes() -> None:
    """With all documents in every turn an order passes just where nothing that changes stands before them."""
    verdicts = {}
    for order in permutations(talk.BLOCKS):
        if order.index(QUESTION) < order.index(EARLIER):
            continue
        checks = by_key(play(VoiceTurn(), answers={"design": {"order": ",".join(order)}}, rounds=1))
        assert checks["valid"].verdict is PASS
        verdicts[order] = checks["half"].verdict is PASS
    assert len(verdicts) == 60
    for order, passed in verdicts.items():
        docs_are_cached = order.index(DOCS) < min(order.index(b) for b in (CLOCK, EARLIER, QUESTION))
        assert passed is docs_are_cached, order


def test_a_prompt_is_valid_by_its_own_tokens() -> None:
    """A template that drops a text is the server's doing; without tokens nobody can tell."""
    seen = play(VoiceTurn(), rounds=1)
    run = seen.run_of("design")

    def with_pieces(key: str, pieces: str) -> Seen:
        recordings = {**run.recordings, key: replace(run[key], prompt_pieces=pieces)}
        return Seen({"design": replace(seen["design"], run=replace(run, recordings=recordings))})

    dropped = by_key(with_pieces("turn-4", run["turn-1"].prompt_pieces))
    assert (dropped["valid"].verdict, dropped["half"].verdict) == (OPEN, OPEN)
    assert "template" in str(dropped["valid"].reason)
    assert by_key(with_pieces("turn-4", ""))["valid"].verdict is OPEN


def test_without_the_references_tokens_the_half_stays_open() -> None:
    seen = play(VoiceTurn(), rounds=1)
    run = seen.run_of("design")
    kept = {key: r for key, r in run.recordings.items() if key != "reference-3"}
    seen["design"] = replace(seen["design"], run=replace(run, recordings=kept))
    checks = by_key(seen)
    assert (checks["half"].verdict, checks["valid"].verdict) == (OPEN, PASS)


@pytest.mark.parametrize(("cap", "verdict"), [(8, FAIL), (47, FAIL), (48, OPEN), (64, OPEN)])
def test_an_endless_sentence_is_the_models_doing_from_48_tokens_on(cap: int, verdict: Verdict) -> None:
    server = replace(SANE, ends_sentences=False)
    checks = by_key(play(VoiceTurn(), server, {"design": {"max_tokens": cap}}, rounds=1))
    assert checks["sentence"].verdict is verdict


def test_the_reference_is_counted_and_never_sent() -> None:
    challenge = Design().challenge(random.Random(1), Seen())
    form = _form(challenge)
    assert form.is_valid(), form.errors
    plan = Design().plan(challenge, form.answers(), Seen())
    assert [ask.key for ask in plan.asks] == list(KEYS)
    assert [item.key for item in plan.items if isinstance(item, Get)] == [
        f"reference-{turn}" for turn in talk.TURNS
    ]


def _form(challenge: dict[str, Any], **changes: Any) -> DesignForm:
    post = {**Design().sample(challenge, Seen()), **changes}
    return DesignForm(as_post(post), challenge=challenge, seen=Seen())


CHALLENGE = Design().challenge(random.Random(1), Seen())


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("<|im_end|>", "signs"),
        ("[INST] Be short.", "signs"),
        ("{{ x }}", "signs"),
        ("One.\nTwo.", "single line"),
        ("Be\u2028short.", "single line"),
        ("a\0b", "no text"),
        ("\ud800", "no text"),
        ("x" * 201, "at most 200"),
        ("x" * 150_000, "too long"),
    ],
)
def test_a_style_line_that_cannot_stand_in_a_prompt_says_why(line: str, says: str) -> None:
    form = _form(CHALLENGE, style=line)
    assert list(form.errors) == ["style"]
    assert says in str(form.errors["style"])


@pytest.mark.parametrize("line", ["", "x" * 200, "한 문장으로 짧게 답하세요. 🙂", 'Say "no" & don\'t; 100%!'])
def test_any_other_words_may_stand_in_it(line: str) -> None:
    form = _form(CHALLENGE, style=line)
    assert form.is_valid(), form.errors
    assert form.answers()["style"] == line


@pytest.mark.parametrize(
    "changes",
    [
        {"order": ",".join((QUESTION, EARLIER, STYLE, DOCS, CLOCK))},
        {"riding": ["6:opens"]},
        {"riding": ["1:nothing"]},
        {"riding": []},
        {"max_tokens": 7},
        {"max_tokens": 65},
        {"sentences": 0},
    ],
)
def test_what_is_no_layout_is_refused_at_its_field(changes: dict[str, Any]) -> None:
    assert list(_form(CHALLENGE, **changes).errors) == list(changes)


def test_a_turn_without_any_block_in_front_has_no_system_message() -> None:
    drawn = talk.Talk.of(CHALLENGE)
    layout = talk.Layout((EARLIER, STYLE, DOCS, CLOCK, QUESTION), {}, "")
    assert [m["role"] for m in layout.messages(drawn, 1)] == ["user"]
    assert [m["role"] for m in layout.messages(drawn, 3)] == ["user", "assistant"] * 2 + ["user"]


def test_without_frames_everything_still_grades() -> None:
    seen = play(VoiceTurn())
    run = seen.run_of("design")
    bare = {key: replace(recording, frames=()) for key, recording in run.recordings.items()}
    seen["design"] = replace(seen["design"], run=replace(run, recordings=bare))
    assert {check.verdict for check in by_key(seen).values()} == {PASS}
