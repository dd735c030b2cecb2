"""The voice timeline of a recording: measured words, modelled sound, the client's turns beside it."""

from __future__ import annotations

from typing import Any

from labs.measure.figures import read_figures
from labs.measure.recording import Recording, StreamEnd
from labs.measure.speech import CLIENT_FIVE_SENTENCES_MS
from labs.measure.voice import client_rows, voice
from tests.measure.streams import DONE, Piece, finish, frames, role, token

ANSWER: tuple[Piece, ...] = (
    (0.05, role()),
    (0.30, token("It opens")),
    (0.40, token(" at nine.")),
    (0.50, token(" Bring")),
    (0.60, token(" your card.")),
    (0.70, token(" Then")),
    (0.80, token(" go in")),
)


def recording(*pieces: Piece, end: StreamEnd = "done") -> Recording:
    stream = frames(*pieces)
    figures = read_figures(stream, headers_us=1000, end=end, end_us=1_000_000)
    return Recording("ask", "ask", frames=stream, figures=figures)


def rows(found: dict[str, Any] | None, whose: str = "yours") -> dict[str, dict[str, Any]]:
    assert found is not None
    return {row["mode"]: row for row in found["rows"] if row["whose"] == whose}


def test_streaming_opens_the_mouth_with_the_first_sentence_serial_with_the_last() -> None:
    mine = rows(voice(recording(*ANSWER, (0.9, finish()), (0.9, DONE))))
    assert mine["serial"]["sentences"] == mine["streaming"]["sentences"] == 3
    assert mine["streaming"]["opens_ms"] < mine["serial"]["opens_ms"]
    first = next(bar for bar in mine["streaming"]["bars"] if bar["sentence"] == 0)
    assert first["start_ms"] == 400 + 500  # ASR, then the piece with the blank behind the stop
    assert first["modelled"]
    model = next(bar for bar in mine["serial"]["bars"] if bar["lane"] == "model")
    assert (model["start_ms"], model["end_ms"], model["modelled"]) == (400, 1200, False)


def test_a_cut_answer_ends_with_its_last_whole_sentence() -> None:
    assert rows(voice(recording(*ANSWER, end="cut")))["serial"]["sentences"] == 2
    capped = recording(*ANSWER, (0.9, finish("length")), (0.9, DONE))
    assert rows(voice(capped))["streaming"]["sentences"] == 2


def test_a_clip_is_neither_waited_for_nor_said() -> None:
    whole = recording(*ANSWER, (0.9, finish()), (0.9, DONE))
    clipped, all_of_it = rows(voice(whole, 1)), rows(voice(whole))
    assert clipped["serial"]["opens_ms"] < all_of_it["serial"]["opens_ms"]
    assert clipped["streaming"]["opens_ms"] == all_of_it["streaming"]["opens_ms"]


def test_without_a_sentence_or_without_frames_there_is_nothing_to_draw() -> None:
    assert voice(recording(*ANSWER[:3], end="cut")) is None
    assert voice(Recording("ask", "ask")) is None


def test_both_figures_of_the_client_stand_beside_it() -> None:
    serial_ms = [row["opens_ms"] for row in client_rows() if row["mode"] == "serial"]
    assert serial_ms == [3_300, CLIENT_FIVE_SENTENCES_MS]
