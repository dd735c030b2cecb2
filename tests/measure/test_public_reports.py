"""Cases of docs/cases.md that need a stream, a driver and its figures together, with the reports' own inputs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from labs.grading.freed import not_freed, read_cut
from labs.llama.client import LlamaClient
from labs.llama.stream import Limits
from labs.measure import asking, execute
from labs.measure.board import wait_idle
from labs.measure.figures import read_figures
from labs.measure.outcome import Drive
from labs.measure.plan import Ask, Close, Plan
from labs.measure.ranking import board_order, ranks
from labs.measure.recording import Figures
from tests.llama.byte_server import END, SSE_HEAD, Peer, chunked
from tests.measure.driving import FACTS, Event, drive, user
from tests.measure.scripted import ScriptedLlama
from tests.measure.streams import DONE, Piece, delta, event, finish, frames, token, usage

HELLO = "안녕 😀 한글"
ALLOWED = 900


def read(*pieces: Piece) -> Figures:
    return read_figures(frames(*pieces), headers_us=2000, end="done", end_us=4_200_000)


# -- A: streams ------------------------------------------------------------------------------------------------


def inside_the_emoji(data: bytes) -> list[bytes]:
    at = data.index("😀".encode()) + 2
    return [data[:at], data[at:]]


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


@pytest.mark.parametrize("cut", [byte_by_byte, inside_the_emoji])
def test_a2_a_character_cut_by_the_network_is_whole_in_what_is_stored_and_what_is_told(cut: object) -> None:
    """The first-token time is when the event was complete, and not when its first byte came."""
    complete = threading.Event()
    first, *rest = cut(event(token(HELLO)))  # type: ignore[operator]

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD + chunked(first))
        complete.wait(5)
        for piece in rest:
            peer.send(chunked(piece))
        tail = (event(finish()), event(usage(9, 1)), event(DONE))
        peer.send(b"".join(map(chunked, tail)) + END)

    events: list[Event] = []
    pause_s = 0.15
    threading.Timer(pause_s, complete.set).start()
    with ScriptedLlama(misbehave=script) as server:
        record = drive(server.url, Plan((Ask("a", user("Hi"), max_tokens=4),)), events=events).record
    figures = record["a"].figures
    assert (figures.text, figures.pieces) == (HELLO, 1)
    assert figures.ttft_us is not None
    first_byte_us = record["a"].frames[0].at_us
    assert first_byte_us < figures.ttft_us
    assert figures.ttft_us - first_byte_us > 0.5 * pause_s * 1e6
    told = [data for kind, data in events if kind == "tokens"]
    assert [data["text"] for data in told] == [HELLO]
    assert "\ufffd" not in str(record["a"].to_json()) + str(events)


def test_a4_fillers_between_two_tokens_change_no_figure() -> None:
    fillers = [b":\n\n", b": ping - 12\n\n", b'event: ping\ndata: {"type":"ping"}\n\n', b"data:\n\n"]
    end: list[Piece] = [(1.0, usage(9, 2)), (1.1, DONE)]
    with_them = read(
        (0.4, token("A")), *((0.5 + i / 100, f) for i, f in enumerate(fillers)), (0.8, token("B")), *end
    )
    without = read((0.4, token("A")), (0.8, token("B")), *end)
    assert with_them == without
    assert (without.text, without.tokens, without.pieces, without.ttft_us) == ("AB", 2, 2, 400_000)
    assert (without.us_per_token, without.error) == (400_000.0, None)
    early = read(
        *((0.1 + i / 100, f) for i, f in enumerate(fillers)), (0.4, token("A")), (0.8, token("B")), *end
    )
    assert early == without


def test_a5_an_event_of_two_data_lines_and_a_byte_order_mark_in_two_reads() -> None:
    lines = b'data: {"choices":[{"delta":\ndata: {"content":"x"}}]}\n\n'
    marked = event(token("y\ufeff"))
    seen = read((0.1, b"\xef\xbb"), (0.2, b"\xbf" + lines), (0.3, marked), (0.4, DONE))
    assert (seen.text, seen.pieces, seen.ttft_us, seen.error) == ("xy\ufeff", 2, 200_000, None)


@pytest.mark.parametrize(
    ("prefill_s", "token_s", "limits", "reason"),
    [
        (30.0, 0.0, Limits(first_token_s=0.3, idle_s=9, total_s=9), "first_token_timeout"),
        (0.0, 30.0, Limits(first_token_s=9, idle_s=0.3, total_s=9), "idle_timeout"),
    ],
)
def test_a11_after_a_timeout_the_connection_is_closed_and_the_slot_seen_free(
    prefill_s: float, token_s: float, limits: Limits, reason: str
) -> None:
    with ScriptedLlama(prefill_s=prefill_s, token_s=token_s) as server:
        result = drive(server.url, Plan((Ask("a", user("Hi"), max_tokens=4),)), limits=limits)
        with LlamaClient(server.url) as client:
            assert wait_idle(client, 2.0)
        assert server.open_chats() == 0
    assert (result.outcome, result.reason) == ("errored", reason)


# -- B: llama-server -------------------------------------------------------------------------------------------


def cut_on(server: ScriptedLlama, after_ms: int) -> Drive:
    with server:
        return drive(server.url, Plan((Ask("cut", user("Hi"), max_tokens=ALLOWED, end=Close(after_ms)),)))


def test_b1_a_slot_that_falls_free_soon_or_late_is_freed_with_its_time() -> None:
    """Free 0.1 s and 4 s after the close; closed while tokens came, and before the first one."""
    modes = [(phase, free_s) for phase in ("decode", "prefill") for free_s in (0.1, 4.0)]

    def run(mode: tuple[str, float]) -> Drive:
        phase, free_s = mode
        prefill_s = 30.0 if phase == "prefill" else 0.0
        return cut_on(ScriptedLlama(prefill_s=prefill_s, token_s=0.03, frees_after_s=free_s), 100)

    with ThreadPoolExecutor(len(modes)) as threads:
        for (phase, free_s), result in zip(modes, threads.map(run, modes), strict=True):
            recording = result.record["cut"]
            cut = read_cut(recording, ALLOWED, FACTS)
            assert not_freed(recording, cut) is None, (phase, free_s)
            assert cut.phase == phase
            assert cut.freed_us is not None
            assert free_s <= cut.freed_us / 1e6 < free_s + 1
            assert (recording.figures.ttft_us is None) is (phase == "prefill"), "never 0"


def test_b1_a_slot_that_is_never_free_proves_nothing_and_the_looks_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "LATE_S", 0.2)
    monkeypatch.setattr(execute, "QUIET_S", 0.2)
    recording = cut_on(ScriptedLlama(frees_after_s=None, token_s=0.01), 100).record["cut"]
    assert not_freed(recording, read_cut(recording, ALLOWED, FACTS)) is not None


# -- C and F: figures and ranks ---------------------------------------------------------------------------------


def test_c2_the_first_sentence_is_of_visible_text_only() -> None:
    thought = (0.30, delta(reasoning_content="I know. ")), (0.35, delta(reasoning="So it is. "))
    seen = read(*thought, (4.0, token("Yes. ")), (4.1, token("And no.")), (4.2, finish()), (4.2, DONE))
    assert (seen.first_sentence, seen.first_sentence_us) == ("Yes.", 4_000_000)
    silent = read(*thought, (0.4, finish()), (0.4, DONE))
    assert (silent.first_sentence_us, silent.error) == (None, None)


def test_f3_ties_over_the_border_of_a_page_share_a_rank_and_nobody_is_lost() -> None:
    """Seven are faster; five share 0.250 s, one of them by the noise of a float; a page has ten rows."""
    values = [0.1 + n / 100 for n in range(7)] + [0.25, 0.250_000_01, 0.2499996, 0.25, 0.25]
    students = [f"s{n:02}" for n in (3, 11, 0, 7, 5, 9, 1, 2, 10, 4, 8, 6)]
    rows = sorted(zip(students, values, strict=True))  # the stable second key
    times = [value for _student, value in rows]
    order = board_order(times)
    pages = [[rows[row][0] for row in order[at : at + 10]] for at in (0, 10)]
    assert [len(page) for page in pages] == [10, 2]
    assert sorted(pages[0] + pages[1]) == sorted(students), "nobody twice, nobody missing"
    assert pages[0][7:] + pages[1] == ["s02", "s04", "s06", "s08", "s10"], "ties stand by the second key"
    assert [ranks(times)[row] for row in order] == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8]
    assert [board_order(times) for _ in range(3)] == [order] * 3
