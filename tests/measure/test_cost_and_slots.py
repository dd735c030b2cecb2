"""The numbers behind the plots: sizes with their fastest runs, and stays in the slots."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from labs.measure.cost import line_of, sizes
from labs.measure.recording import Figures, Recording, SlotSample
from labs.measure.slots import Look, Stay, looks, stays


def asked(n: int, ttft_ms: float) -> Recording:
    return Recording("a", "ask", figures=Figures("done", prompt_n=n, first_token_us=round(ttft_ms * 1000)))


def test_sizes() -> None:
    found = sizes([asked(160, 700), asked(35, 130), asked(160, 650), asked(35, 127), asked(35, 900)])
    assert [(size.n, size.fastest_ms, size.median_ms) for size in found] == [
        (35, 127, 130),
        (160, 650, 675),
    ]
    assert found[0].times_ms == [130, 127, 900]


def test_an_ask_without_token_or_counter_is_left_out() -> None:
    assert sizes([Recording("a", "ask", figures=Figures("cut", prompt_n=5)), Recording("b", "ask")]) == []


def test_the_line_goes_through_the_fastest_of_the_ends() -> None:
    line = line_of(sizes([asked(100, 500), asked(100, 400), asked(300, 1200), asked(200, 9000)]))
    assert line is not None
    assert (line.slope, line.intercept) == pytest.approx((4.0, 0.0))
    assert line_of(sizes([asked(100, 500)])) is None


CUT = Recording(
    "cut",
    "ask",
    slot=1,
    sent_at_us=1_000_000,
    figures=Figures("cut", headers_us=10_000, end_us=500_000),
    closed_us=500_000,
    idle_us=520_000,
    samples=(SlotSample(450_000, True, 7, 75), SlotSample(520_000, False, 7, 80)),
)


def test_a_stay_ends_when_the_slot_was_seen_free() -> None:
    assert stays([CUT]) == [Stay("cut", 1, 1_010_000, 1_520_000, 1_500_000, True)]


def test_one_never_seen_free_ends_at_the_last_we_know() -> None:
    (stay,) = stays([replace(CUT, idle_us=None, samples=(SlotSample(900_000, True, 7, 90),))])
    assert (stay.left_us, stay.seen_free) == (1_900_000, False)


def test_closing_counts_only_where_it_cut_the_stream() -> None:
    whole = replace(CUT, figures=Figures("done", headers_us=10_000, end_us=700_000), idle_us=None)
    assert stays([whole])[0].closed_us is None


def test_an_ask_that_never_reached_its_slot_stays_nowhere() -> None:
    assert stays([replace(CUT, figures=Figures("cut")), Recording("g", "get")]) == []


def test_looks_of_asks_and_of_gets_in_order() -> None:
    rows = [{"id": 0, "is_processing": True}, {"id": 1, "is_processing": False}, {"id": 2}, "x"]
    get = Recording(
        "look", "get", sent_at_us=1_480_000, figures=Figures("done", end_us=2_000), body=json.dumps(rows)
    )
    assert looks([get, CUT]) == [
        Look(1, 1_450_000, True),
        Look(0, 1_482_000, True),
        Look(1, 1_482_000, False),
        Look(1, 1_520_000, False),
    ]


@pytest.mark.parametrize("body", ["", "{", '{"status": "ok"}', '[{"id": "0", "is_processing": true}]'])
def test_what_is_no_answer_of_slots_is_no_look(body: str) -> None:
    assert looks([Recording("g", "get", body=body)]) == []
