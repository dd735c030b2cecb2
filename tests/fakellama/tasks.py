"""What the engine works on: one request, the slot it runs on, and the counters of all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.fakellama.tokens import common_prefix

Json = dict[str, Any]


class Listener(Protocol):
    """Who asked. Called between two passes; it must only write."""

    def begun(self, task: Task) -> None: ...
    def read(self, task: Task) -> None: ...
    def wrote(self, task: Task, piece: bytes) -> None: ...
    def ended(self, task: Task, finish_reason: str) -> None: ...
    def refused(self, task: Task, error: Json) -> None: ...


@dataclass(eq=False, slots=True)
class Task:
    """`answer` gives (id, bytes) for ever, or until it would end by itself. `max_tokens` below 0 is no limit."""

    id: int
    prompt: list[int]
    answer: Iterator[tuple[int, bytes]]
    listener: Listener
    params: Json
    max_tokens: int = -1
    id_slot: int = -1
    cache: bool = True
    may_cancel: bool = True
    cancelled: bool = False
    cache_n: int = 0
    processed: int = 0
    predicted: int = 0
    last_id: int = 0
    began_s: float = 0.0
    prompt_ms: float = 0.0
    first_s: float = 0.0
    last_s: float = 0.0

    @property
    def left(self) -> int:
        """Prompt tokens still to compute."""
        return len(self.prompt) - self.cache_n - self.processed

    def timings(self) -> Json:
        """As the server counts: the first token is free, and no time is shorter than a microsecond."""
        predicted_ms = max((self.last_s - self.first_s) * 1000, 0.001) if self.predicted else 0.0
        steps = self.predicted - 1
        return {
            "cache_n": self.cache_n,
            "prompt_n": self.processed,
            "prompt_ms": round(self.prompt_ms, 3),
            "prompt_per_token_ms": self.prompt_ms / self.processed if self.processed else 0.0,
            "prompt_per_second": 1000 * self.processed / self.prompt_ms if self.prompt_ms else 0.0,
            "predicted_n": self.predicted,
            "predicted_ms": round(predicted_ms, 3),
            "predicted_per_token_ms": predicted_ms / steps if steps > 0 else 0.0,
            "predicted_per_second": 1000 * steps / predicted_ms if steps > 0 else 0.0,
        }


@dataclass(eq=False, slots=True)
class Slot:
    """`held` are the tokens whose state it keeps, the pass at work included."""

    id: int
    n_ctx: int
    held: list[int] = field(default_factory=list)
    task: Task | None = None
    id_task: int | None = None
    params: Json = field(default_factory=dict)
    used_s: float = 0.0
    was_cut: bool = False

    def shared(self, prompt: list[int]) -> int:
        """How many tokens of a prompt it need not compute: at least one is always computed."""
        return min(common_prefix(prompt, self.held), len(prompt) - 1)

    def row(self) -> Json:
        found: Json = {"id": self.id, "n_ctx": self.n_ctx, "speculative": False}
        found["is_processing"] = self.task is not None
        if self.id_task is None:
            return found
        task = self.task
        written = task.predicted if task else 0
        limit = task.max_tokens if task else -1
        return found | {
            "id_task": self.id_task,
            "n_prompt_tokens": len(self.held),
            "n_prompt_tokens_processed": task.processed if task else 0,
            "n_prompt_tokens_cache": task.cache_n if task else 0,
            "params": self.params,
            "next_token": [
                {
                    "has_next_token": written > 0 if task else self.was_cut,
                    "has_new_line": False,
                    "n_remain": limit - written if task and limit >= 0 else -1,
                    "n_decoded": written,
                }
            ],
        }


@dataclass(slots=True)
class Counters:
    """Since the start; milliseconds and tokens as `/metrics` sums them up."""

    prompt: int = 0
    cached: int = 0
    predicted: int = 0
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0
    passes: int = 0
    busy_slots: int = 0
    longest: int = 0
    started_s: float = field(default_factory=time.time)
