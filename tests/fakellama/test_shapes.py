"""Every answer of the fake beside the same answer of the real server: status, headers, keys, kinds and frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from tests.fakellama.process import FakeServer
from tests.fakellama.raw import call, events, metric_names, shape

pytestmark = pytest.mark.server

CHAT = "/v1/chat/completions"
FACE = {"content": "\U0001f600", "with_pieces": True}
HI = [{"role": "user", "content": "Tell me two things."}]
PINNED: dict[str, Any] = {"messages": HI, "id_slot": 0, "temperature": 0, "seed": 1, "ignore_eos": True}
USAGE = {"stream_options": {"include_usage": True}}
PROGRESS = {"return_progress": True}
EACH = {"timings_per_token": True}


@pytest.fixture(scope="module")
def urls(llama_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The real one's and the fake's, with both slots of both emptied and used."""
    with FakeServer(tmp_path_factory.mktemp("fake"), "--scale", "0.1") as fake:
        urls = llama_server.base_url, fake.base_url
        for url in urls:
            with LlamaClient(url) as client:
                for slot in (0, 1):
                    client.erase_slot(slot)
                    call(url, "POST", CHAT, {**PINNED, "id_slot": slot, "max_tokens": 2})
        yield urls


CALLS: list[tuple[str, str, object]] = [
    ("GET", "/health", None),
    ("GET", "/v1/health", None),
    ("GET", "/slots", None),
    ("GET", "/nothing", None),
    ("GET", CHAT, None),
    ("POST", "/apply-template", {"messages": HI}),
    ("POST", "/apply-template", {"messages": []}),
    ("POST", "/tokenize", {"content": "Hi"}),
    ("POST", "/tokenize", {"content": "Hi", "with_pieces": True}),
    ("POST", "/tokenize", {}),
    ("POST", "/detokenize", {"tokens": [1, 2]}),
    ("POST", f"{CHAT}/input_tokens", {"messages": HI}),
    ("POST", "/slots/0?action=erase", {}),
    ("POST", "/slots/9?action=erase", {}),
    ("POST", "/slots/0?action=other", {}),
    ("POST", "/slots/x?action=erase", {}),
    ("POST", CHAT, b"{nope"),
    ("POST", CHAT, {"stream": True}),
    ("POST", CHAT, {**PINNED, "messages": [{"role": "user", "content": "word " * 5000}], "stream": True}),
    ("POST", CHAT, {**PINNED, "max_tokens": 3}),
]


@pytest.mark.parametrize(
    ("method", "path", "body"), CALLS, ids=[f"{m} {p} {i}" for i, (m, p, _) in enumerate(CALLS)]
)
def test_an_answer_has_the_same_shape(urls: tuple[str, str], method: str, path: str, body: object) -> None:
    real, fake = (call(url, method, path, body) for url in urls)
    assert (fake.status, fake.headers, shape(fake.json)) == (real.status, real.headers, shape(real.json))


def test_properties_have_the_same_keys(urls: tuple[str, str]) -> None:
    real, fake = (call(url, "GET", "/props") for url in urls)
    assert (fake.status, fake.headers, shape(fake.json)) == (real.status, real.headers, shape(real.json))
    assert (
        fake.json["default_generation_settings"]["n_ctx"] == real.json["default_generation_settings"]["n_ctx"]
    )


def test_a_part_of_a_character_is_told_in_bytes(urls: tuple[str, str]) -> None:
    for url in urls:
        pieces = [row["piece"] for row in call(url, "POST", "/tokenize", FACE).json["tokens"]]
        assert any(isinstance(piece, list) for piece in pieces)
        whole = b"".join(bytes(piece) if isinstance(piece, list) else piece.encode() for piece in pieces)
        assert whole.decode() == FACE["content"]


def test_a_slot_that_was_never_used_says_less(
    urls: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with FakeServer(tmp_path_factory.mktemp("new")) as new:
        [row, _] = call(new.base_url, "GET", "/slots").json
    assert list(row) == ["id", "n_ctx", "speculative", "is_processing"]


def test_the_counters_have_the_same_names(urls: tuple[str, str]) -> None:
    real, fake = (call(url, "GET", "/metrics") for url in urls)
    assert (fake.headers, metric_names(fake.body.decode())) == (
        real.headers,
        metric_names(real.body.decode()),
    )


STREAMS: dict[str, dict[str, Any]] = {
    "plain": {"max_tokens": 3},
    "usage": {"max_tokens": 3, **USAGE},
    "progress": {"max_tokens": 3, **PROGRESS},
    "all": {"max_tokens": 3, **USAGE, **PROGRESS, **EACH},
    "counted": {"max_tokens": 2, **EACH},
    "one token": {"max_tokens": 1, **USAGE},
    "no token": {"max_tokens": 0},
    "uncached": {"max_tokens": 2, "cache_prompt": False, **PROGRESS},
    "no messages": {"messages": [], "max_tokens": 2},
}


@pytest.mark.parametrize("more", STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_has_the_same_frames_in_the_same_writes(urls: tuple[str, str], more: dict[str, Any]) -> None:
    real, fake = (call(url, "POST", CHAT, {**PINNED, **more, "stream": True}) for url in urls)
    assert (fake.status, fake.headers) == (real.status, real.headers)
    assert [shape(events(chunk)) for chunk in fake.chunks] == [shape(events(chunk)) for chunk in real.chunks]
    assert fake.chunks[-1] == real.chunks[-1] == b"data: [DONE]\n\n"
