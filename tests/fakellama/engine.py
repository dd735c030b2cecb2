"""The main loop: slots, queue, prefix cache and passes through a model that is only a clock (measuring.md 2)."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from tests.fakellama.faults import Faults
from tests.fakellama.log import Log
from tests.fakellama.settings import Settings
from tests.fakellama.tasks import Counters, Slot, Task
from tests.fakellama.tokens import EOS_ID, common_prefix

LATE_S = 0.02  # a pass that ended this late is not made up for by shorter ones
SIMILAR = 0.1  # of an unpinned prompt, to prefer the slot that holds it
HOST_PROMPTS = 64


class Engine:
    def __init__(self, settings: Settings, faults: Faults, log: Log) -> None:
        self.settings = settings
        self.faults = faults
        self.log = log
        self.slots = [Slot(number, settings.n_ctx) for number in range(settings.slots)]
        self.counters = Counters()
        self.queue: deque[Task] = deque()
        self.told_s = 0.0  # when it last told anybody anything: every waiting request begins its second anew
        self.thawed = asyncio.Event()
        self.thawed.set()
        self._host: deque[list[int]] = deque(maxlen=HOST_PROMPTS)
        self._next_id = 0
        self._work = asyncio.Event()
        self._when_free: dict[int, list[Callable[[], None]]] = {}

    def new_id(self) -> int:
        """One number for everything that passes through the loop, passes included."""
        self._next_id += 1
        return self._next_id

    def told(self) -> None:
        self.told_s = time.perf_counter()

    def post(self, task: Task) -> None:
        self.queue.append(task)
        self._work.set()

    def cancel(self, task: Task) -> None:
        """Takes effect before the next pass, as everything that is asked of the loop."""
        if not task.cancelled:
            task.cancelled = True
            self.log.cancel(task)
            self._work.set()

    def when_free(self, slot: Slot, call: Callable[[], None]) -> None:
        if slot.task is None:
            call()
        else:
            self._when_free.setdefault(slot.id, []).append(call)

    async def run(self) -> None:
        due_s = time.perf_counter()
        while True:
            await self.thawed.wait()
            self._drop_cancelled()
            self._admit()
            batch = self._batch()
            if not batch:
                self._work.clear()
                await self._work.wait()
                due_s = time.perf_counter()
                continue
            started_s = time.perf_counter()
            due_s = started_s if started_s - due_s > LATE_S else due_s
            due_s += self.settings.step_s(sum(batch.values()), writes=0 in batch.values())
            await asyncio.sleep(due_s - started_s)
            await self.thawed.wait()
            self._passed(batch)

    def _drop_cancelled(self) -> None:
        for task in [task for task in self.queue if task.cancelled]:
            self.queue.remove(task)
        for slot in self.slots:
            if slot.task is not None and slot.task.cancelled:
                self._release(slot)

    def _admit(self) -> None:
        for task in list(self.queue):
            slot = self._slot_for(task)
            if slot is not None:
                self.queue.remove(task)
                self._launch(slot, task)

    def _slot_for(self, task: Task) -> Slot | None:
        """The slot that is asked for, and no other; else the one that holds most of the prompt, else the one that
        has rested longest."""
        if task.id_slot >= 0:
            slot = self.slots[task.id_slot % len(self.slots)]
            return slot if slot.task is None else None
        free = [slot for slot in self.slots if slot.task is None]
        if not free:
            return None
        best = max(free, key=lambda slot: slot.shared(task.prompt))
        if best.shared(task.prompt) > SIMILAR * len(task.prompt):
            return best
        return min(free, key=lambda slot: slot.used_s)

    def _launch(self, slot: Slot, task: Task) -> None:
        self.log.launch(slot, task)
        slot.id_task, slot.params = task.id, task.params
        n, n_ctx = len(task.prompt), slot.n_ctx
        if n >= n_ctx:
            message = (
                f"request ({n} tokens) exceeds the available context size ({n_ctx} tokens), try increasing it"
            )
            self.log.release(slot, task)
            error = {"code": 400, "message": message, "type": "exceed_context_size_error"}
            task.listener.refused(task, error | {"n_prompt_tokens": n, "n_ctx": n_ctx})
            return
        if self.settings.cache_ram_mib or self.faults.has("host_cache"):
            self._bring_back(slot, task)
        task.cache_n = slot.shared(task.prompt) if task.cache else 0
        del slot.held[task.cache_n :]
        slot.task, slot.was_cut = task, False
        task.began_s = time.perf_counter()
        self.counters.cached += task.cache_n
        task.listener.begun(task)

    def _bring_back(self, slot: Slot, task: Task) -> None:
        """The host's cache: what left a slot may return to any. A pinned, emptied slot does not look there."""
        if not slot.held:
            if task.id_slot >= 0:
                return
        elif slot.held not in self._host:
            self._host.append(list(slot.held))
        best = max(self._host, key=lambda held: common_prefix(held, task.prompt), default=[])
        if common_prefix(best, task.prompt) > common_prefix(slot.held, task.prompt):
            slot.held = list(best)

    def _batch(self) -> dict[Slot, int]:
        """How many prompt tokens of each slot go into the next pass; 0 is one token of an answer."""
        room = self.settings.batch
        found: dict[Slot, int] = {}
        for slot in self.slots:
            task = slot.task
            if task is None:
                continue
            if task.predicted:
                slot.held.append(task.last_id)
                found[slot] = 0
            elif take := min(task.left, room):
                room -= take
                done = len(slot.held)
                slot.held += task.prompt[done : done + take]
                found[slot] = take
        return found

    def _passed(self, batch: dict[Slot, int]) -> None:
        now_s = time.perf_counter()
        self.new_id()
        counters = self.counters
        counters.passes += 1
        counters.busy_slots += len(batch)
        for slot, taken in batch.items():
            task = slot.task
            assert task is not None
            counters.longest = max(counters.longest, len(slot.held))
            if taken:
                task.processed += taken
                task.prompt_ms = (now_s - task.began_s) * 1000
                task.listener.read(task)
                if task.left or task.cancelled:
                    continue
                counters.prompt += task.processed
                counters.prompt_ms += task.prompt_ms
                task.first_s = now_s
            self._sample(slot, task, now_s)

    def _sample(self, slot: Slot, task: Task, now_s: float) -> None:
        task.last_id, piece = next(task.answer)
        task.predicted += 1
        task.last_s = now_s
        ends = task.last_id == EOS_ID
        task.listener.wrote(task, b"" if ends else piece)
        if task.cancelled:
            return
        is_full = len(slot.held) + 1 >= slot.n_ctx
        if ends or 0 <= task.max_tokens <= task.predicted or is_full:
            task.listener.ended(task, "stop" if ends else "length")
            self._release(slot)

    def _release(self, slot: Slot) -> None:
        task = slot.task
        assert task is not None
        if not task.predicted:
            self.counters.prompt += task.processed
            self.counters.prompt_ms += task.prompt_ms
        self.counters.predicted += task.predicted
        self.counters.predicted_ms += (task.last_s - task.first_s) * 1000
        self.log.release(slot, task)
        slot.was_cut = task.cancelled and task.predicted > 0
        slot.task, slot.used_s = None, time.perf_counter()
        for call in self._when_free.pop(slot.id, []):
            call()
