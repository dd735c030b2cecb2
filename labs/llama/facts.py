"""What llama-server says about itself: slots, properties, metrics, health, tokens (measuring.md 2.5)."""

from dataclasses import dataclass
from typing import Any, Literal

from labs.llama.errors import BadFrame
from labs.llama.wire import as_int

HealthState = Literal["ok", "loading", "not_llama_server", "unhealthy", "down"]


@dataclass(frozen=True, slots=True)
class Health:
    """`detail` is a short code for the log: `timeout`, `refused`, `http 500`, `unauthorised`, ..."""

    state: HealthState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """One sequence of the server. The optional counters exist only once the slot ran a task; on release
    `n_decoded` and `n_prompt_tokens_processed` fall to 0, `id_task` and `n_prompt_tokens` stay."""

    id: int
    n_ctx: int
    is_processing: bool
    id_task: int | None = None
    n_prompt_tokens: int | None = None
    n_prompt_tokens_processed: int | None = None
    n_decoded: int | None = None


@dataclass(frozen=True, slots=True)
class Props:
    """`n_ctx` is one slot's share of the context in tokens; `raw` is the whole answer."""

    build: str
    model_path: str
    total_slots: int
    n_ctx: int
    chat_template: str
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counters since the server started. `prompt_tokens` were computed, `cached_tokens` reused."""

    prompt_tokens: int
    cached_tokens: int
    predicted_tokens: int
    requests_processing: int
    requests_deferred: int


@dataclass(frozen=True, slots=True)
class Token:
    """A token id and its bytes, which need not be whole characters."""

    id: int
    piece: bytes


def parse_slot(obj: object) -> Slot:
    """A row of `/slots`. `next_token` is a one-element list here and an object in older builds."""
    if not isinstance(obj, dict):
        raise BadFrame("a slot is not an object")
    slot_id = as_int(obj.get("id"))
    busy = obj.get("is_processing")
    if slot_id is None or not isinstance(busy, bool):
        raise BadFrame("a slot without id or is_processing")
    next_token = obj.get("next_token")
    if isinstance(next_token, list):
        next_token = next_token[0] if next_token else None
    task = as_int(obj.get("id_task"))
    return Slot(
        id=slot_id,
        n_ctx=as_int(obj.get("n_ctx")) or 0,
        is_processing=busy,
        id_task=task if task is not None and task >= 0 else None,
        n_prompt_tokens=as_int(obj.get("n_prompt_tokens")),
        n_prompt_tokens_processed=as_int(obj.get("n_prompt_tokens_processed")),
        n_decoded=as_int(next_token.get("n_decoded")) if isinstance(next_token, dict) else None,
    )


def parse_props(obj: dict[str, Any]) -> Props:
    settings = obj.get("default_generation_settings")
    n_ctx = as_int(settings.get("n_ctx")) if isinstance(settings, dict) else None
    slots = as_int(obj.get("total_slots"))
    if n_ctx is None or slots is None:
        raise BadFrame("not the properties of a llama-server")
    return Props(
        build=str(obj.get("build_info") or ""),
        model_path=str(obj.get("model_path") or ""),
        total_slots=slots,
        n_ctx=n_ctx,
        chat_template=str(obj.get("chat_template") or ""),
        raw=obj,
    )


_METRICS = {
    "llamacpp:prompt_tokens_total": "prompt_tokens",
    "llamacpp:prompt_tokens_cached_total": "cached_tokens",
    "llamacpp:tokens_predicted_total": "predicted_tokens",
    "llamacpp:requests_processing": "requests_processing",
    "llamacpp:requests_deferred": "requests_deferred",
}


def parse_metrics(text: str) -> Metrics:
    """Prometheus text to counters. Raises BadFrame where one of them is missing."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        field = _METRICS.get(name.partition("{")[0])
        if field is None:
            continue
        try:
            found[field] = int(float(value.split()[0]))
        except (ValueError, IndexError, OverflowError) as exc:
            raise BadFrame(f"metric {name} is not a number") from exc
    if missing := set(_METRICS.values()) - found.keys():
        raise BadFrame(f"metrics without {', '.join(sorted(missing))}")
    return Metrics(**found)


def parse_token(obj: object) -> Token:
    """A token of `/tokenize` with pieces: text where it is whole UTF-8, else a list of bytes."""
    if isinstance(obj, dict):
        token_id, piece = as_int(obj.get("id")), obj.get("piece")
        if token_id is not None and isinstance(piece, str):
            return Token(token_id, piece.encode("utf-8", "surrogatepass"))
        if token_id is not None and isinstance(piece, list):
            try:
                return Token(token_id, bytes(piece))
            except (ValueError, TypeError) as exc:
                raise BadFrame("a token piece is not bytes") from exc
    raise BadFrame("not a token with its piece")
