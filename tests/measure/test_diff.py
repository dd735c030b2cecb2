"""The token diff, with prompts cut as byte-level tokenizers cut Korean: a syllable in two or three tokens."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.measure.diff import Box, Diff, boxes, diff
from labs.measure.prompt_pieces import BadPieces, pack_pieces, unpack_pieces
from labs.measure.recording import Figures, Recording, RunRecord

HEAD = [b"<|im_start|>", b"system", b"\n"]


def recording(key: str, pieces: list[bytes], **figures: int) -> Recording:
    ids = tuple(hash(piece) & 0xFFFF for piece in pieces)
    return Recording(
        key, "ask", figures=Figures("done", **figures), prompt_ids=ids, prompt_pieces=pack_pieces(pieces)
    )


def of(before: list[bytes], after: list[bytes], *, line: int = 0) -> Diff:
    run = RunRecord({}, lab_line_tokens=line, head_tokens=len(HEAD))
    found = diff(recording("a", before), recording("b", after), run, lab_line=bool(line), cache=True)
    assert found is not None
    return found


def each(text: str) -> list[bytes]:
    """A token for every byte: the worst case."""
    return [bytes([byte]) for byte in text.encode()]


def test_a_syllable_of_three_tokens_is_one_box() -> None:
    assert list(boxes([b"The", *each("각"), b" x"])) == [
        Box("The", 0, 1, 0),
        Box("각", 1, 3, 0),
        Box(" x", 4, 1, 0),
    ]


def test_a_prefix_that_ends_inside_a_syllable() -> None:
    """각 is EA B0 81 and 간 is EA B0 84: the first two tokens are the same."""
    found = of([b"The ", *each("각")], [b"The ", *each("간")])
    assert found.lcp == 3
    assert found.split == Box("간", 1, 3, 2)
    assert found.before[-1] == Box("각", 1, 3, 2)


def test_a_prefix_that_ends_at_a_character_splits_nothing() -> None:
    found = of([*each("각"), b"a", b"b"], [*each("각"), b"a", b"c"])
    assert (found.lcp, found.split) == (4, None)
    assert [box.shared for box in found.after] == [3, 1, 0]


def test_a_token_that_ends_one_syllable_and_begins_the_next() -> None:
    both = "가나".encode()
    assert list(boxes([both[:2], both[2:4], both[4:], b"."], 2)) == [Box("가나", 0, 3, 2), Box(".", 3, 1, 0)]


def test_syllables_of_two_tokens() -> None:
    raw = "한글".encode()
    assert [box.text for box in boxes([raw[:1], raw[1:3], raw[3:5], raw[5:]])] == ["한", "글"]


def test_broken_bytes_are_shown_and_end() -> None:
    assert [box.text for box in boxes([b"a", b"\xea"])] == ["a", "\ufffd"]
    assert [box.text for box in boxes([b"\xff", b"b"])] == ["\ufffd", "b"]


def test_the_lab_line_is_told_apart() -> None:
    found = of([*HEAD, b"x", b"q\n", b"rest"], [*HEAD, b"x", b"q\n", b"end"], line=2)
    assert [box.in_lab_line for box in found.after] == [False, False, False, True, True, False]
    assert not any(box.in_lab_line for box in of([*HEAD, b"x"], [*HEAD, b"y"]).after)


def test_the_same_prompt_again() -> None:
    found = of([*HEAD, b"x"], [*HEAD, b"x"])
    assert found.same
    assert found.expected == (1, 5), "one token at least is computed: L = N - 1 = 3"
    assert not of([*HEAD, b"x"], [*HEAD, b"x", b"y"]).same


def test_an_older_recording_has_no_diff() -> None:
    new = recording("b", [b"a"])
    run = RunRecord({})
    for old in (
        Recording("a", "ask", prompt_ids=(1,)),
        Recording("a", "ask", prompt_ids=(1,), prompt_pieces="!"),
    ):
        assert diff(old, new, run, lab_line=False, cache=True) is None
        assert diff(new, old, run, lab_line=False, cache=True) is None


@given(st.text(max_size=40), st.data())
def test_every_cut_of_a_text_gives_it_back_whole(text: str, data: st.DataObject) -> None:
    raw = text.encode("utf-8", "replace")
    edges = sorted(data.draw(st.sets(st.integers(1, max(len(raw) - 1, 1)))))
    at = [0, *(edge for edge in edges if edge < len(raw)), len(raw)]
    pieces = [raw[a:b] for a, b in pairwise(at) if a < b]
    found = list(boxes(pieces, 3))
    assert "".join(box.text for box in found) == raw.decode()
    assert sum(box.count for box in found) == len(pieces)
    assert sum(box.shared for box in found) == min(3, len(pieces))
    assert unpack_pieces(pack_pieces(pieces)) == tuple(pieces)


@pytest.mark.parametrize("spoilt", ["x", "eJw=", pack_pieces([b"abc"])[:-6], "eJxjAAAAAQAB"])
def test_a_spoilt_text_is_found_out(spoilt: str) -> None:
    with pytest.raises(BadPieces):
        unpack_pieces(spoilt)


def test_a_prompt_is_kept_small() -> None:
    pieces = [b" the", b" harbour", b" opens", b" at", b" nine", b"."] * 70
    assert len(pack_pieces(pieces)) < 1_000
