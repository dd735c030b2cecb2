"""'The slot was freed': by counters and /slots, with a control, and never by time alone (cases B1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from labs.grading.freed import not_freed, ran_to_end, read_cut, still_busy
from labs.measure.recording import Recording
from tests.grading.recordings import FACTS, cut, cut_in_prefill, slots

ALLOWED = 200


def fault_of(recording: Recording) -> str:
    fault = not_freed(recording, read_cut(recording, ALLOWED, FACTS))
    return "" if fault is None else str(fault.reason)


def test_freed_in_decode_with_the_work_after_the_cut_in_tokens() -> None:
    read = read_cut(cut(), ALLOWED, FACTS)
    assert (read.phase, read.freed_us, read.limit_us, read.written, read.after_cut) == (
        "decode",
        20_000,
        10**6,
        40,
        1,
    )
    assert fault_of(cut()) == ""


def test_freed_in_prefill_before_any_byte_came() -> None:
    recording = cut_in_prefill()
    read = read_cut(recording, ALLOWED, FACTS)
    assert recording.figures.ttft_us is None
    # Two seconds and one batch of 128 tokens at 4.5 ms (DESIGN 6.6).
    assert (read.phase, read.limit_us, read.written, read.after_cut) == ("prefill", 2_576_000, 0, 256)
    assert fault_of(recording) == ""


def test_work_after_a_cut_in_prefill_counts_from_the_last_progress() -> None:
    recording = cut_in_prefill(
        figures=replace(cut_in_prefill().figures, progress_cache=24, progress_processed=152)
    )
    assert read_cut(recording, ALLOWED, FACTS).after_cut == 256 - 152


def test_freed_late_but_early_in_tokens_is_freed_and_the_figure_is_shown() -> None:
    late = replace(cut(), idle_us=4_500_000, prompt_tokens_after=120)
    read = read_cut(late, ALLOWED, FACTS)
    assert read.freed_us is not None
    assert read.freed_us > read.limit_us
    assert (read.freed_us, read.after_cut) == (4_000_000, 41)
    assert fault_of(late) == ""


@pytest.mark.parametrize(("after", "freed"), [(40 + 197, True), (40 + 198, False), (40 + 200, False)])
def test_a_natural_end_is_no_cancel_however_fast_it_came(after: int, freed: bool) -> None:
    assert (fault_of(replace(cut(), prompt_tokens_after=after)) == "") is freed


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(replace(cut(), idle_us=None, prompt_tokens_after=None), id="never freed"),
        pytest.param(replace(cut(), samples=()), id="no /slots"),
        pytest.param(replace(cut(), prompt_tokens_after=None), id="no count"),
        pytest.param(replace(cut(), prompt_ids=()), id="no tokens"),
        pytest.param(replace(cut(), closed_us=None), id="ended by itself before"),
    ],
)
def test_what_cannot_be_seen_is_a_fault_of_the_run(recording: Recording) -> None:
    assert fault_of(recording)


def test_the_twin_must_be_busy_with_our_task_when_we_look() -> None:
    twin = replace(cut("stall"), closed_us=1_400_000)
    assert still_busy(twin, slots("look")) is None
    assert still_busy(twin, slots("look", is_processing=False)) is not None
    assert still_busy(twin, slots("look", id_task=8)) is not None
    assert still_busy(twin, None) is not None
    assert still_busy(twin, replace(slots("look"), body="not json")) is not None
    assert still_busy(replace(twin, id_task=None), slots("look", id_task=None)) is not None


def test_an_unread_ask_runs_to_its_end() -> None:
    held = replace(cut("break"), figures=replace(cut().figures, end="held"), prompt_tokens_after=40 + 48)
    end = replace(slots("end", is_processing=False, n_prompt_tokens=88), idle_us=500_000)
    assert ran_to_end(held, 48, end) is None
    assert ran_to_end(replace(held, prompt_tokens_after=40 + 20), 48, end) is not None
    assert ran_to_end(replace(held, figures=cut().figures), 48, end) is not None
    assert ran_to_end(held, 48, replace(end, idle_us=None)) is not None
    assert ran_to_end(held, 48, None) is not None


def test_its_end_can_be_read_off_the_look_that_waited_for_it() -> None:
    held = replace(cut("break"), figures=replace(cut().figures, end="held"), prompt_tokens_after=None)
    rows: dict[str, dict[str, Any]] = {
        "ours": {"is_processing": False},
        "busy": {"is_processing": True},
        "another's": {"is_processing": False, "id_task": 9},
    }
    ended = {
        name: ran_to_end(held, 48, replace(slots("end", n_prompt_tokens=88, **row), idle_us=500_000)) is None
        for name, row in rows.items()
    }
    assert ended == {"ours": True, "busy": False, "another's": False}
