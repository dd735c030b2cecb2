"""The content canary: an answer that was held back on the way, with its headers or behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labs.grading.canaries import CANARIES
from labs.measure.recording import Figures, Recording, RunRecord

WRITES = Figures(
    end="done",
    text="It opens at six.",
    headers_us=1_000,
    first_token_us=600_000,
    last_token_us=800_000,
    predicted_n=20,
    predicted_ms=190.0,
    prompt_n=3,
    cache_n=0,
    timings_final=True,
)


def reason(figures: Figures) -> str:
    recording = Recording("content", "ask", figures=figures, prompt_ids=(1, 2, 3))
    fault = CANARIES["content"].judge(RunRecord({"content": recording}))
    return str(fault.reason) if fault else ""


def test_tokens_that_come_as_they_are_written_are_fine() -> None:
    assert reason(WRITES) == ""


@pytest.mark.parametrize(
    "figures",
    [
        replace(WRITES, first_token_us=799_000),  # all at the end, the headers too
        replace(WRITES, buffered=True),
    ],
)
def test_an_answer_that_waited_on_the_way_is_told(figures: Figures) -> None:
    assert "holds the stream back" in reason(figures)


def test_a_short_answer_proves_nothing_about_its_way() -> None:
    assert reason(replace(WRITES, first_token_us=799_000, predicted_n=2)) == ""


def test_an_answer_without_a_word() -> None:
    assert "without a word" in reason(replace(WRITES, first_token_us=None))
