"""Streams as lists of (seconds, event data): what a server would send, without a server."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from labs.measure.recording import Frame

DONE = "[DONE]"
Piece = tuple[float, Any]


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": None, "delta": fields}]}


def token(text: str, **more: Any) -> dict[str, Any]:
    return {**delta(content=text), **more}


def role() -> dict[str, Any]:
    return delta(role="assistant", content=None)


def finish(reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": reason, "delta": {}}]}


def timings(cache_n: int = 0, prompt_n: int = 9, predicted_n: int = 2) -> dict[str, Any]:
    return {
        "cache_n": cache_n,
        "prompt_n": prompt_n,
        "prompt_ms": prompt_n * 4.5,
        "predicted_n": predicted_n,
        "predicted_ms": predicted_n * 9.0,
    }


def progress(processed: int, total: int, cache: int = 0) -> dict[str, Any]:
    return {
        **role(),
        "prompt_progress": {"total": total, "cache": cache, "processed": processed, "time_ms": 1},
    }


def usage(prompt: int = 9, completion: int = 2, **more: Any) -> dict[str, Any]:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    return {"choices": [], "usage": counts, **more}


def event(data: Any) -> bytes:
    """One event's bytes; text is sent as it is."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"data: {text}\n\n".encode()


def frames(*pieces: Piece) -> tuple[Frame, ...]:
    """A frame a piece. Bytes are kept as they are, anything else becomes an event."""
    return tuple(
        Frame(round(at_s * 1e6), data if isinstance(data, bytes) else event(data)) for at_s, data in pieces
    )


def recut(stream: Iterable[Frame], size: int) -> tuple[Frame, ...]:
    """The same bytes in pieces of `size`; each piece keeps the time of the frame its last byte was in."""
    stamped = [(frame.at_us, byte) for frame in stream for byte in frame.data]
    return tuple(
        Frame(part[-1][0], bytes(byte for _, byte in part))
        for part in (stamped[i : i + size] for i in range(0, len(stamped), size))
    )
