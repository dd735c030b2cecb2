"""What the events of a stream mean."""

import json

import pytest

from labs.llama.errors import BadFrame
from labs.llama.wire import DONE, Chunk, Progress, ServerError, Timings, Usage, parse_chunk
from tests.llama import sse_cases as case


def delta(**fields: object) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": fields, "finish_reason": None}]})


@pytest.mark.parametrize(
    ("data", "chunk"),
    [
        (case.token(" Hi"), Chunk(content=" Hi")),
        (case.token("\n"), Chunk(content="\n")),
        (case.ROLE_NULL, Chunk(role="assistant")),
        (case.ROLE_EMPTY, Chunk(role="assistant")),
        (case.FINISH, Chunk(finish_reason="stop")),
        (case.PROGRESS, Chunk(role="assistant", progress=Progress(32, 0, 0, 0.0))),
        (case.USAGE, Chunk(usage=Usage(32, 2, 31), timings=Timings(31, 1, 14.8, 2, 9.5))),
        ('{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}', Chunk(usage=Usage(9, 2, None))),
        ('{"choices":[]}', Chunk()),
        (delta(reasoning_content="hm"), Chunk(reasoning="hm")),
        (delta(reasoning="hm"), Chunk(reasoning="hm")),
        (delta(tool_calls=[{"index": 0, "id": "x", "function": {"name": "f"}}]), Chunk(tool=True)),
        (delta(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), Chunk(content="ab")),
        (
            '{"choices":[{"delta":\n{"content":"x"}}]}',
            Chunk(content="x"),
        ),
    ],
)
def test_chunk(data: str, chunk: Chunk) -> None:
    assert parse_chunk(data) == chunk


@pytest.mark.parametrize("data", ["", "  ", "{}", '{"type":"ping"}', '{"error":null}'])
def test_filler_is_nothing(data: str) -> None:
    assert parse_chunk(data) is None


@pytest.mark.parametrize("data", ["[DONE]", " [DONE] ", "[DONE]\n"])
def test_done(data: str) -> None:
    assert parse_chunk(data) is DONE


@pytest.mark.parametrize(
    "data",
    ['{"choices":[', "[1]", '"x"', "null", "DONE", "[" * 100_000, '{"choices":[1]}'],
    ids=lambda d: d[:9],
)
def test_broken(data: str) -> None:
    with pytest.raises(BadFrame):
        parse_chunk(data)


def test_first_visible_is_visible_text_only() -> None:
    assert Chunk(content=" ").is_first_visible
    for chunk in (
        Chunk(role="assistant"),
        Chunk(reasoning="x"),
        Chunk(tool=True),
        Chunk(finish_reason="stop"),
    ):
        assert not chunk.is_first_visible


def test_generated_knows_hidden_text_too() -> None:
    assert all(c.is_generated for c in (Chunk(content="x"), Chunk(reasoning="x"), Chunk(tool=True)))
    assert not Chunk(role="assistant", progress=Progress(1, 0, 1, 0.0)).is_generated


@pytest.mark.parametrize("missing", ["cache_n", "prompt_n", "prompt_ms", "predicted_n", "predicted_ms"])
def test_a_missing_counter_is_not_zero(missing: str) -> None:
    timings = json.loads(case.TIMINGS)
    del timings[missing]
    chunk = parse_chunk(json.dumps({"choices": [], "timings": timings}))
    assert isinstance(chunk, Chunk)
    assert chunk.timings is None


@pytest.mark.parametrize("value", ["true", '"31"', "NaN", "Infinity", "null"])
def test_a_counter_is_a_number(value: str) -> None:
    chunk = parse_chunk('{"choices":[],"timings":' + case.TIMINGS.replace("31", value, 1) + "}")
    assert isinstance(chunk, Chunk)
    assert chunk.timings is None


def test_errors() -> None:
    error = parse_chunk(case.ERROR)
    assert isinstance(error, Chunk)
    assert error.error == ServerError(500, "server_error", "Context size has been exceeded.")
    plain = parse_chunk('{"error":"out of memory"}')
    assert isinstance(plain, Chunk)
    assert plain.error == ServerError(None, "", "out of memory")
    named = parse_chunk('{"message":"no"}', "error")
    assert isinstance(named, Chunk)
    assert named.error == ServerError(None, "", "no")


def test_a_lone_surrogate_becomes_storable_text() -> None:
    chunk = parse_chunk('{"choices":[{"delta":{"content":"a\\ud83d b"}}]}')
    assert isinstance(chunk, Chunk)
    assert chunk.content == "a\ufffd b"
    chunk.content.encode()
