"""Tokens for forms: cut as the driver's server will cut them, and never waited for twice."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.core.cache import cache

from labs import tokens
from labs.models import Endpoint
from tests.llama.byte_server import ByteServer, Peer, answer

MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def up(server: ByteServer) -> None:
    Endpoint.objects.create(name="here", base_url=server.url, state=Endpoint.State.UP)


@pytest.mark.django_db
def test_a_prompt_is_cut_as_the_driver_cuts_it_and_remembered() -> None:
    bodies: list[dict[str, object]] = []

    def say(peer: Peer) -> None:
        bodies.append(json.loads(peer.request.partition(b"\r\n\r\n")[2]))
        tokenized = {"tokens": [{"id": 1, "piece": "<s>"}, {"id": 7, "piece": [255]}]}
        said = {"prompt": "<s>hi"} if peer.path == "/apply-template" else tokenized
        peer.send(answer("200 OK", json.dumps(said).encode()))

    with ByteServer(say) as server:
        up(server)
        for _ in range(2):
            assert tokens.pieces(MESSAGES, tokens.usable_endpoint()) == [
                {"id": 1, "text": "<s>"},
                {"id": 7, "text": "‹FF›"},
            ]
    assert bodies == [{"messages": MESSAGES}, {"content": "<s>hi", "add_special": True, "with_pieces": True}]


@pytest.mark.django_db
def test_a_server_that_does_not_answer_is_asked_once() -> None:
    asked: list[str] = []
    with ByteServer(lambda peer: asked.append(peer.path)) as server:
        up(server)
        here = tokens.usable_endpoint()
        assert [tokens.count(MESSAGES, here), tokens.count([*MESSAGES, *MESSAGES], here)] == [None, None]
    assert asked == ["/apply-template"]
