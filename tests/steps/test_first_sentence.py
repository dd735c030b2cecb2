"""`first-sentence`: every text that can be drawn has one right place, and the model answers pass for everyone."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

from labs.grading.checks import Verdict
from labs.grading.mouth import caps_of, opening_of
from labs.steps import three
from labs.steps.base import Seen
from labs.steps.claims.first_sentence import REASONS
from labs.steps.examples import play
from labs.steps.first_sentence import CapRound, FirstSentence, Mark


def every_text(name: str) -> list[str]:
    return {
        three.DECIMAL: [
            f"It {v} {a}.{b} {u}. Next"
            for v, a, b, u in product(three.VERBS, range(1, 10), range(1, 10), three.UNITS)
        ],
        three.ABBREVIATION: [
            f"{begin} at {hour} {half} {adverb}. Go"
            for begin, hour, half, adverb in product(
                three.BEGINS, range(1, 10), ("a.m.", "p.m."), three.ADVERBS
            )
        ],
        three.LIST: [f"{n}. {order}." for n, order in product(range(1, 10), three.ORDERS)],
        three.KOREAN: [f"{said}. {more}" for said, more in three.ENDINGS],
    }[name]


@pytest.mark.parametrize("name", three.FIXED)
def test_every_text_ends_its_first_sentence_at_its_last_stop(name: str) -> None:
    for text in every_text(name):
        found = opening_of(text)
        assert found is not None
        assert (found.first, found.last) == (text.rindex("."), min(text.rindex(".") + 2, len(text))), text
        assert found.teaching_cuts is (name in three.STILL_CUT)


def test_what_is_drawn_is_among_them() -> None:
    for seed in range(50):
        for name, text in three.draw_texts(random.Random(seed)).items():
            assert text in every_text(name)


def played() -> Seen:
    return play(FirstSentence(), rounds=2)


def test_marks_may_stand_anywhere_from_the_stop_to_the_next_visible_character() -> None:
    step, seen = FirstSentence(), played()
    text = seen["mark"].challenge["texts"][three.DECIMAL]
    stop = text.rindex(".")
    verdicts = []
    for mark in range(len(text) + 1):
        answers = {"mark": {"mark_decimal": mark}}
        checks = step.grade(play(step, answers=answers, rounds=2))
        verdicts.append(next(c.verdict for c in checks if c.key == "mark-decimal") is Verdict.PASS)
    assert [place for place, right in enumerate(verdicts) if right] == [stop, stop + 1, stop + 2]


def test_a_cap_is_right_from_the_first_sentence_to_one_and_a_half_times_the_third() -> None:
    step = FirstSentence()
    challenge = CapRound().challenge(random.Random(0), played())
    caps = caps_of(challenge["pieces"], ended=challenge["ended"])
    assert caps is not None
    right = []
    for cap in range(8, 65):
        checks = step.grade(play(step, answers={"cap": {"cap": cap}}))
        if next(c.verdict for c in checks if c.key == "cap") is Verdict.PASS:
            right.append(cap)
    assert right == list(range(caps.low, caps.high + 1))
    assert (caps.low, caps.high) == (10, 45)


def test_exhibits_of_the_last_round_hold_what_was_measured_but_not_the_answer() -> None:
    seen = played()
    challenge = CapRound().challenge(random.Random(0), seen)
    rules, counted = CapRound().exhibits(challenge, seen)
    assert len(rules.rows) == len(three.FIXED) + 1
    assert "".join(str(text) for text, _ in counted.rows) == seen["mark"].challenge["texts"][three.OWN]
    assert counted.rows[-1][1] == three.ANSWER_TOKENS


def test_without_frames_the_marks_still_grade() -> None:
    """What the last two rounds rest on was kept in their challenges."""
    seen = play(FirstSentence())
    run = seen.run_of("ask")

    bare = {key: replace(recording, frames=()) for key, recording in run.recordings.items()}
    seen["ask"] = replace(seen["ask"], run=replace(run, recordings=bare))
    assert {check.verdict for check in FirstSentence().grade(seen)} == {Verdict.PASS}


def test_one_reason_is_right() -> None:
    assert [key for key, _ in REASONS].count("inside") == 1
    assert Mark().sample({"texts": {}, "ended": False}, Seen())["blank"] == "inside"
