"""The driver against a scripted server: what it sends, what it believes, and how it ends."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from labs.llama.stream import Limits
from labs.measure import asking, execute
from labs.measure.control import Control
from labs.measure.plan import Ask, Close, Get, Hold, Note, Plan
from labs.text import Text
from tests.llama.byte_server import SSE_HEAD, Peer, answer, chunked
from tests.measure.driving import Background, Event, drive, user, wait_until
from tests.measure.scripted import ScriptedLlama
from tests.measure.streams import event, progress, token

STORY = "Tell me a story."
LONG = "The harbour has four piers of granite. " * 6


def ask(key: str, text: str = STORY, **more: Any) -> Ask:
    return Ask(key, user(text), **{"max_tokens": 4, **more})


def test_the_request_is_what_the_design_wants() -> None:
    plan = Plan((ask("plain", slot=1, cache=False), ask("cut", lab_line=True, max_tokens=900, end=Close(50))))
    with ScriptedLlama() as server:
        result = drive(server.url, plan)
    plain, cut = server.chats
    assert plain.keys() >= {"id_slot", "cache_prompt", "max_tokens", "messages"}
    assert (plain["id_slot"], plain["cache_prompt"], plain["max_tokens"]) == (1, False, 4)
    assert (plain["temperature"], plain["stream"], plain["return_progress"]) == (0, True, True)
    assert plain["stream_options"] == {"include_usage": True}
    assert isinstance(plain["seed"], int)
    assert not {"ignore_eos", "timings_per_token"} & plain.keys()
    assert (cut["ignore_eos"], cut["timings_per_token"], cut["cache_prompt"]) == (True, True, True)
    assert plain["messages"] == [{"role": "user", "content": STORY}]
    assert cut["messages"][0]["content"] == result.record.lab_line + STORY
    assert result.record.lab_line.endswith("\n")
    assert len(result.record.lab_line) == result.record.lab_line_tokens == 6
    assert result.record.head_tokens == len("<s><user>")


def test_a_plain_plan_is_recorded_with_its_events_in_order() -> None:
    plan = Plan(
        (
            Note("n", Text("Watch.")),
            ask("cold", lab_line=True),
            ask("same", lab_line=True),
            Get("h", "health"),
        )
    )
    events: list[Event] = []
    with ScriptedLlama() as server:
        result = drive(server.url, plan, events=events)
    record = result.record
    assert (result.outcome, result.reason, record.metrics_agree, record.foreign_tasks) == (
        "recorded",
        "",
        True,
        0,
    )
    assert list(record.recordings) == ["cold", "same", "h"]
    cold, same = record["cold"], record["same"]
    assert cold.figures.cache_n == 0
    assert (same.figures.cache_n, same.figures.prompt_n) == (same.n - 1, 1)
    assert (cold.id_task, same.id_task) == (1, 2)
    assert cold.prompt_hash == same.prompt_hash != ""
    assert record["h"].body == '{"status": "ok"}'
    kinds = [(kind, data.get("key")) for kind, data in events if kind != "slot"]
    begun = [("ask", "cold"), ("progress", "cold"), ("first_token", "cold")]
    assert kinds[:2] == [("started", None), ("note", "n")]
    assert [kind for kind in kinds if kind in begun] == begun
    assert kinds.index(("recorded", "cold")) < kinds.index(("ask", "same"))
    text = "".join(data["text"] for kind, data in events if kind == "tokens" and data["key"] == "cold")
    assert text == cold.figures.text == "b ab"
    assert len(cold.generated_ids) == 4
    assert {data["ttft_us"] for kind, data in events if kind == "first_token"} == {
        cold.figures.ttft_us,
        same.figures.ttft_us,
    }


def test_a_plan_without_asks_is_recorded() -> None:
    plan = Plan((Get("health", "health"), Get("props", "props"), Get("slots", "slots")))
    events: list[Event] = []
    with ScriptedLlama() as server:
        result = drive(server.url, plan, events=events)
        assert server.chats == []
    record = result.record
    assert (result.outcome, result.detail, record.metrics_agree) == ("recorded", "", True)
    assert (record.lab_line, record.head_tokens) == ("", None)
    assert events == [("started", {"asks": 0, "lab_line": ""})]
    assert {key: json.loads(got.body) for key, got in record.recordings.items()}.keys() == {
        "health",
        "props",
        "slots",
    }
    assert json.loads(record["props"].body)["total_slots"] == 2


@pytest.mark.parametrize("slot", [0, 1])
def test_a_slot_is_emptied_between_two_asks(slot: int) -> None:
    plan = Plan(
        (
            ask("cold", slot=slot),
            ask("repeat", slot=slot),
            Get("erase", "erase", slot=slot),
            ask("again", slot=slot),
        )
    )
    with ScriptedLlama() as server:
        result = drive(server.url, plan)
    record = result.record
    assert (result.outcome, record.metrics_agree, record.foreign_tasks) == ("recorded", True, 0)
    assert (record["repeat"].figures.prompt_n, record["again"].figures.cache_n) == (1, 0)
    assert json.loads(record["erase"].body) == {"id_slot": slot, "n_erased": record["repeat"].n + 4}
    assert record["erase"].slot == slot


def test_a_server_that_cannot_empty_a_slot_says_so_in_the_recording() -> None:
    with ScriptedLlama(can_erase=False) as server:
        result = drive(server.url, Plan((ask("cold"), Get("erase", "erase"), ask("again"))))
    assert result.outcome == "recorded"
    assert json.loads(result.record["erase"].body)["error"]["code"] == 501
    assert result.record["again"].figures.prompt_n == 1


def test_the_last_progress_is_told_with_the_next_read_or_at_the_end() -> None:
    def events_of(*pieces: bytes) -> list[str]:
        events: list[Event] = []
        with ScriptedLlama(misbehave=_head_then(*pieces)) as server:
            drive(server.url, Plan((ask("a"),)), events=events)
        return [kind for kind, _ in events if kind in ("progress", "first_token", "recorded")]

    whole = event(progress(9, 9))
    assert events_of(event(progress(4, 9)), whole, event(token("A"))) == [
        "progress",
        "progress",
        "first_token",
        "recorded",
    ]
    assert events_of(whole) == ["progress", "recorded"]


@pytest.mark.parametrize("slot", [2, 9, -1])
def test_b6d_a_slot_that_is_not_there_is_refused_before_sending(slot: int) -> None:
    with ScriptedLlama() as server:
        result = drive(server.url, Plan((ask("x", slot=slot),)))
        assert (result.outcome, result.reason) == ("errored", "rejected_by_server")
        assert server.chats == []


def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers() -> None:
    with ScriptedLlama(n_ctx=40) as server:
        result = drive(server.url, Plan((ask("x", "y" * 31, max_tokens=1),)))
        assert (result.outcome, result.reason) == ("errored", "rejected_by_server")
        assert "40" in result.detail
        assert server.chats == []
        assert drive(server.url, Plan((ask("x", "y" * 30, max_tokens=1),))).outcome == "recorded"


@pytest.mark.parametrize("frees_after_s", [0.0, 0.4])
def test_b1_a_cut_is_watched_until_the_slot_is_free(frees_after_s: float) -> None:
    plan = Plan((ask("cut", max_tokens=900, end=Close(100)), ask("next")))
    with ScriptedLlama(frees_after_s=frees_after_s) as server:
        result = drive(server.url, plan)
    cut = result.record["cut"]
    assert (result.outcome, cut.figures.end, result.record.metrics_agree) == ("recorded", "cut", True)
    assert cut.closed_us is not None
    assert cut.idle_us is not None
    assert cut.deadline_us == cut.closed_us + 1_000_000
    assert frees_after_s * 1e6 <= cut.idle_us - cut.closed_us
    assert cut.prompt_tokens_after is not None
    assert cut.figures.predicted_n is not None
    made = cut.prompt_tokens_after - cut.n
    assert cut.figures.predicted_n <= made < 900, "some were on their way to us; it did not go on to its end"


def test_b1_a_cut_before_the_first_byte_leaves_ttft_none() -> None:
    plan = Plan((ask("cut", max_tokens=900, end=Close(100)),))
    with ScriptedLlama(prefill_s=5) as server:
        result = drive(server.url, plan)
    cut = result.record["cut"]
    assert (result.outcome, cut.figures.ttft_us) == ("recorded", None)
    assert cut.idle_us is not None
    # In prefill the deadline also holds one batch, here the whole prompt.
    assert cut.deadline_us == (cut.closed_us or 0) + 2_000_000 + round(cut.n * 4500)


def test_without_progress_the_slot_is_looked_at_once_at_the_deadline() -> None:
    plan = Plan((ask("cut", max_tokens=900, end=Close(150)),))
    with ScriptedLlama(prefill_s=30, has_progress=False) as server:
        cut = drive(server.url, plan).record["cut"]
    assert cut.idle_us is not None
    assert cut.deadline_us is not None
    assert cut.closed_us is not None
    after = [sample.at_us for sample in cut.samples if sample.at_us > cut.closed_us]
    assert after[0] >= cut.deadline_us


def test_b1_a_server_that_never_frees_is_recorded_and_polling_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LATE_S", 0.2)
    monkeypatch.setattr(execute, "QUIET_S", 0.2)
    plan = Plan((ask("cut", max_tokens=4000, end=Close(100)),))
    with ScriptedLlama(frees_after_s=None, token_s=0.01) as server:
        result = drive(server.url, plan)
    cut = result.record["cut"]
    assert (result.outcome, cut.idle_us, cut.prompt_tokens_after) == ("recorded", None, None)
    assert cut.samples[-1].busy
    assert cut.samples[-1].id_task == cut.id_task


def test_b6c_a_stranger_on_the_slot_between_two_asks_disturbs() -> None:
    with ScriptedLlama() as server:
        server.before_chat = lambda number: server.foreign_task(0) if number == 2 else None
        result = drive(server.url, Plan((ask("a"), ask("b"))))
    assert (result.outcome, result.reason) == ("disturbed", "slot_disturbed")
    assert result.record.metrics_agree is False
    assert list(result.record.recordings) == ["a", "b"]


def test_a_stranger_on_the_other_slot_is_seen_without_metrics() -> None:
    with ScriptedLlama(has_metrics=False) as server:
        server.before_chat = lambda number: server.foreign_task(1)
        result = drive(server.url, Plan((ask("a"),)))
    assert (result.outcome, result.record.metrics_agree, result.record.foreign_tasks) == (
        "disturbed",
        None,
        1,
    )


def test_without_slots_and_metrics_the_run_still_records() -> None:
    with ScriptedLlama(has_slots=False, has_metrics=False) as server:
        result = drive(
            server.url, Plan((ask("a"), ask("cut", max_tokens=900, end=Close(50)))), limits=Limits(5, 5, 5)
        )
    assert (result.outcome, result.record.metrics_agree) == ("recorded", None)
    assert result.record["a"].id_task is None
    assert result.record["a"].samples == ()


def test_a_held_ask_is_read_to_its_end_and_the_next_one_waits() -> None:
    plan = Plan((ask("busy", max_tokens=100, end=Hold("next", read=True)), ask("next", LONG)))
    with ScriptedLlama(token_s=0.005) as server:
        result = drive(server.url, plan)
    busy, queued = result.record["busy"], result.record["next"]
    assert (result.outcome, busy.figures.end, busy.figures.predicted_n) == ("recorded", "done", 100)
    assert (busy.id_task, queued.id_task) == (1, 2)
    assert queued.figures.headers_us is not None
    assert queued.figures.headers_us > 100_000
    assert queued.sent_at_us > busy.sent_at_us + (busy.figures.ttft_us or 0)


def test_a_stalled_twin_is_shut_after_the_last_ask_was_sent() -> None:
    plan = Plan(
        (
            ask("twin", max_tokens=4000, end=Hold("same", stop_after_ms=100, shut_after_ms=300)),
            Get("look", "slots"),
            ask("other", slot=1),
            ask("same"),
        )
    )
    with ScriptedLlama() as server:
        result = drive(server.url, plan)
    record = result.record
    twin, other, same = record["twin"], record["other"], record["same"]
    assert (result.outcome, twin.figures.end, record.metrics_agree) == ("recorded", "held", True)
    assert twin.closed_us is not None
    shut_after_sent_us = twin.sent_at_us + twin.closed_us - same.sent_at_us
    assert shut_after_sent_us >= 300_000
    assert (same.figures.headers_us or 0) >= 290_000
    assert other.figures.headers_us is not None and same.figures.headers_us is not None
    assert other.figures.headers_us < same.figures.headers_us, "it waited for the twin"
    assert '"is_processing": true' in record["look"].body
    assert twin.idle_us is not None
    assert twin.prompt_tokens_after is None or twin.prompt_tokens_after > twin.n
    last_frame_us = twin.frames[-1].at_us
    assert last_frame_us < twin.closed_us - 100_000, "it went on reading"
    assert any(s.busy and s.id_task == twin.id_task and s.at_us > 100_000 for s in twin.samples)


def test_an_unread_ask_is_held_until_its_slot_is_idle() -> None:
    plan = Plan(
        (ask("unread", max_tokens=60, end=Hold("idle", stop_after_ms=50)), Get("idle", "slots", until_idle=0))
    )
    with ScriptedLlama(token_s=0.01) as server:
        result = drive(server.url, plan)
    unread, idle = result.record["unread"], result.record["idle"]
    assert (result.outcome, unread.figures.end) == ("recorded", "held")
    assert idle.idle_us is not None
    assert unread.prompt_tokens_after == unread.n + 60
    assert unread.closed_us is not None
    assert unread.sent_at_us + unread.closed_us >= idle.sent_at_us + idle.idle_us


@pytest.mark.parametrize("prefill_s", [30.0, 0.0], ids=["prefill", "decode"])
def test_b2_a_cancel_from_another_thread_cuts_at_once(prefill_s: float) -> None:
    with ScriptedLlama(prefill_s=prefill_s, token_s=10) as server:
        running = Background(server.url, Plan((ask("a"), ask("never"))))
        running.wait_for("first_token" if prefill_s == 0 else "progress", key="a")
        running.control.cancel()
        result = running.result(5.0)
        wait_until(lambda: server.open_chats() == 0, 5.0)
    assert (result.outcome, result.reason) == ("cancelled", "")
    recording = result.record["a"]
    assert recording.figures.end == "cut"
    assert (recording.figures.ttft_us is None) is (prefill_s > 0)
    assert "never" not in result.record.recordings


def test_a_cancel_reaches_a_stalled_and_a_queued_ask() -> None:
    plan = Plan(
        (ask("twin", max_tokens=4000, end=Hold("same", stop_after_ms=50, shut_after_ms=60_000)), ask("same"))
    )
    with ScriptedLlama() as server:
        running = Background(server.url, plan)
        running.wait_for("ask", key="same")
        wait_until(lambda: len(server.chats) == 2)
        running.control.cancel()
        result = running.result(5.0)
        wait_until(lambda: server.open_chats() == 0, 5.0)
    assert result.outcome == "cancelled"
    assert list(result.record.recordings) == ["twin", "same"]


def test_a_lost_lease_stops_before_the_next_ask() -> None:
    with ScriptedLlama() as server:
        mine = [True, True, False]
        result = drive(
            server.url, Plan((ask("a"), ask("b"))), control=Control(lambda: mine.pop(0) if mine else False)
        )
        assert (result.outcome, result.reason) == ("lost", "worker_lost")
        assert len(server.chats) < 2


def test_a_stop_before_the_start_sends_nothing() -> None:
    control = Control()
    control.cancel()
    control.lose()
    with ScriptedLlama() as server:
        result = drive(server.url, Plan((ask("a"),)), control=control)
        assert (result.outcome, result.record.recordings, server.chats) == ("cancelled", {}, [])


def _head_then(*pieces: bytes, silence_s: float = 0.0) -> Any:
    def misbehave(peer: Peer) -> None:
        peer.send(SSE_HEAD + b"".join(chunked(piece) for piece in pieces))
        if silence_s:
            peer.sock.settimeout(silence_s)
            peer.watch_close()

    return misbehave


ERROR = {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}
TOO_LONG = b'{"error":{"code":400,"message":"too long","type":"exceed_context_size_error"}}'
LOADING = b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'


@pytest.mark.parametrize(
    ("misbehave", "reason", "end"),
    [
        (_head_then(event(token("A"))), "bad_stream", "truncated"),
        (_head_then(event(token("A")), event(ERROR)), "bad_stream", "error"),
        (_head_then(event(token("A")), b"data: {nonsense\n\n"), "bad_stream", "error"),
        (
            _head_then(event(progress(0, 9)), b":\n\n", silence_s=9),
            "first_token_timeout",
            "first_token_timeout",
        ),
        (_head_then(event(token("A")), silence_s=9), "idle_timeout", "idle_timeout"),
        (lambda peer: peer.send(answer("400 Bad Request", TOO_LONG)), "rejected_by_server", "rejected"),
        (lambda peer: peer.send(answer("503 Unavailable", LOADING)), "endpoint_down", "rejected"),
        (lambda peer: peer.send(answer("200 OK", b"<html>", "text/html")), "bad_stream", "truncated"),
    ],
    ids=["truncated", "error", "nonsense", "no token", "silence", "400", "loading", "stranger"],
)
def test_every_failure_has_its_reason_and_keeps_what_came(misbehave: Any, reason: str, end: str) -> None:
    limits = Limits(0.5, 0.5, 5) if "timeout" in reason else Limits(20, 20, 30)
    with ScriptedLlama(misbehave=misbehave) as server:
        result = drive(server.url, Plan((ask("a"), ask("b"))), limits=limits)
        wait_until(lambda: server.open_chats() == 0, 5.0)
    assert (result.outcome, result.reason) == ("errored", reason)
    assert result.record["a"].figures.end == end
    assert "b" not in result.record.recordings


def test_an_absent_server_is_down() -> None:
    with ScriptedLlama() as server:
        url = server.url
    result = drive(url, Plan((ask("a"),)))
    assert (result.outcome, result.reason, result.record.recordings) == ("errored", "endpoint_down", {})


def test_a_held_ask_that_fails_ends_the_run() -> None:
    plan = Plan((ask("busy", end=Hold("next", read=True)), ask("next")))
    with ScriptedLlama(misbehave=_head_then(event(token("A")))) as server:
        result = drive(server.url, plan)
        assert (result.outcome, result.reason) == ("errored", "bad_stream")
        assert list(result.record.recordings) == ["busy"]
        assert len(server.chats) == 1


def test_a_record_survives_json() -> None:
    with ScriptedLlama() as server:
        recording = drive(server.url, Plan((ask("cut", max_tokens=900, end=Close(60)),))).record["cut"]
    assert type(recording).from_json(recording.to_json(), recording.frames) == recording
    assert dataclasses.replace(recording, frames=()) == recording
