"""The events of one chat stream as bytes, one HTTP chunk a write. Measured shapes: measuring.md 2.1 and 2.2."""

from __future__ import annotations

import json
import random
import string
import time
from typing import Any

from tests.fakellama.tasks import Json, Task

BUILD = "b0-fake"
DONE = b"data: [DONE]\n\n"
END = b"0\r\n\r\n"
PING = b":\n\n"


def http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def dumps(found: object) -> str:
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def event(found: object) -> bytes:
    return b"data: " + dumps(found).encode("utf-8", "replace") + b"\n\n"


class Frames:
    """`per_token` puts the counters on every piece and every progress event."""

    def __init__(self, model: str, *, per_token: bool, usage: bool) -> None:
        self.id = "chatcmpl-" + "".join(random.choices(string.ascii_letters + string.digits, k=32))
        self.model = model
        self._per_token = per_token
        self._usage = usage

    def role(self) -> bytes:
        return event(self._piece({"role": "assistant", "content": None}))

    def progress(self, task: Task) -> bytes:
        done = task.cache_n + task.processed
        said = {"total": len(task.prompt), "cache": task.cache_n, "processed": done}
        more: Json = {"timings": task.timings()} if self._per_token else {}
        more["prompt_progress"] = {**said, "time_ms": int(task.prompt_ms)}
        return event(self._piece({"role": "assistant", "content": None}, **more))

    def text(self, task: Task, text: str) -> bytes:
        more: Json = {"timings": task.timings()} if self._per_token else {}
        return event(self._piece({"content": text}, **more))

    def last(self, task: Task, finish_reason: str) -> bytes:
        """The final counters are on the usage event where there is one, else beside the finish reason."""
        if not self._usage:
            return event(self._piece({}, finish_reason, timings=task.timings()))
        usage = self._chunk([], usage=usage_of(task), timings=task.timings())
        return event(self._piece({}, finish_reason)) + event(usage)

    def _piece(self, delta: Json, /, finish_reason: str | None = None, **more: Any) -> Json:
        return self._chunk([{"finish_reason": finish_reason, "index": 0, "delta": delta}], **more)

    def _chunk(self, choices: list[Json], **more: Any) -> Json:
        found = {"choices": choices, "created": int(time.time()), "id": self.id, "model": self.model}
        return {**found, "system_fingerprint": BUILD, "object": "chat.completion.chunk", **more}

    def whole(self, task: Task, text: str, finish_reason: str) -> Json:
        """The answer to a request that wants no stream."""
        message = {"role": "assistant", "content": text}
        found: Json = {"choices": [{"finish_reason": finish_reason, "index": 0, "message": message}]}
        found |= {"created": int(time.time()), "model": self.model, "system_fingerprint": BUILD}
        found |= {"object": "chat.completion", "usage": usage_of(task), "id": self.id}
        return {**found, "timings": task.timings()}


def usage_of(task: Task) -> Json:
    n = len(task.prompt)
    return {
        "completion_tokens": task.predicted,
        "prompt_tokens": n,
        "total_tokens": n + task.predicted,
        "prompt_tokens_details": {"cached_tokens": task.cache_n},
    }
