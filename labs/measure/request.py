"""The body of a chat request (DESIGN 5)."""

from __future__ import annotations

from typing import Any

from labs.measure.plan import Ask
from labs.measure.prepare import Prompt

SEED = 1


def body_of(ask: Ask, prompt: Prompt) -> dict[str, Any]:
    """Pinned to its slot, repeatable, with progress and counters; an ask that may be cut also carries the
    counters on every piece (others where the plan wants it) and never ends before `max_tokens`."""
    body: dict[str, Any] = {
        "messages": prompt.messages,
        "max_tokens": ask.max_tokens,
        "id_slot": ask.slot,
        "cache_prompt": ask.cache,
        "temperature": 0,
        "seed": SEED,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }
    if ask.may_be_cut or ask.count_pieces:
        body["timings_per_token"] = True
    if ask.may_be_cut or ask.ignore_eos:
        body["ignore_eos"] = True
    return body
