"""A llama-server of plain Python that misbehaves on demand: for what no real server can be asked to do.

One letter is one token. Slots, prefix cache, counters and task ids follow measuring.md 2; each of them can be
made wrong by a field.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from labs.measure.prefix import common_prefix
from tests.llama.byte_server import END, LIMIT_S, SSE_HEAD, ByteServer, Peer, answer, chunked
from tests.measure.streams import DONE, event, finish, progress, token, usage

HEAD = "<s>"
OFF = answer("501 Not Implemented", b'{"error":{"code":501,"message":"off","type":"not_supported_error"}}')


@dataclass
class ScriptedSlot:
    id: int
    busy: bool = False
    id_task: int = -1
    held: list[int] = field(default_factory=list)
    n_decoded: int = 0
    free: threading.Lock = field(default_factory=threading.Lock)

    def row(self, n_ctx: int) -> dict[str, Any]:
        row: dict[str, Any] = {"id": self.id, "n_ctx": n_ctx, "is_processing": self.busy}
        if self.id_task >= 0:
            row |= {"id_task": self.id_task, "n_prompt_tokens": len(self.held)}
            row["next_token"] = [{"n_decoded": self.n_decoded if self.busy else 0}]
        return row


@dataclass
class ScriptedLlama:
    """`prefill_s` and `token_s` are its speed; `prompt_ms` is what it says of the chat with this number. After a
    close it goes on for `frees_after_s`, or to its natural end where that is None. `misbehave` answers a chat
    instead, with raw bytes. `before_chat` runs first."""

    prefill_s: float = 0.0
    token_s: float = 0.002
    frees_after_s: float | None = 0.0
    has_slots: bool = True
    has_progress: bool = True
    has_metrics: bool = True
    can_erase: bool = True
    n_ctx: int = 4096
    misbehave: Callable[[Peer], None] | None = None
    before_chat: Callable[[int], None] = lambda number: None
    prompt_ms: Callable[[int], float] = lambda number: 1.0
    slots: list[ScriptedSlot] = field(default_factory=lambda: [ScriptedSlot(0), ScriptedSlot(1)])
    prompt_tokens: int = 0
    cached_tokens: int = 0
    chats: list[dict[str, Any]] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    _task: int = 0

    def __enter__(self) -> Self:
        self._server = ByteServer(self._serve)
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.__exit__(kind, exc, trace)

    @property
    def url(self) -> str:
        return self._server.url

    def open_chats(self) -> int:
        """How many chat connections the client still has open."""
        return sum(
            not is_closed(peer.sock)
            for peer in list(self._server.peers)
            if peer.request.startswith(b"POST /v1/chat/completions")  # not yet there: no path to ask for
        )

    def foreign_task(self, slot_id: int, prompt: int = 20) -> None:
        """What a stranger's short request leaves behind."""
        slot = self.slots[slot_id]
        self._task += 1
        slot.id_task, slot.held = self._task, list(range(-prompt, 0))
        self.prompt_tokens += prompt

    def _serve(self, peer: Peer) -> None:
        path = peer.path
        body = json.loads(peer.request.partition(b"\r\n\r\n")[2] or b"{}")
        if path == "/v1/chat/completions":
            self.chats.append(body)
            self.before_chat(len(self.chats))
            (self.misbehave or self._chat)(peer)
            return
        peer.send(self._small(path, body))

    def _small(self, path: str, body: dict[str, Any]) -> bytes:
        match path:
            case "/health":
                found: Any = {"status": "ok"}
            case "/props":
                settings = {"n_ctx": self.n_ctx}
                found = {
                    "default_generation_settings": settings,
                    "total_slots": len(self.slots),
                    "build_info": "scripted",
                    "model_path": "/models/letters.gguf",
                    "chat_template": "letters",
                }
            case "/slots" if self.has_slots:
                found = [slot.row(self.n_ctx) for slot in self.slots]
            case "/metrics" if self.has_metrics:
                return answer("200 OK", self._metrics().encode(), "text/plain")
            case _ if path.endswith("?action=erase") and self.can_erase:
                slot = self.slots[int(path.split("/")[2].partition("?")[0])]
                found = {"id_slot": slot.id, "n_erased": len(slot.held)}
                slot.held = []
            case "/apply-template":
                found = {"prompt": HEAD + "".join(f"<{m['role']}>{m['content']}" for m in body["messages"])}
            case "/tokenize":
                found = {"tokens": [_token(letter, body.get("with_pieces")) for letter in body["content"]]}
            case _:
                return OFF
        return answer("200 OK", json.dumps(found).encode())

    def _metrics(self) -> str:
        values = {
            "prompt_tokens_total": self.prompt_tokens,
            "prompt_tokens_cached_total": self.cached_tokens,
            "tokens_predicted_total": 0,
            "requests_processing": sum(slot.busy for slot in self.slots),
            "requests_deferred": 0,
        }
        return "".join(f"llamacpp:{name} {value}\n" for name, value in values.items())

    def _chat(self, peer: Peer) -> None:
        body = self.chats[-1]
        text = HEAD + "".join(f"<{m['role']}>{m['content']}" for m in body["messages"])
        prompt = [ord(letter) for letter in text]
        slot = self.slots[body["id_slot"]]
        if not slot.free.acquire(timeout=LIMIT_S):
            return
        try:
            self._run(peer, body, prompt, slot)
        finally:
            slot.busy = False
            slot.free.release()

    def _run(self, peer: Peer, body: dict[str, Any], prompt: list[int], slot: ScriptedSlot) -> None:
        shared = min(common_prefix(prompt, slot.held), len(prompt) - 1) if body["cache_prompt"] else 0
        self._task += 1
        slot.id_task, slot.busy, slot.n_decoded, slot.held = self._task, True, 0, prompt[:shared]
        self.cached_tokens += shared
        begun = chunked(event(progress(shared, len(prompt), shared))) if self.has_progress else b""
        peer.send(SSE_HEAD + begun)
        if not self._work(peer, self.prefill_s):
            return
        slot.held = list(prompt)
        self.prompt_tokens += len(prompt) - shared
        counters = {
            "cache_n": shared,
            "prompt_n": len(prompt) - shared,
            "prompt_ms": self.prompt_ms(len(self.chats)),
            "predicted_ms": 1.0,
        }
        for n in range(1, body["max_tokens"] + 1):
            slot.n_decoded = n
            slot.held.append(0)
            timings = {"timings": {**counters, "predicted_n": n}} if body.get("timings_per_token") else {}
            self._send(peer, token("ab "[n % 3], **timings))
            if not self._work(peer, self.token_s):
                return
        counters["predicted_n"] = body["max_tokens"]
        self._send(peer, finish("length"))
        self._send(peer, usage(len(prompt), body["max_tokens"], timings=counters))
        self._send(peer, DONE)
        with contextlib.suppress(OSError):
            peer.send(END)

    def _send(self, peer: Peer, data: Any) -> None:
        with contextlib.suppress(OSError):
            peer.send(chunked(event(data)))

    def _work(self, peer: Peer, seconds: float) -> bool:
        """False once the client has gone and this server cares."""
        until_s = time.monotonic() + seconds
        while True:
            if self.frees_after_s is not None and is_closed(peer.sock):
                self.stopping.wait(self.frees_after_s)
                return False
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return not self.stopping.is_set()
            if self.stopping.wait(min(left_s, 0.01)):
                return False


def is_closed(sock: socket.socket) -> bool:
    """As llama-server looks: pending bytes are life, an end of file is none (measuring.md 2.4)."""
    try:
        ready, _, _ = select.select([sock], [], [], 0)
        return bool(ready) and not sock.recv(1, socket.MSG_PEEK)
    except (OSError, ValueError):
        return True


def _token(letter: str, with_piece: bool | None) -> int | dict[str, Any]:
    return {"id": ord(letter), "piece": letter} if with_piece else ord(letter)
