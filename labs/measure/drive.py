"""The plan driver: runs a frozen plan against a llama-server and brings back a `RunRecord`.

The caller has the lease and waited until all slots were idle. The driver changes nothing but the server's
cache and knows no database; it reports through `emit` and its return value.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path

from labs.llama.client import LlamaClient
from labs.llama.errors import LlamaError
from labs.llama.facts import Metrics
from labs.llama.stream import Limits
from labs.measure.board import Board
from labs.measure.context import Context, Emit
from labs.measure.control import Control, Stopped
from labs.measure.draw import NoLabLine
from labs.measure.execute import Execution
from labs.measure.ledger import agrees
from labs.measure.logs import ServerLog
from labs.measure.outcome import Drive, Outcome, Reason, RunFailed, broke, reason_of
from labs.measure.pace import Pace, with_speed
from labs.measure.plan import Plan
from labs.measure.prepare import draw_for, prepare, read_facts
from labs.measure.quota import TOLERATED, Quota, stopped_share
from labs.measure.recording import Recording, RunRecord, ServerFacts
from labs.measure.wakeup import no_collections, wake_early


class Driver:
    """`facts` is what the fingerprint knows of the endpoint; build, model, template and slots are read
    anew. `quota` watches the groups whose CPU quota could stop the run.

    `emit(kind, data)` is called from the driver's threads, in the reading thread between two reads: it must
    only queue. `log` is the server's log file where there is one. One driver may run many plans, one after
    the other.
    """

    def __init__(
        self,
        client: LlamaClient,
        *,
        emit: Emit,
        control: Control,
        limits: Limits,
        facts: ServerFacts | None = None,
        log: Path | None = None,
        quota: Quota | None = None,
    ) -> None:
        wake_early()
        self._client = client
        self._emit = emit
        self._control = control
        self._limits = limits
        self._facts = facts or ServerFacts()
        self._log = log
        self._quota = quota or Quota({})

    def run(
        self, plan: Plan, rng: random.Random, *, last_lab_line: str = "", since_ns: int | None = None
    ) -> Drive:
        """Never raises for what a server, a network or a stop can do: that is the outcome.

        `rng` draws the lab line, whose first letter differs from `last_lab_line` (the endpoint's last one).
        `since_ns`: when the endpoint was leased, for `RunRecord.lease_us`.
        """
        record = RunRecord({}, self._facts, lab_line_tokens=plan.lab_line_tokens)
        execution: Execution | None = None
        outcome: Outcome = "recorded"
        reason: Reason = ""
        detail = ""
        server_broke = False
        try:
            self._control.check()
            facts = read_facts(self._client, self._facts)
            line, head_tokens = draw_for(self._client, plan, rng, last_lab_line)
            record = replace(record, server=facts, lab_line=line, head_tokens=head_tokens)
            prompts = prepare(self._client, plan, line, facts)
            board = Board(self._client)
            log = None if self._log is None else ServerLog(self._log)
            context = Context(self._client, self._emit, self._control, self._limits, board, Pace(facts), log)
            before = self._counters()
            if since_ns is not None:
                record = replace(record, lease_us=(time.perf_counter_ns() - since_ns) // 1000)
            board.begin()
            execution = Execution(context, plan, prompts, facts.prompt_ms_per_token)
            self._quota.begin()
            self._emit("started", {"asks": len(plan.asks), "lab_line": line})
            with no_collections():
                execution.run()
            execution.wait_quiet()
            asks = [r for r in execution.recordings.values() if r.kind == "ask"]
            agree = agrees(before, self._counters(), asks)
            throttled = self._quota.end()
            record = replace(
                record, metrics_agree=agree, foreign_tasks=board.foreign_tasks, throttled=throttled
            )
            if why := _disturbed(record):
                outcome, reason, detail = "disturbed", "slot_disturbed", why
        except Stopped as stop:
            outcome, reason = stop.kind, "worker_lost" if stop.kind == "lost" else ""
        except RunFailed as exc:
            outcome, reason, detail, server_broke = "errored", exc.reason, exc.detail, exc.server_broke
        except NoLabLine as exc:
            outcome, reason, detail = "errored", "rejected_by_server", str(exc)
        except LlamaError as exc:
            outcome, reason, detail, server_broke = "errored", reason_of(exc), str(exc), broke(exc)
        finally:
            if execution is not None:
                execution.close()
        if execution is not None:
            record = replace(record, recordings=self._finished(execution, record.server))
            record = replace(record, server=with_speed(record.server, record.recordings.values()))
        return Drive(replace(record, note=detail), outcome, reason, detail, server_broke)

    def _counters(self) -> Metrics | None:
        """None where there are none, or none that came in time: then nobody can tell, which is no fault."""
        try:
            return self._client.metrics()
        except LlamaError:
            return None

    def _finished(self, execution: Execution, facts: ServerFacts) -> dict[str, Recording]:
        """The recordings with what is no longer urgent: the answers' own tokens and the template's hash."""
        return {
            key: replace(
                recording,
                template_hash=facts.template_hash,
                generated_ids=self._tokens(recording.figures.text),
            )
            if recording.kind == "ask"
            else recording
            for key, recording in execution.recordings.items()
        }

    def _tokens(self, text: str) -> tuple[int, ...]:
        """The answer cut into tokens again; () where the server cannot be asked any more."""
        if not text or self._control.stopped is not None:
            return ()
        try:
            return tuple(self._client.tokenize(text))
        except LlamaError:
            return ()


def _disturbed(record: RunRecord) -> str:
    """Why nothing may be graded from this run; "" where it was left alone."""
    if record.metrics_agree is False or record.foreign_tasks:
        return "somebody else used this server meanwhile"
    if (share := stopped_share(record.throttled)) > TOLERATED:
        return f"a CPU quota stopped the worker or the server for {share:.0%} of the run"
    return ""
