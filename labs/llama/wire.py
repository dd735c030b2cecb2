"""What llama-server sends in a stream, as types. Shapes: measuring.md 2.1 and 2.2."""

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from labs.llama.errors import BadFrame


class Done(Enum):
    """The `[DONE]` sentinel as a type of its own."""

    DONE = "[DONE]"


DONE: Final = Done.DONE


@dataclass(frozen=True, slots=True)
class Timings:
    """The server's own counters for one ask. `cache_n + prompt_n` is the prompt; ms are wall time there."""

    cache_n: int
    prompt_n: int
    prompt_ms: float
    predicted_n: int
    predicted_ms: float


@dataclass(frozen=True, slots=True)
class Usage:
    """OpenAI's token counts; `cached_tokens` is None on servers that do not tell."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the prompt is read: `processed` counts the `cache` tokens too, `total` is the whole prompt."""

    total: int
    cache: int
    processed: int
    time_ms: float


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error object inside a stream, or in an HTTP error's body."""

    code: int | None
    kind: str
    message: str
    n_prompt_tokens: int | None = None
    n_ctx: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event of a chat stream. `content` is visible text, `reasoning` hidden text, "" where absent."""

    role: str | None = None
    content: str = ""
    reasoning: str = ""
    tool: bool = False
    finish_reason: str | None = None
    timings: Timings | None = None
    usage: Usage | None = None
    progress: Progress | None = None
    error: ServerError | None = None

    @property
    def is_first_visible(self) -> bool:
        """True where this chunk would be the first token if none came before: it has visible text."""
        return self.content != ""

    @property
    def is_generated(self) -> bool:
        """True where the model wrote anything: visible text, reasoning or a tool call."""
        return self.content != "" or self.reasoning != "" or self.tool


def parse_chunk(data: str, event: str = "message") -> Chunk | Done | None:
    """The chunk in an event's data; DONE at the end; None for filler (pings, empty data).

    Raises BadFrame where the data is not a JSON object.
    """
    data = data.strip()
    if data == DONE.value:
        return DONE
    if not data:
        return None
    obj = parse_object(data)
    if event == "error" and "error" not in obj:
        obj = {"error": obj}
    choices = obj.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    if not isinstance(choice, dict):
        raise BadFrame("a choice is not an object")
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        delta = {}
    chunk = Chunk(
        role=_text(delta.get("role")) or None,
        content=_text(delta.get("content")),
        reasoning=_text(delta.get("reasoning_content")) or _text(delta.get("reasoning")),
        tool=bool(delta.get("tool_calls") or delta.get("function_call")),
        finish_reason=_text(choice.get("finish_reason")) or None,
        timings=_timings(obj.get("timings")),
        usage=_usage(obj.get("usage")),
        progress=_progress(obj.get("prompt_progress")),
        error=parse_error(obj),
    )
    return chunk if isinstance(choices, list) or chunk != Chunk() else None


def parse_object(text: str | bytes) -> dict[str, Any]:
    """A JSON object, or BadFrame."""
    try:
        obj = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise BadFrame("not JSON") from exc
    if not isinstance(obj, dict):
        raise BadFrame("not a JSON object")
    return obj


def parse_error(obj: dict[str, Any]) -> ServerError | None:
    """The error object of a body or an event, if there is one."""
    error = obj.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return ServerError(None, "", _text(error)[:500])
    return ServerError(
        code=as_int(error.get("code")),
        kind=_text(error.get("type"))[:100],
        message=_text(error.get("message"))[:500],
        n_prompt_tokens=as_int(error.get("n_prompt_tokens")),
        n_ctx=as_int(error.get("n_ctx")),
    )


def as_int(value: object) -> int | None:
    """An integer as JSON carries it; None for everything else, booleans too."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value)


def _as_float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _text(value: object) -> str:
    """Text, with lone surrogates (legal in JSON, illegal in UTF-8) replaced so that it can be stored."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    if not isinstance(value, str):
        return ""
    if value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _timings(obj: object) -> Timings | None:
    """None unless all counters are there: a missing `cache_n` (builds before 2025) is not a zero."""
    if not isinstance(obj, dict):
        return None
    cache_n, prompt_n = as_int(obj.get("cache_n")), as_int(obj.get("prompt_n"))
    predicted_n = as_int(obj.get("predicted_n"))
    prompt_ms, predicted_ms = (
        _as_float(obj.get("prompt_ms")),
        _as_float(obj.get("predicted_ms")),
    )
    if (
        cache_n is None
        or prompt_n is None
        or predicted_n is None
        or prompt_ms is None
        or predicted_ms is None
    ):
        return None
    return Timings(cache_n, prompt_n, prompt_ms, predicted_n, predicted_ms)


def _usage(obj: object) -> Usage | None:
    if not isinstance(obj, dict):
        return None
    prompt, completion = (
        as_int(obj.get("prompt_tokens")),
        as_int(obj.get("completion_tokens")),
    )
    if prompt is None or completion is None:
        return None
    details = obj.get("prompt_tokens_details")
    cached = as_int(details.get("cached_tokens")) if isinstance(details, dict) else None
    return Usage(prompt, completion, cached)


def _progress(obj: object) -> Progress | None:
    if not isinstance(obj, dict):
        return None
    total, cache, processed = (as_int(obj.get(key)) for key in ("total", "cache", "processed"))
    if total is None or cache is None or processed is None:
        return None
    return Progress(total, cache, processed, _as_float(obj.get("time_ms")) or 0.0)
