"""The driver against the real llama-server: what lab.md's three first steps ask of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.measure.board import wait_idle
from labs.measure.control import Control
from labs.measure.outcome import Drive
from labs.measure.plan import Ask, Close, Get, Hold, Plan
from labs.measure.prefix import common_prefix, expected_cache
from labs.measure.recording import Recording
from tests.measure.driving import LIMITS, Background, drive, user

pytestmark = pytest.mark.server

DOCUMENT = (
    "The harbour of Port Main was opened in 1887. It has four piers of granite and one of oak. The north pier "
    "serves the mail boats, the south pier the fishing fleet, and the oak pier belongs to the rowing club. In "
    "winter the harbour master lights the lamps at four in the afternoon. "
) * 6
STORY = "Tell me a long story about a ship."
SHORT = "What is a pier?"


@pytest.fixture
def url(llama_server: EmbeddedServer) -> Iterator[str]:
    with LlamaClient(llama_server.base_url) as client:
        assert wait_idle(client, 60)
        yield llama_server.base_url


def calm(run: Callable[[], Drive], was_calm: Callable[[Drive], bool]) -> Drive:
    """Runs until the machine was fast enough to show what the test is about, six times at most."""
    for _ in range(5):
        if was_calm(result := run()):
            return result
    return run()


def wrote_and_freed(result: Drive, *keys: str) -> bool:
    """The first of these asks wrote before we cut or held it, all had begun, and their slots were seen free."""
    found = [result.record.get(key) for key in keys]
    first = found[0]
    return (first is not None and first.figures.ttft_us is not None) and all(
        r is not None and r.idle_us is not None and r.figures.progress_cache is not None for r in found
    )


def sane(result: Drive) -> None:
    assert (result.outcome, result.reason, result.detail) == ("recorded", "", "")
    assert result.record.metrics_agree in (True, None)
    assert result.record.foreign_tasks == 0
    for recording in result.record.recordings.values():
        if recording.kind == "ask":
            figures = recording.figures
            assert recording.id_task is not None
            if figures.timings_final:
                assert (
                    (figures.cache_n or 0) + (figures.prompt_n or 0)
                    == recording.n
                    == figures.usage_prompt_tokens
                )


def test_cold_control_and_changed(url: str) -> None:
    question = "\nHow many piers are there?"
    plan = Plan(
        (
            Ask("cold", user(DOCUMENT + question), 4, lab_line=True),
            Ask("repeat", user(DOCUMENT + question), 4, lab_line=True),
            Ask("changed", user("It is noon. " + DOCUMENT + question), 4, lab_line=True),
        )
    )
    result = drive(url, plan)
    sane(result)
    record = result.record
    assert record.metrics_agree is True
    cold, repeat, changed = record["cold"], record["repeat"], record["changed"]
    assert record.head_tokens is not None
    assert cold.figures.cache_n is not None
    assert cold.figures.cache_n <= record.head_tokens + 2
    assert repeat.figures.prompt_n == 1
    for now, before in ((repeat, cold), (changed, repeat)):
        low, high = expected_cache(now.prompt_ids, before.prompt_ids, before.figures.predicted_n or 0)
        assert low <= (now.figures.cache_n or 0) <= high
    assert (
        common_prefix(changed.prompt_ids, cold.prompt_ids) <= record.head_tokens + record.lab_line_tokens + 2
    )
    assert (changed.figures.prompt_n or 0) >= 0.8 * changed.n
    # `return_progress`: the role frame comes at once, the content only after the prefill.
    assert cold.figures.role_us is not None
    assert cold.figures.ttft_us is not None
    assert cold.figures.ttft_us - cold.figures.role_us > 0.5 * (cold.figures.prompt_ms or 0) * 1000
    again = drive(url, plan)
    assert again.record.lab_line != record.lab_line
    assert (again.record["cold"].figures.cache_n or 0) <= record.head_tokens + 2, "a repeated run is not cold"


def test_the_lab_line_has_the_planned_tokens_where_it_stands(url: str) -> None:
    system = ({"role": "system", "content": "Answer in one sentence."}, *user(SHORT))
    plan = Plan((Ask("with", system, 1, lab_line=True), Ask("without", system, 1)), lab_line_tokens=9)
    result = drive(url, plan)
    sane(result)
    record = result.record
    assert record["with"].n - record["without"].n == 9
    assert record.head_tokens is not None
    assert record.head_tokens <= 5, "in front of the first message stands only the template's own head"


def cut_sanely(recording: Recording, least_after: int) -> None:
    assert recording.closed_us is not None
    assert recording.closed_us >= 500_000
    assert recording.figures.end == "cut"
    assert recording.deadline_us is not None
    assert recording.deadline_us > recording.closed_us
    assert recording.idle_us is not None, "never seen free"
    assert recording.prompt_tokens_after is not None
    assert recording.prompt_tokens_after >= least_after
    assert recording.log_cancel is not None
    assert str(recording.id_task) in recording.log_cancel
    assert recording.samples[-1].busy is False


def test_two_cuts_at_half_a_second(url: str, llama_server: EmbeddedServer) -> None:
    plan = Plan(
        (
            Ask("writing", user(STORY), 2000, lab_line=True, end=Close(500)),
            Ask("reading", user("Now. " + DOCUMENT), 300, lab_line=True, end=Close(500)),
        )
    )
    result = calm(
        lambda: drive(url, plan, log=llama_server.log_path),
        lambda run: wrote_and_freed(run, "writing", "reading"),
    )
    sane(result)
    assert result.record.metrics_agree is True
    writing, reading = result.record["writing"], result.record["reading"]
    cut_sanely(writing, writing.n)
    cut_sanely(reading, 1)
    written = (writing.prompt_tokens_after or 0) - writing.n
    assert 0 <= written - (writing.figures.predicted_n or 0) <= 2
    assert writing.figures.ttft_us is not None
    assert reading.figures.ttft_us is None
    assert reading.figures.predicted_n is None
    assert (reading.prompt_tokens_after or 0) < reading.n


def test_a_queued_ask_waits_behind_a_held_one(url: str) -> None:
    plan = Plan(
        (
            Ask("busy", user(STORY), 100, end=Hold("queued", read=True)),
            Ask("queued", user(SHORT), 4, cache=False),
        )
    )
    result = drive(url, plan)
    sane(result)
    busy, queued = result.record["busy"], result.record["queued"]
    assert (busy.figures.end, busy.figures.predicted_n) == ("done", 100)
    assert queued.sent_at_us >= busy.sent_at_us + (busy.figures.ttft_us or 0)
    figures = queued.figures
    assert figures.cache_n == 0
    assert figures.headers_us is not None
    assert figures.ttft_us is not None
    assert figures.headers_us > 200_000, "no wait"
    assert 0 < (figures.prompt_ms or 0) * 1000 < figures.headers_us, (
        "the server's own counter does not know the wait"
    )


def test_a_stalled_twin_the_other_slot_and_the_same_slot(url: str, llama_server: EmbeddedServer) -> None:
    plan = Plan(
        (
            Ask("twin", user(STORY), 3000, end=Hold("same", stop_after_ms=300, shut_after_ms=500)),
            Get("look", "slots"),
            Ask("other", user(SHORT), 8, slot=1),
            Ask("same", user(SHORT), 8),
        )
    )
    result = calm(
        lambda: drive(url, plan, log=llama_server.log_path), lambda run: wrote_and_freed(run, "twin")
    )
    sane(result)
    record = result.record
    twin, other, same = record["twin"], record["other"], record["same"]
    assert twin.figures.end == "held"
    assert twin.closed_us is not None
    assert twin.sent_at_us + twin.closed_us - same.sent_at_us >= 500_000
    assert any(s.busy and s.id_task == twin.id_task and s.at_us > 300_000 for s in twin.samples)
    assert twin.log_cancel is not None
    assert (same.figures.headers_us or 0) >= 490_000
    assert other.figures.end == same.figures.end == "done"
    assert (other.slot, other.figures.predicted_n) == (1, 8)
    assert len({twin.id_task, other.id_task, same.id_task}) == 3


def test_an_unread_ask_runs_to_its_natural_end(url: str) -> None:
    plan = Plan(
        (
            Ask("unread", user(STORY), 60, end=Hold("idle", stop_after_ms=100)),
            Get("idle", "slots", until_idle=0, limit_ms=120_000),
        )
    )
    result = drive(url, plan)
    sane(result)
    unread = result.record["unread"]
    assert result.record["idle"].idle_us is not None
    assert unread.figures.end == "held"
    assert (unread.figures.predicted_n or 0) < 50
    # The last sampled token is never computed, so it does not stand in the slot.
    assert unread.prompt_tokens_after in (unread.n + 59, unread.n + 60)


def between(url: str, slot: int) -> Callable[[], bool]:
    """A lease check that lets a stranger in before the second ask."""
    calls: list[int] = []

    def still_mine() -> bool:
        calls.append(1)
        if len(calls) == 3:
            stranger = {
                "messages": [{"role": "user", "content": "I am new here."}],
                "max_tokens": 2,
                "id_slot": slot,
            }
            with LlamaClient(url) as client, client.chat(stranger, LIMITS) as stream:
                assert [*stream]
                assert stream.end == "done"
        return True

    return still_mine


@pytest.mark.parametrize("slot", [0, 1], ids=["same slot", "other slot"])
def test_a_stranger_in_between_disturbs(url: str, slot: int) -> None:
    plan = Plan((Ask("a", user(SHORT), 2), Ask("b", user(SHORT), 2)))
    result = drive(url, plan, control=Control(between(url, slot)))
    assert (result.outcome, result.reason) == ("disturbed", "slot_disturbed")
    assert result.record.metrics_agree is False
    assert result.record.foreign_tasks >= 1
    assert list(result.record.recordings) == ["a", "b"]


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_a_cancel_from_another_thread_ends_it_long_before_its_end(url: str, phase: str) -> None:
    ask = (
        Ask("a", user(STORY), 2000, ignore_eos=True)
        if phase == "decode"
        else Ask("a", user(DOCUMENT * 3), 4, cache=False)
    )
    running = Background(url, Plan((ask, Ask("never", user(SHORT), 2))))
    running.wait_for("first_token" if phase == "decode" else "progress", key="a")
    running.control.cancel()
    result = running.result(5.0)
    assert result.outcome == "cancelled"
    assert (result.record["a"].figures.ttft_us is None) is (phase == "prefill")
    with LlamaClient(url) as client:
        assert wait_idle(client, 15), "the server goes on although we left"


def test_a_prompt_too_long_for_the_slot_is_refused_with_its_numbers(url: str) -> None:
    result = drive(url, Plan((Ask("a", user(DOCUMENT * 20), 4),)))
    assert (result.outcome, result.reason) == ("errored", "rejected_by_server")
    assert str(result.record.server.n_ctx) in result.detail
