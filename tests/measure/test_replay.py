"""A stream to be watched again: what each frame brought, whatever the cuts, and where the marks stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.measure.figures import read_figures
from labs.measure.recording import Frame, Recording, StreamEnd
from labs.measure.replay import Mark, replay
from tests.measure.streams import DONE, delta, finish, frames, progress, recut, role, timings, token, usage

STREAM = frames(
    (0.010, role()),
    (0.011, progress(0, 9)),
    (0.050, progress(9, 9)),
    (0.060, token("안녕하세요.")),
    (0.070, token(" 네")),
    (0.080, {**finish(), "timings": timings()}),
    (0.080, usage()),
    (0.080, DONE),
)


def recorded(stream: tuple[Frame, ...], end: StreamEnd = "done", closed_us: int | None = None) -> Recording:
    figures = read_figures(stream, headers_us=5_000, end=end, end_us=90_000)
    return Recording("a", "ask", figures=figures, frames=stream, closed_us=closed_us)


def test_frames_by_kind_and_marks_in_order() -> None:
    found = replay(recorded(STREAM))
    assert [frame.kind for frame in found.frames] == [
        *("role", "progress", "progress", "text", "text", "counters", "counters", "done")
    ]
    assert found.marks == (
        Mark("headers", 5_000),
        Mark("role", 10_000),
        Mark("progress", 11_000, 0, 9),
        Mark("progress", 50_000, 9, 9),
        Mark("first_token", 60_000),
        Mark("first_sentence", 70_000),
        Mark("last_token", 70_000),
        Mark("end", 90_000),
    )
    assert found.end_us == 90_000


def test_a_cut_has_its_mark_and_the_slot_too() -> None:
    recording = recorded(STREAM[:5], "cut", closed_us=75_000)
    names = [mark.name for mark in replay(recording).marks]
    assert "cut" in names and "first_sentence" in names
    assert replay(recorded(STREAM[:5], closed_us=75_000)).marks[-1].name == "end", (
        "not cut: we closed at the end"
    )


@given(st.integers(1, 60))
def test_however_it_is_cut_the_text_is_whole(size: int) -> None:
    found = replay(recorded(recut(STREAM, size)))
    assert "".join(frame.text for frame in found.frames) == "안녕하세요. 네"


def test_bytes_inside_a_syllable_are_shown_as_escapes() -> None:
    found = replay(recorded((Frame(1, "각".encode()[:2]),)))
    assert found.frames[0].raw == "\\xea\\xb0"


@pytest.mark.parametrize("broken", [b"data: {\n\n", b"data: [1]\n\n"])
def test_what_follows_broken_bytes_is_shown_raw(broken: bytes) -> None:
    stream = frames((0.01, token("a")), (0.02, broken), (0.03, token("b")))
    found = replay(recorded(stream, "error"))
    assert [frame.kind for frame in found.frames] == ["text", "filler", "filler"]
    assert found.frames[2].raw.startswith("data: {")


def test_hidden_reasoning_is_told_apart() -> None:
    (frame,) = replay(recorded(frames((0.01, delta(reasoning_content="hm"))))).frames
    assert (frame.kind, frame.text) == ("thinking", "")


def test_nothing_recorded() -> None:
    found = replay(Recording("a", "ask"))
    assert (found.frames, found.marks, found.end_us) == ((), (), 0)
