"""Tokens for forms: what a prompt looks like to the model at hand, asked of a server that is up and remembered."""

from __future__ import annotations

import hashlib
import json
import logging
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.core.cache import cache

from labs.clients import client_of
from labs.llama.errors import LlamaError, Rejected
from labs.models import Endpoint
from labs.text import Json

log = logging.getLogger(__name__)

Messages = Sequence[Mapping[str, str]]
REMEMBER_S = 3600
# A server that hangs costs one call its limit, and not every prompt of every page.
AWAY_S = 10


def usable_endpoint() -> Endpoint | None:
    return Endpoint.objects.filter(state=Endpoint.State.UP).order_by("pk").first()


def pieces(messages: Messages, endpoint: Endpoint | None) -> list[Json] | None:
    """The templated prompt as [{"id", "text"}], as this `usable_endpoint` cuts it; None when it cannot be asked now.

    A piece that is not whole UTF-8 is written as its bytes in hex.
    """
    kept = _kept(messages, endpoint)
    return None if kept is None else kept.pieces()


def count(messages: Messages, endpoint: Endpoint | None) -> int | None:
    """How many tokens the templated prompt has; None when the server cannot be asked now."""
    kept = _kept(messages, endpoint)
    return None if kept is None else kept.n


class _Kept(NamedTuple):
    """What is remembered of a prompt: `n` tokens, packed, for a class has hundreds of prompts of a thousand tokens."""

    n: int
    packed: bytes

    def pieces(self) -> list[Json]:
        found: list[Json] = json.loads(zlib.decompress(self.packed))
        return found


def _kept(messages: Messages, endpoint: Endpoint | None) -> _Kept | None:
    if endpoint is None:
        return None
    key = _key("pieces", endpoint, messages)
    kept: _Kept | None = cache.get(key)
    if kept is None:
        if cache.get(away := f"tokens:away:{endpoint.pk}"):
            return None
        try:
            with client_of(endpoint) as client:
                text = client.apply_template([dict(m) for m in messages])
                tokens = client.tokenize_pieces(text, add_special=True)  # as the server does with a chat
        except LlamaError as error:
            log.info("no tokens from %s: %s", endpoint, error)
            if not isinstance(error, Rejected):
                cache.set(away, True, AWAY_S)
            return None
        found = [{"id": token.id, "text": _readable(token.piece)} for token in tokens]
        kept = _Kept(len(found), zlib.compress(json.dumps(found).encode()))
        cache.set(key, kept, REMEMBER_S)
    return kept


def most(messages: Messages) -> int:
    """An upper bound without a server: a byte-level tokenizer never makes more tokens than bytes."""
    return sum(len(m["content"].encode()) + len(m["role"]) + 16 for m in messages) + 32


def _readable(piece: bytes) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return "".join(f"‹{byte:02X}›" for byte in piece)


def _key(kind: str, endpoint: Endpoint, messages: Messages) -> str:
    about = [
        kind,
        endpoint.pk,
        endpoint.facts.get("template_hash"),
        endpoint.facts.get("model"),
        list(messages),
    ]
    return "tokens:" + hashlib.sha256(json.dumps(about).encode()).hexdigest()
