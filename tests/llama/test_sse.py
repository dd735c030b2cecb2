"""The event-stream decoder on every byte case, and on every way of cutting the bytes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.llama.errors import BadFrame
from labs.llama.sse import MAX_EVENT_BYTES, SseDecoder, SseEvent
from tests.llama.sse_cases import EVENTS, KOREAN, event, token

CASES = pytest.mark.parametrize(("data", "events"), EVENTS.values(), ids=list(EVENTS))


def decode(*chunks: bytes) -> list[tuple[str, str]]:
    decoder = SseDecoder()
    return [(found.event, found.data) for chunk in chunks for found in decoder.feed(chunk)]


@CASES
def test_whole(data: bytes, events: list[tuple[str, str]]) -> None:
    assert decode(data) == events


@CASES
def test_byte_by_byte(data: bytes, events: list[tuple[str, str]]) -> None:
    assert decode(*(data[i : i + 1] for i in range(len(data)))) == events


@CASES
def test_cut_in_two_anywhere(data: bytes, events: list[tuple[str, str]]) -> None:
    for cut in range(len(data) + 1):
        assert decode(data[:cut], b"", data[cut:]) == events, cut


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8")), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 200), max_size=12),
    st.booleans(),
)
def test_any_text_any_line_end_any_cutting(
    texts: list[str], line_end: str, cuts: list[int], with_bom: bool
) -> None:
    data = (b"\xef\xbb\xbf" if with_bom else b"") + b"".join(event(text, line_end) for text in texts)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[a:b] for a, b in itertools.pairwise(places)]
    assert decode(*chunks) == [("message", text) for text in texts]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_dispatched_with_its_blank_line_not_one_event_late(line_end: bytes) -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a" + line_end) == []
    # Of a CRLF the CR is enough: the LF that follows belongs to it and adds nothing.
    assert decoder.feed(line_end[:1]) == [SseEvent("message", "a")]
    assert decoder.feed(line_end[1:]) == []


def test_crlf_cut_between_feeds_makes_no_false_blank_line() -> None:
    assert decode(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [("message", "a\nb")]


def test_a_character_cut_inside_the_emoji_stays_whole() -> None:
    data = event(token(KOREAN))
    cut = data.index("😀".encode()) + 2
    assert decode(data[:cut], data[cut:]) == [("message", token(KOREAN))]


def test_pending_is_what_a_blank_line_would_dispatch() -> None:
    decoder = SseDecoder()
    assert decoder.pending is None
    decoder.feed(b"data: [DO")
    assert decoder.pending == SseEvent("message", "[DO")
    decoder.feed(b"NE]\n")
    assert decoder.pending == SseEvent("message", "[DONE]")
    decoder.feed(b"\n")
    assert decoder.pending is None
    decoder.feed(b": comment")
    assert decoder.pending is None


@pytest.mark.parametrize("line", [b"x" * 65536, b"data: " + b"x" * 65530 + b"\n"], ids=["line", "lines"])
def test_an_endless_event_is_refused(line: bytes) -> None:
    decoder = SseDecoder()
    with pytest.raises(BadFrame):
        for _ in range(MAX_EVENT_BYTES // 65536 + 1):
            decoder.feed(line)
