"""Recordings for the rules' tests, in the integers that the rules read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from labs.measure.recording import Figures, Recording, RunRecord, ServerFacts, SlotSample

FACTS = ServerFacts(n_ctx=4096, slots=2, batch=128, prompt_ms_per_token=4.5)


def ids(*runs: tuple[int, int]) -> tuple[int, ...]:
    """Token ids from (start, count) pairs."""
    return tuple(i for start, count in runs for i in range(start, start + count))


def ended(
    key: str, prompt: Sequence[int], cache_n: int, *, prompt_n: int | None = None, slot: int = 0
) -> Recording:
    """An ask that ended by itself after four tokens."""
    return Recording(
        key=key,
        kind="ask",
        slot=slot,
        prompt_ids=tuple(prompt),
        id_task=7,
        figures=Figures(
            end="done",
            text="x",
            headers_us=1_000,
            role_us=2_000,
            first_generated_us=500_000,
            first_token_us=500_000,
            timings_final=True,
            cache_n=cache_n,
            prompt_n=len(prompt) - cache_n if prompt_n is None else prompt_n,
            prompt_ms=495.0,
            predicted_n=4,
        ),
    )


def cut(key: str = "cut", **figures: Any) -> Recording:
    """A 40-token prompt of 200 allowed tokens, closed at 0.5 s while the 40th token was written, free 20 ms later."""
    seen = {"first_generated_us": 180_000, "first_token_us": 180_000, "predicted_n": 39, **figures}
    return Recording(
        key=key,
        kind="ask",
        prompt_ids=ids((0, 40)),
        id_task=7,
        figures=Figures(end="cut", **seen),
        closed_us=500_000,
        deadline_us=1_500_000,
        idle_us=520_000,
        prompt_tokens_after=80,
        samples=(SlotSample(450_000, True, 7, 75), SlotSample(520_000, False, 7, 80)),
    )


def cut_in_prefill(**changes: Any) -> Recording:
    """300 tokens, closed when nothing had come yet."""
    recording = replace(
        cut(first_generated_us=None, first_token_us=None, predicted_n=None),
        prompt_ids=ids((0, 300)),
        idle_us=1_100_000,
        deadline_us=None,
        prompt_tokens_after=256,
    )
    return replace(recording, **changes)


def slots(key: str, **row: Any) -> Recording:
    rows = [{"id": 0, "is_processing": True, "id_task": 7, "n_prompt_tokens": 90, **row}, {"id": 1}]
    return Recording(key=key, kind="get", body=json.dumps(rows))


def run_of(*recordings: Recording, **facts: Any) -> RunRecord:
    known: dict[str, Any] = {"metrics_agree": True, "head_tokens": 3, "lab_line_tokens": 6, **facts}
    return RunRecord(recordings={r.key: r for r in recordings}, server=FACTS, **known)
