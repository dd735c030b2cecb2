"""The client of one llama-server. Build it before any clock starts, and reuse it; it is thread-safe."""

import json
import ssl
import time
from types import TracebackType
from typing import Any, Self

import httpx

from labs.llama.address import normalise_address
from labs.llama.answers import error_of, read_body
from labs.llama.backend import Wire
from labs.llama.errors import BadFrame, NotSupported, Unreachable
from labs.llama.facts import (
    Health,
    Metrics,
    Props,
    Slot,
    Token,
    parse_metrics,
    parse_props,
    parse_slot,
    parse_token,
)
from labs.llama.health import probe
from labs.llama.stream import ChatStream, Limits
from labs.llama.transport import StampedTransport
from labs.llama.wire import as_int, parse_object

GET_LIMIT_S = 2.0  # a healthy server answers these in milliseconds, also in mid-prefill
POST_LIMIT_S = 10.0

Message = dict[str, Any]


class LlamaClient:
    """`base_url` is checked at every connect: link-local and metadata addresses never, local ones only
    with `allow_local`. `ca_pem` are further authorities for its certificate; without `verify_tls` any certificate
    will do. Calls raise Unreachable, Rejected (or its children), BadAddress, BadFrame."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        allow_local: bool = True,
        verify_tls: bool = True,
        ca_pem: str = "",
    ) -> None:
        self.base_url = normalise_address(base_url)
        transport = StampedTransport(allow_local=allow_local, verify_tls=verify_tls, ca_pem=ca_pem)
        if self.base_url.startswith("https:"):
            transport.ssl_context  # noqa: B018  built now, not inside somebody's stopwatch
        headers = {
            "Accept-Encoding": "identity",
            "Connection": "close",
            "User-Agent": "labhub-voice",
        }
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._http = httpx.Client(
            transport=transport,
            headers=headers,
            trust_env=False,
            follow_redirects=False,
        )

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def health(self, *, deep: bool = False) -> Health:
        """Never raises but for BadAddress. `deep` also asks for one token, which costs a slot its cache."""
        return probe(self, deep=deep)

    def props(self) -> Props:
        return parse_props(self.get_object("/props"))

    def slots(self) -> list[Slot]:
        """Raises NotSupported where the server was started with `--no-slots`."""
        status_body = self.get("/slots")
        rows = _json_list(status_body)
        return [parse_slot(row) for row in rows]

    def metrics(self) -> Metrics | None:
        """None where the server was started without `--metrics`."""
        try:
            return parse_metrics(self.get("/metrics").decode("utf-8", "replace"))
        except NotSupported:
            return None

    def tokenize(self, text: str, *, add_special: bool = False) -> list[int]:
        """Token ids; special tokens in the text are read as such."""
        ids = [as_int(item) for item in self._tokens(text, add_special, with_pieces=False)]
        if None in ids:
            raise BadFrame("a token id is not a number")
        return [token_id for token_id in ids if token_id is not None]

    def tokenize_pieces(self, text: str, *, add_special: bool = False) -> list[Token]:
        """The same with each token's bytes."""
        return [parse_token(item) for item in self._tokens(text, add_special, with_pieces=True)]

    def apply_template(self, messages: list[Message]) -> str:
        """The prompt that the server's chat template makes of the messages."""
        prompt = self.post_object("/apply-template", {"messages": messages}).get("prompt")
        if not isinstance(prompt, str):
            raise BadFrame("no prompt in the answer")
        return prompt

    def prompt_tokens(self, messages: list[Message]) -> list[int]:
        """The ids the server will compute for these messages: a chat is tokenised with `add_special`."""
        return self.tokenize(self.apply_template(messages), add_special=True)

    def erase_slot(self, slot_id: int) -> None:
        """Empties a slot's cache. Raises NotSupported without `--slot-save-path`."""
        self.post_object(f"/slots/{slot_id}?action=erase", {})

    def chat(self, body: dict[str, Any], limits: Limits) -> ChatStream:
        """A stream that is opened when entered. The body is encoded here, before its clock starts."""
        content = json.dumps({**body, "stream": True}).encode()
        headers = {"Accept": "text/event-stream", "Content-Type": "application/json"}
        request = self._http.build_request(
            "POST",
            self.base_url + "/v1/chat/completions",
            content=content,
            headers=headers,
        )
        return ChatStream(self._http, request, limits)

    def get(self, path: str, limit_s: float = GET_LIMIT_S) -> bytes:
        """The body of a 200. The limit is for the whole call."""
        return self._call("GET", path, None, limit_s)

    def get_object(self, path: str) -> dict[str, Any]:
        return parse_object(self.get(path))

    def post_object(self, path: str, body: dict[str, Any], limit_s: float = POST_LIMIT_S) -> dict[str, Any]:
        return parse_object(self._call("POST", path, json.dumps(body).encode(), limit_s))

    def _tokens(self, text: str, add_special: bool, *, with_pieces: bool) -> list[object]:
        body = {"content": text, "add_special": add_special, "with_pieces": with_pieces}
        tokens = self.post_object("/tokenize", body).get("tokens")
        if not isinstance(tokens, list):
            raise BadFrame("no tokens in the answer")
        return tokens

    def _call(self, method: str, path: str, content: bytes | None, limit_s: float) -> bytes:
        response, body = self.exchange(method, path, content, limit_s)
        if response.status_code != 200:
            raise error_of(response, body)
        return body

    def exchange(
        self, method: str, path: str, content: bytes | None, limit_s: float
    ) -> tuple[httpx.Response, bytes]:
        """One whole call, whatever its status."""
        deadline_ns = time.perf_counter_ns() + round(limit_s * 1e9)
        wire = Wire(lambda: deadline_ns)
        headers = {"Content-Type": "application/json"} if content is not None else {}
        request = self._http.build_request(
            method,
            self.base_url + path,
            content=content,
            headers=headers,
            extensions={"wire": wire},
        )
        try:
            response = self._http.send(request, stream=True)
            try:
                return response, read_body(response, response.iter_raw())
            finally:
                response.close()
        except httpx.TimeoutException as exc:
            connected = wire.connected_ns is not None
            raise Unreachable(
                "no answer in time" if connected else "no connection",
                timed_out=connected,
            ) from exc
        except httpx.RemoteProtocolError as exc:
            raise BadFrame("the answer is not HTTP") from exc
        except httpx.TransportError as exc:
            raise Unreachable(str(exc) or "no connection", untrusted=is_untrusted(exc)) from exc


def is_untrusted(exc: BaseException) -> bool:
    """Whether what ended the connection was the server's certificate."""
    cause: BaseException | None = exc
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _json_list(body: bytes) -> list[object]:
    try:
        rows = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise BadFrame("not JSON") from exc
    if not isinstance(rows, list):
        raise BadFrame("not a list")
    return rows
