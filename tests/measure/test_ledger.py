"""The books: what `/metrics` grew by against what our asks cost, with the numbers of measuring.md 6."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from labs.measure.ledger import agrees, cost
from labs.measure.recording import Figures, Recording


@dataclass(frozen=True)
class Counters:
    prompt_tokens: int
    cached_tokens: int


DONE = Recording(
    "done",
    "ask",
    prompt_ids=tuple(range(203)),
    figures=Figures(end="done", cache_n=24, prompt_n=179, predicted_n=4),
)
DECODE = Recording(
    "decode",
    "ask",
    prompt_ids=tuple(range(34)),
    figures=Figures(end="cut", cache_n=24, prompt_n=10, predicted_n=52, progress_cache=24),
    prompt_tokens_after=86,
)
PREFILL = Recording(
    "prefill",
    "ask",
    prompt_ids=tuple(range(329)),
    figures=Figures(end="cut", progress_cache=24, progress_processed=24),
    prompt_tokens_after=152,
)
QUEUED = Recording("queued", "ask", prompt_ids=tuple(range(50)), figures=Figures(end="cut"))
REJECTED = Recording("rejected", "ask", prompt_ids=tuple(range(50)), figures=Figures(end="rejected"))


def test_costs() -> None:
    assert cost(DONE) == ((179, 179), (24, 24))
    assert cost(DECODE) == ((10, 10), (24, 24))
    assert cost(PREFILL) == ((128, 128), (24, 24))
    assert cost(replace(PREFILL, prompt_tokens_after=340)) == ((305, 305), (24, 24)), "it wrote unread"
    assert cost(replace(PREFILL, prompt_tokens_after=None)) == ((0, 305), (24, 24))
    assert cost(QUEUED) == ((0, 50), (0, 50))
    assert cost(REJECTED) == ((0, 0), (0, 0))


@pytest.mark.parametrize(
    ("asks", "prompt", "cached", "verdict"),
    [
        ([DONE, DECODE, PREFILL, REJECTED], 179 + 10 + 128, 72, True),
        ([DONE, DECODE, PREFILL], 179 + 10 + 128 + 31, 72, False),  # a stranger's prompt
        ([DONE], 179, 24 + 5, False),  # a stranger's cached prompt
        ([DONE], 178, 24, False),
        ([DONE, QUEUED], 179 + 20, 24, None),  # cannot tell
        ([DONE, QUEUED], 179 + 51, 24, False),  # more than it can have cost
        ([], 0, 0, True),
    ],
)
def test_agreement(asks: list[Recording], prompt: int, cached: int, verdict: bool | None) -> None:
    before = Counters(1000, 500)
    assert agrees(before, Counters(1000 + prompt, 500 + cached), asks) is verdict


def test_without_metrics_nobody_can_tell() -> None:
    assert agrees(None, Counters(1, 1), [DONE]) is None
    assert agrees(Counters(1, 1), None, [DONE]) is None
