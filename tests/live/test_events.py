from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.live.events import START, EventId, encode, gap_before


@given(st.integers(0, 10**8), st.integers(0, 10**8))
def test_ids_read_back_what_they_print(run: int, seq: int) -> None:
    event_id = EventId(run, seq)
    assert EventId.parse(str(event_id)) == EventId.parse(event_id.redis.encode()) == event_id


@pytest.mark.parametrize(
    "bad", [None, "", "3", "3.", ".3", "-1.2", "3.x", "3.1.2", "٣.١", "1e3.1", "9" * 40 + ".1"]
)
def test_a_bad_id_means_from_the_start(bad: str | None) -> None:
    assert EventId.parse(bad) == START


def test_ids_are_ordered_as_numbers() -> None:
    assert EventId.parse("2.1") > EventId.parse("1.900") > EventId.parse("1.99") > START


@pytest.mark.parametrize(
    ("previous", "event_id", "missing"),
    [
        ("0.0", "1.1", None),
        ("0.0", "3.17", ("3.1", "3.16")),
        ("3.16", "3.17", None),
        ("3.16", "3.40", ("3.17", "3.39")),
        ("3.16", "4.1", None),
        ("3.16", "4.3", ("4.1", "4.2")),
    ],
)
def test_what_is_missing_between_two_events(
    previous: str, event_id: str, missing: tuple[str, str] | None
) -> None:
    gap = gap_before(EventId.parse(previous), EventId.parse(event_id))
    assert (gap and (str(gap.first), str(gap.last))) == missing


@pytest.mark.parametrize(
    ("kind", "data"), [("token", {}), ("tokens", {"id": "1.1"}), ("tokens", {"kind": "x"})]
)
def test_what_is_not_an_event_is_refused(kind: str, data: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="not an event"):
        encode(EventId(1, 1), kind, data)


def test_what_a_browser_cannot_parse_is_refused() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        encode(EventId(1, 1), "tokens", {"rate": float("nan")})


@pytest.mark.parametrize("text", ["안녕 😀", "<script>", "a\ud83d", "\x00\u2028"])
def test_any_text_a_model_writes_travels(text: str) -> None:
    wire = encode(EventId(1, 1), "tokens", {"text": text}).encode()
    assert json.loads(wire) == {"id": "1.1", "kind": "tokens", "text": text}
