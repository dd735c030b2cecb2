"""Figures from frames: cases A8, A10b and C1 to C3 of the public reports, and what a cut leaves."""

from __future__ import annotations

from typing import Any

import pytest

from labs.measure.figures import read_figures
from labs.measure.recording import Figures, StreamEnd
from tests.measure.streams import (
    DONE,
    Piece,
    delta,
    finish,
    frames,
    progress,
    recut,
    role,
    timings,
    token,
    usage,
)


def read(*pieces: Piece, end: StreamEnd = "done", headers_us: int = 2000) -> Figures:
    return read_figures(frames(*pieces), headers_us=headers_us, end=end, end_us=1_300_000)


A8: tuple[Piece, ...] = (
    (0.10, progress(0, 9)),
    (0.40, token("A")),
    (0.50, token("B")),
    (0.90, usage(9, 2, timings=timings())),
    (1.20, DONE),
)


def test_a8_the_usage_frame_moves_neither_first_nor_last_token() -> None:
    seen = read(*A8)
    assert (seen.text, seen.pieces, seen.tokens) == ("AB", 2, 2)
    assert (seen.ttft_us, seen.last_token_us, seen.done_us) == (400_000, 500_000, 1_200_000)
    assert (seen.usage_prompt_tokens, seen.cache_n, seen.prompt_n) == (9, 0, 9)
    assert seen.timings_final
    assert (seen.role_us, seen.progress_total, seen.progress_cache) == (100_000, 9, 0)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_figures_do_not_depend_on_where_the_bytes_were_cut(size: int) -> None:
    # A recut frame has the time of its last byte: only sizes up to an event keep every time exact.
    whole = read_figures(frames(*A8), headers_us=2000, end="done", end_us=None)
    again = read_figures(recut(frames(*A8), size), headers_us=2000, end="done", end_us=None)
    assert (again.text, again.pieces, again.tokens) == (whole.text, whole.pieces, whole.tokens)
    if size == 1:
        assert again == whole


def test_a10b_a_whole_answer_in_one_late_read_is_buffered() -> None:
    pieces = [(1.0, token("x")) for _ in range(20)]
    seen = read(*pieces, (1.0, usage(9, 20)), (1.0, DONE))
    assert seen.buffered
    assert (seen.coalesced_reads, seen.pieces, seen.us_per_token) == (1, 20, None)
    assert not read(*pieces[:3], (1.0, DONE)).buffered, "three pieces may share a read by chance"
    assert not read(*pieces, (1.0, DONE), headers_us=950_000).buffered, "the wait was in the queue"
    assert not read(*pieces, (1.1, token("y")), (1.2, DONE)).buffered


@pytest.mark.parametrize("opening", [delta(role="assistant", content=""), role()])
def test_c1_the_role_frame_is_no_token(opening: Any) -> None:
    seen = read((0.02, opening), (0.60, token("Hi")), (0.7, DONE))
    assert (seen.role_us, seen.first_generated_us, seen.ttft_us) == (20_000, 600_000, 600_000)


def test_pings_and_empty_content_are_no_token() -> None:
    seen = read((0.1, b":\n\n"), (0.2, token("")), (0.3, b"data:\n\n"), (0.4, token("\n")), (0.5, DONE))
    assert (seen.ttft_us, seen.pieces, seen.text) == (400_000, 1, "\n")


def test_c2_hidden_reasoning_is_kept_apart() -> None:
    thought = (0.30, delta(reasoning_content="hm")), (0.35, delta(reasoning="so"))
    seen = read(*thought, (4.0, token("Yes")), (4.1, DONE))
    assert (seen.first_generated_us, seen.ttft_us, seen.text) == (300_000, 4_000_000, "Yes")
    seen = read(
        (0.5, delta(tool_calls=[{"index": 0, "function": {"name": "f"}}])), (0.6, finish("tool_calls"))
    )
    assert (seen.first_generated_us, seen.ttft_us) == (500_000, None)
    seen = read(*thought, (0.4, finish()), (0.4, DONE))
    assert (seen.first_generated_us, seen.ttft_us, seen.last_token_us) == (300_000, None, None)


def test_c3_tokens_by_the_servers_count() -> None:
    five = [(0.5 + 0.2 * i, token(f"t{i}")) for i in range(5)]
    seen = read(*five, (1.35, usage(9, 21)), (1.4, DONE))
    assert (seen.tokens, seen.pieces, seen.us_per_token) == (21, 5, 40_000.0)
    one = read((0.5, token("all of it")), (0.6, usage(9, 21)), (0.7, DONE))
    assert (one.tokens, one.pieces, one.us_per_token) == (21, 1, None)
    silent = read(*five, (1.4, DONE))
    assert (silent.tokens, silent.pieces, silent.us_per_token) == (None, 5, None)
    single = read((0.5, token("a")), (0.5, usage(9, 1)), (0.6, DONE))
    assert single.us_per_token is None


def test_an_answer_without_content_has_no_first_token() -> None:
    seen = read((0.02, role()), (0.3, finish()), (0.3, usage(9, 1, timings=timings(0, 9, 1))), (0.3, DONE))
    assert (seen.ttft_us, seen.last_token_us, seen.text, seen.pieces) == (None, None, "", 0)
    assert (seen.tokens, seen.finish_reason, seen.us_per_token) == (1, "stop", None)


def test_several_tokens_in_one_read_share_its_time() -> None:
    seen = read((0.5, token("a")), (0.5, token("b")), (0.6, token("c")), (0.7, DONE))
    assert (seen.coalesced_reads, seen.pieces) == (1, 3)
    assert (seen.ttft_us, seen.last_token_us) == (500_000, 600_000)


def test_a_cut_ask_counts_by_the_last_frame_that_carried_counters() -> None:
    pieces = [(0.1 * i, token("x", timings=timings(24, 10, i))) for i in range(1, 6)]
    seen = read((0.01, progress(24, 34, cache=24)), *pieces, end="cut")
    assert (seen.cache_n, seen.prompt_n, seen.predicted_n, seen.tokens) == (24, 10, 5, 5)
    assert not seen.timings_final
    assert seen.done_us is None


def test_the_zeros_on_a_progress_frame_are_no_counters() -> None:
    early = {**progress(24, 329, cache=24), "timings": timings(24, 0, 0)}
    seen = read((0.01, early), end="cut")
    assert (seen.prompt_n, seen.cache_n, seen.predicted_n, seen.tokens) == (None, None, None, None)
    assert (seen.progress_cache, seen.progress_processed, seen.progress_total) == (24, 24, 329)


def test_an_error_inside_the_stream_is_kept() -> None:
    error = {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}
    seen = read((0.4, token("A")), (0.5, error), end="error")
    assert (seen.error, seen.end, seen.text, seen.done_us) == (
        "Context size has been exceeded.",
        "error",
        "A",
        None,
    )


def test_broken_bytes_become_an_error_and_keep_what_came_before() -> None:
    seen = read((0.4, token("A")), (0.5, b"data: {nonsense\n\n"), (0.6, token("B")), end="error")
    assert (seen.text, seen.ttft_us) == ("A", 400_000)
    assert seen.error


def test_a_done_without_its_blank_line_counts() -> None:
    assert read((0.4, token("A")), (0.5, b"data: [DONE]")).done_us == 500_000
    assert read((0.4, token("A")), (0.5, b"data: [DO")).done_us is None


def test_figures_survive_json() -> None:
    seen = read(*A8)
    assert Figures.from_json(seen.to_json()) == seen
