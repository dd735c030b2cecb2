"""Everything that is done before the clock: the lab line, the prompts' tokens, and whether they fit."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labs.llama.client import LlamaClient
from labs.measure.draw import draw_lab_line
from labs.measure.outcome import RunFailed
from labs.measure.plan import Ask, Plan
from labs.measure.prefix import common_prefix
from labs.measure.prompt_pieces import pack_pieces
from labs.measure.recording import ServerFacts

Messages = list[dict[str, Any]]

_NOT_A_LETTER = "0\n"


@dataclass(frozen=True, slots=True)
class Prompt:
    """An ask's messages as they are sent, and the tokens that the server makes of them: ids, and bytes as
    `pack_pieces` packs them."""

    messages: Messages
    ids: tuple[int, ...]
    pieces: str
    text_hash: str


def short_hash(text: str) -> str:
    """Sixteen hex digits of SHA-256: enough to tell two prompts or templates apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_facts(client: LlamaClient, known: ServerFacts) -> ServerFacts:
    """What `/props` says now, over what is known from the fingerprint (batch, speed, threads)."""
    props = client.props()
    return replace(
        known,
        build=props.build,
        model=props.model_path.rpartition("/")[2],
        template_hash=short_hash(props.chat_template),
        n_ctx=props.n_ctx,
        slots=props.total_slots,
    )


def render(client: LlamaClient, messages: Messages) -> Prompt:
    text = client.apply_template(list(messages))
    tokens = client.tokenize_pieces(text, add_special=True)
    ids, pieces = tuple(token.id for token in tokens), pack_pieces(token.piece for token in tokens)
    return Prompt(messages, ids, pieces, short_hash(text))


def with_line(messages: Sequence[Mapping[str, str]], line: str) -> Messages:
    """The messages with the lab line before everything else in the first one."""
    copies = [dict(message) for message in messages]
    copies[0]["content"] = line + copies[0]["content"]
    return copies


def draw_for(client: LlamaClient, plan: Plan, rng: random.Random, unlike: str) -> tuple[str, int | None]:
    """The run's lab line and how many tokens the template puts before it; ("", None) where no ask has one.

    Counted where it stands, in the first ask that has it.
    """
    first = next((ask for ask in plan.asks if ask.lab_line), None)
    if first is None:
        return "", None

    def ids(line: str) -> tuple[int, ...]:
        return tuple(client.prompt_tokens(with_line(first.messages, line)))

    bare = len(ids(""))
    line = draw_lab_line(rng, plan.lab_line_tokens, lambda line: len(ids(line)) - bare, unlike)
    return line, common_prefix(ids(line), ids(_NOT_A_LETTER))


def prepare(client: LlamaClient, plan: Plan, line: str, facts: ServerFacts) -> dict[str, Prompt]:
    """Every ask's prompt by key. Raises RunFailed where one cannot be served as the plan wants it."""
    prompts: dict[str, Prompt] = {}
    for ask in plan.asks:
        if not 0 <= ask.slot < facts.slots:
            # The server would take it modulo its slots, silently (measuring.md 2.3).
            raise RunFailed("rejected_by_server", f"id_slot {ask.slot} of {facts.slots} slots")
        prompt = render(client, with_line(ask.messages, line if ask.lab_line else ""))
        _check_fits(ask, prompt, facts)
        prompts[ask.key] = prompt
    return prompts


def _check_fits(ask: Ask, prompt: Prompt, facts: ServerFacts) -> None:
    n = len(prompt.ids)
    if n + ask.max_tokens > facts.n_ctx:
        raise RunFailed(
            "rejected_by_server",
            f"{ask.key}: {n} prompt tokens + {ask.max_tokens} > {facts.n_ctx} of the slot",
        )
