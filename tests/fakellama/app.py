"""One fake server: its addresses, and who may call them."""

from __future__ import annotations

import asyncio
import re

from tests.fakellama import answers, bodies
from tests.fakellama.chat import IN_CHAT, Chat
from tests.fakellama.connection import Answer, Connection, Request, answer, error
from tests.fakellama.engine import Engine
from tests.fakellama.faults import Fault, Faults, faults_of
from tests.fakellama.frames import Frames
from tests.fakellama.log import Log
from tests.fakellama.settings import Settings
from tests.fakellama.stranger import Stranger
from tests.fakellama.tasks import Json, Task
from tests.fakellama.tokens import Vocabulary, render

_OPEN = ("/health", "/v1/health")
_CHAT = ("/v1/chat/completions", "/chat/completions")
_INPUT_TOKENS = "/v1/chat/completions/input_tokens"
_LIMITS = ("max_tokens", "max_completion_tokens", "n_predict")
_SLOT = re.compile(r"/slots/([^/]+)")
_LOADING = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
_NO_KEY = {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}


class App:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.faults = Faults()
        self.words = Vocabulary()
        self.engine = Engine(settings, self.faults, Log(settings.log))

    async def handle(self, request: Request, connection: Connection) -> Answer | None:
        if request.path == "/fake/faults":
            return self._door(request)
        if refusal := self._refusal(request):
            return refusal
        match request.method, request.path:
            case "POST", path if path in _CHAT:
                return await self._chat(request, connection)
            case "POST", _:
                return await self._post(request)
            case "GET", _:
                return await self._get(request)
        return error(404, "File Not Found", "not_found_error")

    def _door(self, request: Request) -> Answer:
        if request.method == "POST":
            try:
                faults = faults_of(request.json())
            except ValueError as exc:
                return error(400, str(exc), "invalid_request_error")
            self.faults.replace(faults)
            if not self.faults.has("wedge"):
                self.engine.thawed.set()
            for fault in faults:
                if fault.kind == "stranger" and fault.how == "now":
                    self._stranger(fault)
        return answer(self.faults.rows())

    def _refusal(self, request: Request) -> Answer | None:
        if loading := self.faults.take("loading").get("loading"):
            said = {"status": "loading model"} if loading.how == "status" else _LOADING
            return answer(said, 503)
        if request.path in _OPEN:
            return None
        given = request.headers.get("authorization", request.headers.get("x-api-key", ""))
        key = self.settings.api_key
        if self.faults.take("unauthorised") or (key is not None and given.removeprefix("Bearer ") != key):
            return answer(_NO_KEY, 401)
        return None

    async def _get(self, request: Request) -> Answer:
        settings, engine = self.settings, self.engine
        match request.path:
            case "/health" | "/v1/health":
                return answer({"status": "ok"})
            case "/props":
                return answer(bodies.props(settings))
            case "/v1/models":
                return answer({"object": "list", "data": [{"id": bodies.MODEL, "object": "model"}]})
            case "/slots":
                if not settings.show_slots or self.faults.take("no_slots"):
                    return _off("slots", "--slots")
                if slow := self.faults.take("slow_slots").get("slow_slots"):
                    await asyncio.sleep(slow.seconds)
                await self._through_the_loop()
                return answer([slot.row() for slot in engine.slots])
            case "/metrics":
                if not settings.show_metrics or self.faults.take("no_metrics"):
                    return _off("metrics", "--metrics")
                await self._through_the_loop()
                started = f"Process-Start-Time-Unix: {int(engine.counters.started_s)}"
                return Answer(200, bodies.metrics(engine).encode(), "text/plain; version=0.0.4", (started,))
        return error(404, "File Not Found", "not_found_error")

    async def _post(self, request: Request) -> Answer:
        try:
            body = request.json() if request.body else {}
        except ValueError as exc:
            return error(400, f"parse error: {exc}", "invalid_request_error")
        slot = _SLOT.fullmatch(request.path)
        if slot is not None:
            return await self._erase(slot[1], request.query)
        match request.path:
            case "/apply-template":
                return answer({"prompt": render(body.get("messages") or [])})
            case "/tokenize":
                return answer({"tokens": self._tokens(body)})
            case "/detokenize":
                return answer({"content": self.words.decode(body.get("tokens") or [])})
            case path if path == _INPUT_TOKENS:
                count = len(self.words.encode(render(body.get("messages") or [])))
                return answer({"input_tokens": count, "object": "response.input_tokens"})
        return error(404, "File Not Found", "not_found_error")

    def _tokens(self, body: Json) -> list[int] | list[Json]:
        ids = self.words.encode(str(body.get("content") or ""))
        if not body.get("with_pieces"):
            return ids
        pieces = [self.words.piece(token_id) for token_id in ids]
        return [
            {"id": number, "piece": piece.decode() if piece.isascii() else list(piece)}
            for number, piece in zip(ids, pieces, strict=True)
        ]

    async def _erase(self, name: str, query: str) -> Answer:
        if not self.settings.can_erase:
            return _off("slots action", "--slot-save-path")
        if not name.isdecimal():
            return error(400, "Invalid slot ID", "invalid_request_error")
        if query != "action=erase":
            return error(400, "Invalid action", "invalid_request_error")
        slot = self.engine.slots[int(name) % len(self.engine.slots)]
        free = asyncio.Event()
        self.engine.when_free(slot, free.set)
        await free.wait()
        await self._through_the_loop()
        erased = len(slot.held)
        slot.held.clear()
        return answer({"id_slot": int(name), "n_erased": erased})

    async def _through_the_loop(self) -> None:
        """As a question that the main loop answers: it has a number, and it waits while the loop stands still."""
        self.engine.new_id()
        await self.engine.thawed.wait()
        self.engine.told()

    async def _chat(self, request: Request, connection: Connection) -> Answer | None:
        try:
            body = request.json()
        except ValueError as exc:
            return error(400, f"parse error: {exc}", "invalid_request_error")
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            return error(400, "'messages' is required", "invalid_request_error")
        faults = self.faults.take(*IN_CHAT, "overflow", "stranger")
        prompt = render(body["messages"])
        ids = self.words.encode(prompt)
        if "overflow" in faults:
            return _overflow(len(ids), self.settings.n_ctx)
        per_token = bool(body.get("timings_per_token"))
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        frames = Frames(bodies.MODEL, per_token=per_token, usage=usage)
        chat = Chat(self.engine, connection, frames, body, faults)
        task = self._task(ids, body, chat, self._said(prompt, faults.get("answer")), request)
        self.engine.post(task)
        await chat.watch(task)
        stranger = faults.get("stranger")
        if stranger is not None and stranger.how != "now":
            self._stranger(stranger)
        return chat.said

    def _said(self, prompt: str, asked: Fault | None) -> str:
        return asked.text if asked is not None else self.settings.answer or answers.text_for(prompt)

    def _task(self, ids: list[int], body: Json, chat: Chat, text: str, request: Request) -> Task:
        limit = next((int(body[name]) for name in _LIMITS if body.get(name) is not None), -1)
        id_slot = body.get("id_slot")
        return Task(
            id=self.engine.new_id(),
            prompt=ids,
            answer=answers.tokens(self.words, text, bool(body.get("ignore_eos"))),
            listener=chat,
            params=bodies.params_of(body, limit),
            max_tokens=limit,
            id_slot=-1 if id_slot is None else int(id_slot),
            cache=bool(body.get("cache_prompt", True)),
            # A stream with a name of its own is kept for whoever asks for it again, so nobody's leaving ends it.
            may_cancel="x-conversation-id" not in request.headers,
        )

    def _stranger(self, fault: Fault) -> None:
        listener = Stranger()
        prompt = self.words.encode("Somebody else asks something. " * fault.tokens)[: fault.tokens]
        answer_tokens = answers.tokens(self.words, "Nobody here hears this.", True)
        limit = max(fault.tokens // 2, 1)
        params = bodies.params_of({}, limit)
        number = self.engine.new_id()
        self.engine.post(Task(number, prompt, answer_tokens, listener, params, limit, id_slot=fault.slot))


def _off(what: str, flag: str) -> Answer:
    said = f"This server does not support {what} endpoint. Start it with `{flag}`"
    return error(501, said.replace("action endpoint", "action"), "not_supported_error")


def _overflow(n: int, n_ctx: int) -> Answer:
    message = f"request ({n} tokens) exceeds the available context size ({n_ctx} tokens), try increasing it"
    said = {"code": 400, "message": message, "type": "exceed_context_size_error"}
    return answer({"error": said | {"n_prompt_tokens": n, "n_ctx": n_ctx}}, 400)
