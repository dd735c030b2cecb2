"""The parts of a TTFT, and which frame it ends at."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from labs.grading import split
from labs.measure.recording import Frame
from tests.grading.recordings import ended, ids, run_of

ASK = ended("waits", ids((0, 100)), 0)


def frame(at_us: int, **delta: str | None) -> Frame:
    return Frame(at_us, b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n")


def test_the_parts_add_up_to_the_ttft() -> None:
    parts = split.read_parts(ASK)
    assert parts == split.Parts(wait_us=1_000, prefill_us=495_000, rest_us=4_000)
    assert sum(parts.to_json().values()) == ASK.figures.ttft_us


def test_no_text_no_ttft() -> None:
    silent = replace(ASK, figures=replace(ASK.figures, first_token_us=None))
    assert split.read_parts(silent) is None
    assert split.no_first_token(ASK, silent) is not None
    assert split.no_first_token(ASK) is None
    assert split.hidden_us(silent) is None


@pytest.mark.parametrize(("headers_us", "fine"), [(199_999, False), (200_000, True)])
def test_a_wait_under_200_ms_shows_nothing(headers_us: int, fine: bool) -> None:
    waits = replace(ASK, figures=replace(ASK.figures, headers_us=headers_us, first_token_us=900_000))
    assert (split.wait_fault(run_of(waits), "waits") is None) is fine


@pytest.mark.parametrize(
    ("part", "said_us", "near"),
    [
        ("wait", 1_100, True),
        ("wait", 1_101, False),
        ("prefill", 445_500, True),
        ("prefill", 445_400, False),
        ("rest", 14_000, True),
        ("rest", -6_000, True),
        ("rest", 14_001, False),
    ],
)
def test_limits_of_the_split(part: str, said_us: float, near: bool) -> None:
    parts = split.read_parts(ASK)
    assert parts is not None
    assert split.is_near(part, said_us, parts) is near


def test_the_first_token_is_in_the_first_frame_with_text() -> None:
    frames = [
        frame(5_000, role="assistant", content=None),
        Frame(6_000, b":\n\n"),
        frame(7_000, content=""),
        Frame(8_000, frame(0, content="The").data[:20]),
        Frame(9_000, frame(0, content="The").data[20:]),
        frame(10_000, content=" end"),
    ]
    assert split.first_token_frame(frames) == 4
    assert split.first_token_frame(frames[:4]) is None
    assert split.first_token_frame(()) is None
