"""Reading whole answers, and turning HTTP errors into ours."""

from collections.abc import Iterable

import httpx

from labs.llama.errors import (
    BadFrame,
    LlamaError,
    Loading,
    NotSupported,
    Rejected,
    Unauthorised,
)
from labs.llama.wire import ServerError, parse_error, parse_object

MAX_BODY_BYTES = 8 * 1024 * 1024


def read_body(response: httpx.Response, pieces: Iterable[bytes]) -> bytes:
    """The whole body; BadFrame where it is longer than MAX_BODY_BYTES."""
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > MAX_BODY_BYTES:
            response.close()
            raise BadFrame(f"the answer is longer than {MAX_BODY_BYTES} bytes")
    return bytes(body)


def error_of(response: httpx.Response, body: bytes) -> LlamaError:
    """The error for an answer that is not the one expected. Only llama-server's own error text is quoted:
    a stranger's page is never echoed."""
    status = response.status_code
    if status == 200:
        return BadFrame("the answer is not an event stream")
    if response.is_redirect:
        return Rejected(status, "redirect", "the address redirects, and redirects are not followed")
    error = _server_error(body)
    kind: type[Rejected] = Rejected
    if status in (401, 403):
        kind = Unauthorised
    elif status in (404, 405, 501):
        kind = NotSupported
    elif status == 503 and is_loading(body):
        kind = Loading
    return kind(
        status,
        error.kind,
        error.message,
        n_prompt_tokens=error.n_prompt_tokens,
        n_ctx=error.n_ctx,
    )


def is_loading(body: bytes) -> bool:
    """Both shapes: `{"error": {"message": "Loading model"}}` and the older `{"status": "loading model"}`."""
    try:
        obj = parse_object(body)
    except BadFrame:
        return False
    error = parse_error(obj)
    said = error.message if error is not None else str(obj.get("status", ""))
    return "loading" in said.lower()


def _server_error(body: bytes) -> ServerError:
    try:
        return parse_error(parse_object(body)) or ServerError(None, "", "")
    except BadFrame:
        return ServerError(None, "", "")
