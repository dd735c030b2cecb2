"""What the driver says of an answer's first sentence while it arrives, and prompts that it only has cut into tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from labs.measure.answer import first_sentence_us
from labs.measure.plan import Ask, Get, Plan
from labs.measure.sentences import SENTENCE_RULE_VERSION
from tests.llama.byte_server import END, SSE_HEAD, Peer, chunked
from tests.measure.driving import Event, drive, user
from tests.measure.scripted import ScriptedLlama
from tests.measure.streams import DONE, event, finish, token


def says(*texts: str, reason: str = "stop") -> Any:
    def answer(peer: Peer) -> None:
        events = [*map(token, texts), finish(reason), DONE]
        peer.send(SSE_HEAD + b"".join(chunked(event(data)) for data in events) + END)

    return answer


def heard(*texts: str, reason: str = "stop") -> tuple[list[str], list[dict[str, Any]], Any]:
    """(kinds of the visible events, the first-sentence events, the figures)"""
    events: list[Event] = []
    with ScriptedLlama(misbehave=says(*texts, reason=reason), has_slots=False) as server:
        result = drive(server.url, Plan((Ask("a", user("Hi"), 8),)), events=events)
    kinds = [kind for kind, _ in events if kind in ("first_token", "tokens", "first_sentence", "recorded")]
    return kinds, [data for kind, data in events if kind == "first_sentence"], result.record["a"].figures


def test_the_first_sentence_is_told_once_behind_its_tokens() -> None:
    kinds, told, figures = heard("It costs 3", ".5 dollars.", " Bring it. Go.")
    assert [data["text"] for data in told] == ["It costs 3.5 dollars."]
    assert told[0] == {"key": "a", "at_us": figures.first_sentence_us, "text": figures.text[:21]}
    assert figures.first_sentence_end == 21
    assert kinds.index("first_sentence") > kinds.index("tokens")
    assert kinds[-1] == "recorded"


def test_the_end_of_the_answer_ends_it_but_max_tokens_does_not() -> None:
    _, told, figures = heard("Only", " words")
    assert told == [{"key": "a", "at_us": figures.last_token_us, "text": "Only words"}]
    assert figures.first_sentence_us == figures.last_token_us
    _, told, figures = heard("Only", " words.", reason="length")
    assert (told, figures.first_sentence_us) == ([], None)


def test_what_an_older_rule_found_is_read_again_from_the_frames_while_they_are_kept() -> None:
    with ScriptedLlama(misbehave=says("Hello there.", " Go on."), has_slots=False) as server:
        new = drive(server.url, Plan((Ask("a", user("Hi"), 8),))).record["a"]
    found_us = new.figures.first_sentence_us
    assert found_us is not None
    assert first_sentence_us(replace(new, frames=())) == found_us, "as it was stored"
    for rule in (None, SENTENCE_RULE_VERSION + 1):
        old = replace(new, figures=replace(new.figures, sentence_rule=rule, first_sentence_us=1))
        assert first_sentence_us(old) == found_us
        assert first_sentence_us(replace(old, frames=())) is None


@pytest.mark.parametrize("counted", [True, False])
def test_tokens_are_counted_on_every_piece_only_where_the_plan_wants_it(counted: bool) -> None:
    with ScriptedLlama() as server:
        drive(server.url, Plan((Ask("a", user("Hi"), 2, count_pieces=counted),)))
    body = server.chats[0]
    assert (body.get("timings_per_token", False), "ignore_eos" in body) == (counted, False)


def test_a_prompt_that_is_only_cut_into_tokens_is_never_asked() -> None:
    asked, other = Ask("a", user("Hi"), 1), Get("other", "tokens", messages=user("Ho!"))
    with ScriptedLlama() as server:
        record = drive(server.url, Plan((asked, Get("same", "tokens", messages=user("Hi")), other))).record
    assert len(server.chats) == 1
    assert record["same"].prompt_ids == record["a"].prompt_ids
    assert record["other"].n == record["a"].n + 1
    assert (record["other"].kind, record["other"].body) == ("get", "")
