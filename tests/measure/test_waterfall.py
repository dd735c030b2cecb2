"""What an ask's time went into: stretches that follow one another and add up."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from labs.measure.recording import Figures, Recording
from labs.measure.waterfall import waterfall

SEEN = Figures(
    "done",
    connect_us=300,
    headers_us=1_000,
    first_token_us=705_000,
    prompt_ms=700.0,
    end_us=2_000_000,
)


def lengths(recording: Recording, sentence_us: int | None = None) -> dict[str, int]:
    return {stretch.phase: stretch.length_us for stretch in waterfall(recording, sentence_us)}


def test_an_ask_that_was_read_to_its_end() -> None:
    assert lengths(Recording("a", "ask", figures=SEEN), 1_200_000) == {
        "connect": 300,
        "wait": 1_000,
        "prefill": 700_000,
        "first_token": 4_000,
        "first_sentence": 495_000,
        "rest": 800_000,
    }


def test_without_a_sentence_the_rest_begins_at_the_first_token() -> None:
    assert lengths(Recording("a", "ask", figures=SEEN))["rest"] == 1_295_000


def test_an_older_recording_does_not_know_the_connecting() -> None:
    old = replace(SEEN, connect_us=None)
    assert "connect" not in lengths(Recording("a", "ask", figures=old))


def test_cut_while_reading_the_prompt() -> None:
    seen = Figures("cut", connect_us=300, headers_us=1_000, end_us=900_000)
    found = lengths(Recording("a", "ask", figures=seen, closed_us=500_000))
    assert found == {"connect": 300, "wait": 1_000, "prefill": 499_000}


def test_cut_while_waiting_for_the_slot() -> None:
    found = lengths(Recording("a", "ask", figures=Figures("cut"), closed_us=500_000))
    assert found == {"wait": 500_000}


def test_nothing_came_at_all() -> None:
    assert waterfall(Recording("a", "ask", figures=Figures("truncated"))) == ()


TIME = st.none() | st.integers(0, 10**7)


@given(TIME, TIME, TIME, TIME, TIME, st.none() | st.floats(0, 10**4))
def test_stretches_touch_and_never_run_backwards(
    connect: int | None,
    headers: int | None,
    first: int | None,
    end: int | None,
    sentence: int | None,
    ms: float | None,
) -> None:
    seen = Figures(
        "done", connect_us=connect, headers_us=headers, first_token_us=first, prompt_ms=ms, end_us=end
    )
    found = waterfall(Recording("a", "ask", figures=seen), sentence)
    assert all(stretch.length_us >= 0 for stretch in found)
    assert all(a.end_us == b.start_us for a, b in pairwise(found))
    if end is not None and (headers is None or first is not None):
        assert found[-1].end_us == end
