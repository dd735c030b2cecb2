"""Twenty students, the real tokenizer, nothing generated: every layout does to the prefix what the grader expects."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.measure.prefix import common_prefix
from labs.steps import blocks
from labs.steps.base import Seen
from labs.steps.cache_break import Guess
from labs.steps.first_token import Predict
from labs.text import Json
from tests.steps.real_server import RealServer

pytestmark = pytest.mark.server

SEEDS = range(20)
LAB_LINE = "qzx vfk wjp hgd\n"


@pytest.fixture
def server(llama_server: EmbeddedServer) -> Iterator[RealServer]:
    with LlamaClient(llama_server.base_url) as client:
        yield RealServer(client)


def challenge_of(seed: int) -> Json:
    return Guess().challenge(random.Random(seed), Seen())


def ids(server: RealServer, order: tuple[str, ...], challenge: Json, clock: str) -> list[int]:
    messages = blocks.Layout(order, challenge["documents"], challenge["question"]).messages(clock)
    messages[0]["content"] = LAB_LINE + messages[0]["content"]
    return [piece["id"] for piece in server.pieces(messages)]


def pair(server: RealServer, order: tuple[str, ...], challenge: Json) -> tuple[int, int]:
    """(N, LCP) of two prompts that differ in the clock."""
    first, second = (ids(server, order, challenge, challenge[name]) for name in ("clock", "other"))
    return len(second), common_prefix(first, second)


def test_a_front_line_leaves_17_of_20_tokens_behind(server: RealServer) -> None:
    for seed in SEEDS:
        n, lcp = pair(server, blocks.PLACES["front"], challenge_of(seed))
        assert n - lcp >= 0.85 * n


def test_the_model_layout_keeps_every_document(server: RealServer) -> None:
    for seed in SEEDS:
        challenge = challenge_of(seed)
        n, lcp = pair(server, blocks.PLACES["between"], challenge)
        rest = blocks.Layout(blocks.PLACES["between"], challenge["documents"], challenge["question"])
        assert not rest.behind_clock
        assert n - lcp <= rest.tail_at_most(challenge["other"])
        assert lcp >= 0.75 * n


def test_a_document_behind_the_clock_is_never_taken_for_a_repair(server: RealServer) -> None:
    order = (blocks.RULE_BLOCK, blocks.FIRST, blocks.CLOCK, blocks.SECOND, blocks.QUESTION)
    for seed in SEEDS:
        challenge = challenge_of(seed)
        n, lcp = pair(server, order, challenge)
        assert blocks.Layout(order, challenge["documents"], challenge["question"]).behind_clock == [
            blocks.SECOND
        ]
        assert n - lcp >= 100


def test_the_sample_picks_the_token_where_the_prompts_part(server: RealServer) -> None:
    for seed in SEEDS:
        challenge = challenge_of(seed)
        layout = blocks.Layout(blocks.PLACES["front"], challenge["documents"], challenge["question"])
        first, second = (server.pieces(layout.messages(challenge[name])) for name in ("clock", "other"))
        pick = Guess().sample(challenge, Seen(), {"front": first})["pick_front"]
        assert pick == common_prefix([p["id"] for p in first], [p["id"] for p in second])


def test_everyone_has_the_same_number_of_tokens(server: RealServer) -> None:
    guesses = [Guess().tokenise(challenge_of(seed))["front"] for seed in SEEDS]
    challenges = [Predict().challenge(random.Random(seed), Seen()) for seed in SEEDS]
    plans = [Predict().plan(c, {"question": c["question"]}, Seen()) for c in challenges]
    for prompts in (guesses, [plan.asks[0].messages for plan in plans]):
        counts = [len(server.pieces(messages)) for messages in prompts]
        assert max(counts) <= 1.02 * min(counts)
