"""A llama-server in integers, for examples: its slots, prefix cache and cancel, healthy or sick in one way.

Grades are never given on it; the tests against the real server check that the two agree.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labs.measure.plan import Ask, Close, Get, Hold, Item, Plan
from labs.measure.prompt_pieces import pack_pieces
from labs.measure.recording import Recording, RunRecord, ServerFacts
from labs.steps.examples.stream import Timing, figures_until, frames_of
from labs.text import Json

HEAD = ("<|im_start|>", "system", "\n")
PIECE = re.compile(r"[0-9]| ?[A-Za-z]+|\s|.")
OFF = {
    "error": {"code": 501, "message": "This server was started without it.", "type": "not_supported_error"}
}
FACTS = ServerFacts(build="example", model="example", n_ctx=4096, slots=2, batch=128, prompt_ms_per_token=4.5)


@dataclass(frozen=True, slots=True)
class ModelServer:
    """One sickness a field; without any it is sane. `us_per_token` are (reading, writing)."""

    us_per_token: tuple[int, int] = (4_500, 9_000)
    reuses: bool = True
    remembers_all: bool = False  # a host cache that brings back prompts nobody in the slot has seen
    notices_close: bool = True
    has_slots: bool = True
    has_metrics: bool = True
    stranger: bool = False
    writes_text: bool = True
    ends_sentences: bool = True
    queues: bool = True  # False: a second ask on a busy slot begins at once
    can_erase: bool = True

    def pieces(self, messages: Sequence[Mapping[str, str]]) -> list[Json]:
        texts: list[str] = []
        for message in messages:
            texts += [
                "<|im_start|>",
                message["role"],
                "\n",
                *PIECE.findall(message["content"]),
                "<|im_end|>",
                "\n",
            ]
        texts += ["<|im_start|>", "assistant", "\n"]
        return [{"id": zlib.crc32(text.encode()) & 0xFFFF, "text": text} for text in texts]

    def run(self, plan: Plan, rng: random.Random) -> RunRecord:
        played = _Play(self, plan, [100_000 + rng.randrange(100_000) for _ in range(plan.lab_line_tokens)])
        for item in plan.items:
            played.take(item)
        return RunRecord(
            recordings=played.recordings,
            server=FACTS,
            lab_line="examplexyz\n",
            lab_line_tokens=plan.lab_line_tokens,
            head_tokens=len(HEAD),
            metrics_agree=(not self.stranger) if self.has_metrics else None,
            foreign_tasks=int(self.stranger and self.has_slots),
        )


SANE = ModelServer()


@dataclass(slots=True)
class _Slot:
    held: tuple[int, ...] = ()
    id_task: int = -1
    n: int = 0
    begins_us: int = 0  # when the first token of the answer is written, on the run's clock
    ends_us: int = 0
    tokens: int = 0


class _Play:
    """One run on the model's own clock."""

    def __init__(self, server: ModelServer, plan: Plan, line: list[int]) -> None:
        self.server, self.plan, self.line = server, plan, line
        self.now_us = 0
        self.tasks = 100
        self.slots = {0: _Slot(), 1: _Slot()}
        self.recordings: dict[str, Recording] = {}

    def take(self, item: Item) -> None:
        if isinstance(item, Ask):
            self.recordings[item.key] = self.ask(item)
        elif isinstance(item, Get):
            self.recordings[item.key] = self.get(item)

    def ask(self, ask: Ask) -> Recording:
        server, slot = self.server, self.slots[ask.slot]
        self.tasks += 1
        tokens = [(piece["id"], piece["text"]) for piece in server.pieces(ask.messages)]
        if ask.lab_line:
            tokens[len(HEAD) : len(HEAD)] = [(number, chr(97 + number % 26)) for number in self.line]
        ids = tuple(number for number, _text in tokens)
        cache_n = self.cached(ask, ids, slot.held)
        self.shut_holder(ask)
        wait_us = 1_000 + (max(slot.ends_us - self.now_us, 0) if server.queues else 0)
        timing = Timing(
            wait_us,
            len(ids),
            cache_n,
            ask.max_tokens,
            server.us_per_token,
            server.writes_text,
            server.ends_sentences,
        )
        recording = Recording(
            key=ask.key,
            kind="ask",
            slot=ask.slot,
            sent_at_us=self.now_us,
            prompt_ids=ids,
            prompt_pieces=pack_pieces(text.encode() for _number, text in tokens),
            id_task=self.tasks if server.has_slots else None,
        )
        sent_us = self.now_us
        self.slots[ask.slot] = _Slot(
            held=ids,
            id_task=self.tasks,
            n=len(ids),
            begins_us=sent_us + timing.first_us,
            ends_us=sent_us + timing.end_us,
            tokens=ask.max_tokens,
        )
        match ask.end:
            case Close(after_ms=after_ms) if after_ms * 1000 < timing.end_us:
                return self.cut(recording, timing, after_ms * 1000)
            case Hold(read=False, stop_after_ms=stop_ms):
                self.now_us += (stop_ms or 0) * 1000
                until_us = (stop_ms or 0) * 1000
                return replace(
                    recording,
                    figures=figures_until(timing, until_us, "held"),
                    frames=frames_of(timing, until_us),
                    samples=(),
                )
            case Hold():
                self.now_us += 20_000
            case _:
                self.now_us += timing.end_us
        return replace(
            recording,
            figures=figures_until(timing, timing.end_us, "done"),
            frames=frames_of(timing, timing.end_us),
        )

    def cached(self, ask: Ask, ids: tuple[int, ...], held: tuple[int, ...]) -> int:
        if not ask.cache:
            return 0
        if self.server.remembers_all:
            return len(ids) - 1
        if not self.server.reuses:
            return 0
        shared = next(
            (i for i, (a, b) in enumerate(zip(ids, held, strict=False)) if a != b), min(len(ids), len(held))
        )
        return min(shared, len(ids) - 1)

    def shut_holder(self, ask: Ask) -> None:
        """An ask that a held one waits for has been sent: the held one's connection is shut a while after that."""
        for held in self.plan.asks:
            if (
                isinstance(held.end, Hold)
                and held.end.until == ask.key
                and held.end.shut_after_ms is not None
            ):
                shut_us = self.now_us + held.end.shut_after_ms * 1000
                before, slot = self.recordings[held.key], self.slots[held.slot]
                self.recordings[held.key] = replace(before, closed_us=shut_us - before.sent_at_us)
                if self.server.notices_close:
                    slot.ends_us = min(slot.ends_us, shut_us + 15_000)

    def cut(self, recording: Recording, timing: Timing, at_us: int) -> Recording:
        slot = self.slots[recording.slot]
        after, idle_us = timing.stopped(at_us)
        deadline_us = at_us + (1_000_000 if at_us > timing.first_us else 2_600_000)
        if not self.server.notices_close:
            after, idle_us = timing.n + timing.max_tokens, timing.end_us
        slot.ends_us = recording.sent_at_us + idle_us
        self.now_us = max(slot.ends_us, self.now_us + at_us)
        seen_idle = self.server.has_slots and idle_us <= deadline_us
        return replace(
            recording,
            figures=figures_until(timing, at_us, "cut"),
            frames=frames_of(timing, at_us),
            closed_us=at_us,
            deadline_us=deadline_us,
            idle_us=idle_us if seen_idle else None,
            prompt_tokens_after=after if seen_idle else None,
            samples=timing.samples(idle_us, recording.id_task) if self.server.has_slots else (),
        )

    def get(self, get: Get) -> Recording:
        if get.until_idle is not None:
            self.now_us = max(self.now_us, self.slots[get.until_idle].ends_us)
        self.now_us += 2_000
        if get.what == "tokens":
            ids = tuple(piece["id"] for piece in self.server.pieces(get.messages))
            return Recording(key=get.key, kind="get", sent_at_us=self.now_us, prompt_ids=ids)
        said = self.answer(get)
        idle_us = 2_000 if get.until_idle is not None and said is not None else None
        body = json.dumps(OFF if said is None else said)
        return Recording(key=get.key, kind="get", sent_at_us=self.now_us, idle_us=idle_us, body=body)

    def answer(self, get: Get) -> Any:
        """What the server says; None where it was started without that."""
        server = self.server
        match get.what:
            case "health":
                return {"status": "ok"}
            case "props":
                return {"default_generation_settings": {"n_ctx": FACTS.n_ctx}, "total_slots": len(self.slots)}
            case "slots" if server.has_slots:
                return [self.row(number, slot) for number, slot in self.slots.items()]
            case "erase" if server.can_erase:
                slot = self.slots[get.slot]
                erased, slot.held = len(slot.held), ()
                return {"id_slot": get.slot, "n_erased": erased}
        return None

    def row(self, number: int, slot: _Slot) -> Json:
        reached_us = min(self.now_us, slot.ends_us)
        written = min(max(reached_us - slot.begins_us, 0) // self.server.us_per_token[1], slot.tokens)
        return {
            "id": number,
            "n_ctx": FACTS.n_ctx,
            "is_processing": self.now_us < slot.ends_us,
            "id_task": slot.id_task,
            "n_prompt_tokens": slot.n + written,
        }
