"""Is it there, is it ready, is it a llama-server? Health is not readiness: `/health` answers green while
the server's main loop hangs, and many strangers answer it too."""

from typing import TYPE_CHECKING

from labs.llama.answers import error_of, is_loading
from labs.llama.errors import (
    BadFrame,
    LlamaError,
    Loading,
    NotSupported,
    Rejected,
    Unauthorised,
    Unreachable,
)
from labs.llama.facts import Health
from labs.llama.wire import parse_object

if TYPE_CHECKING:
    from labs.llama.client import LlamaClient

HEALTH_LIMIT_S = 2.0
DEEP_LIMIT_S = 20.0


def probe(client: "LlamaClient", *, deep: bool = False) -> Health:
    """`/health`, then `/slots` (which goes through the server's loop), then with `deep` one token."""
    first = _said(client)
    if first is not None:
        return first
    try:
        _identify(client)
        if deep:
            _complete(client)
    except LlamaError as exc:
        return _health_of(exc)
    return Health("ok")


def _said(client: "LlamaClient") -> Health | None:
    """What `/health` itself decides; None for a green that must be looked behind."""
    try:
        response, body = client.exchange("GET", "/health", None, HEALTH_LIMIT_S)
    except BadFrame:
        return Health("not_llama_server", "not http")
    except Unreachable as exc:
        return _health_of(exc)
    if is_loading(body):
        return Health("loading")
    status = response.status_code
    if response.is_redirect:
        return Health("not_llama_server", "redirect")
    if status >= 500 or status in (401, 403):
        return _health_of(error_of(response, body))
    return None if status == 200 and _is_green(body) else Health("not_llama_server", f"http {status}")


def _is_green(body: bytes) -> bool:
    try:
        return parse_object(body).get("status") == "ok"
    except BadFrame:
        return False


def _identify(client: "LlamaClient") -> None:
    try:
        client.slots()
    except NotSupported:
        client.props()  # a server without `--slots` still has its properties


def _complete(client: "LlamaClient") -> None:
    """One token. An error of the 500 kind is tried once more, not for ever."""
    body = {
        "messages": [{"role": "user", "content": "ok"}],
        "max_tokens": 1,
        "cache_prompt": False,
        "temperature": 0,
    }
    try:
        client.post_object("/v1/chat/completions", body, DEEP_LIMIT_S)
    except Rejected as exc:
        if exc.status < 500 or isinstance(exc, Loading | NotSupported):
            raise
        client.post_object("/v1/chat/completions", body, DEEP_LIMIT_S)


def _health_of(exc: LlamaError) -> Health:
    match exc:
        case Unreachable(untrusted=True):
            return Health("down", "certificate")
        case Unreachable():
            return Health("unhealthy", "timeout") if exc.timed_out else Health("down", "unreachable")
        case Unauthorised():
            return Health("unhealthy", "unauthorised")
        case Loading():
            return Health("loading")
        case NotSupported() | BadFrame():
            return Health("not_llama_server", "no slots and no props")
        case Rejected():
            return Health("unhealthy", f"http {exc.status}")
        case _:
            raise exc
