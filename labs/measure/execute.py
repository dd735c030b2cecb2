"""Walks a plan's items in order. Asks overlap only through holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from labs.measure.asking import Asking
from labs.measure.board import LOOK_EVERY_S, Look
from labs.measure.context import Context
from labs.measure.holding import Holding
from labs.measure.noise import is_noisy
from labs.measure.outcome import RunFailed, broke, reason_of, reason_of_end
from labs.measure.plan import Ask, Get, Hold, Item, Note, Plan
from labs.measure.prepare import Prompt
from labs.measure.recording import Figures, Recording

QUIET_S = 3.0  # how long after the last item the slots may take to fall idle


class Execution:
    """`recordings` has every item that was begun, in the plan's order, however the run ended.

    `best_ms_per_token`: the fastest prefill that is known of the endpoint.
    """

    def __init__(
        self,
        context: Context,
        plan: Plan,
        prompts: Mapping[str, Prompt],
        best_ms_per_token: float | None = None,
    ) -> None:
        self._context = context
        self._plan = plan
        self._prompts = prompts
        self._best_ms_per_token = best_ms_per_token
        self._found: dict[str, Recording] = {}
        self._holdings: list[Holding] = []

    @property
    def recordings(self) -> dict[str, Recording]:
        keys = [item.key for item in self._plan.all_items]
        return {key: self._found[key] for key in keys if key in self._found}

    def run(self) -> None:
        """Raises Stopped and RunFailed."""
        self._walk(self._plan.items)
        if self._plan.spare and is_noisy(self._found.values(), self._best_ms_per_token):
            self._walk(self._plan.spare)
        self._context.control.check()

    def _walk(self, items: Iterable[Item]) -> None:
        for item in items:
            self._context.control.check()
            self._do(item)
            for holding in self._waiting_for(item):
                holding.until_ended()
                self._finish_holding(holding)
                self._judge(holding)

    def wait_quiet(self) -> None:
        """Until all slots are idle, for the counters' sake, but not for long; then one look for strangers."""
        until_s = time.monotonic() + QUIET_S
        look = self._context.board.look()
        while time.monotonic() < until_s and look is not None and not look.all_idle:
            if self._context.control.wait(LOOK_EVERY_S):
                break
            look = self._context.board.look()
        self._context.board.check_quiet()

    def close(self) -> None:
        """Shuts what is still open. A run that went well has nothing left here."""
        for holding in self._holdings:
            if holding.ask.key not in self._found:
                holding.shut()
                self._finish_holding(holding)

    def _do(self, item: Item) -> None:
        match item:
            case Note():
                self._began(item, _now)
                self._context.emit("note", {"key": item.key, "text": item.text.to_json()})
            case Get():
                self._began(item, _now)
                self._get(item)
            case Ask():
                self._ask(item)

    def _ask(self, ask: Ask) -> None:
        prompt = self._prompts[ask.key]
        if not self._open_holdings():
            self._context.board.check_quiet()
        self._context.emit(
            "ask",
            {
                "key": ask.key,
                "title": ask.title.to_json(),
                "n": len(prompt.ids),
                "max_tokens": ask.max_tokens,
                "slot": ask.slot,
                "sent_at_us": self._context.run_us(time.perf_counter_ns()),
            },
        )
        if isinstance(ask.end, Hold):
            holding = Holding(self._context, ask, prompt)
            self._holdings.append(holding)
            self._began(ask, lambda: holding.stream.sent_ns)
            holding.start()
            if holding.has_failed:
                self._finish_holding(holding)
                self._judge(holding)
            return
        asking = Asking(self._context, ask, prompt)
        self._began(ask, lambda: asking.stream.sent_ns)
        try:
            asking.read()
            asking.settle()
        finally:
            self._keep(asking)
        self._judge(asking)

    def _get(self, get: Get) -> None:
        sent_ns = time.perf_counter_ns()
        if get.what == "tokens":
            ids = self._context.client.prompt_tokens([dict(m) for m in get.messages])
            self._found[get.key] = Recording(
                get.key, "get", sent_at_us=self._context.run_us(sent_ns), prompt_ids=tuple(ids)
            )
            return
        until_s = time.monotonic() + get.limit_ms / 1000
        idle_ns: int | None = None
        while True:
            body, look = self._fetch(get)
            row = look.slot(get.until_idle) if look is not None and get.until_idle is not None else None
            if look is not None and row is not None and not row.is_processing:
                idle_ns = look.at_ns
            if get.until_idle is None or idle_ns is not None or time.monotonic() >= until_s:
                break
            if self._context.control.wait(LOOK_EVERY_S):
                break
        self._found[get.key] = Recording(
            key=get.key,
            kind="get",
            slot=get.slot if get.until_idle is None else get.until_idle,
            sent_at_us=self._context.run_us(sent_ns),
            figures=Figures(end="done", end_us=(time.perf_counter_ns() - sent_ns) // 1000),
            idle_us=None if idle_ns is None else (idle_ns - sent_ns) // 1000,
            body=body,
        )

    def _fetch(self, get: Get) -> tuple[str, Look | None]:
        """The body as it came, whatever its status: a 503 of `/health`, or a 501 of `erase`, is an answer too."""
        call = self._context.client.exchange
        if get.what == "erase":
            response, data = call("POST", f"/slots/{get.slot}?action=erase", b"{}", get.limit_ms / 1000)
        else:
            response, data = call("GET", f"/{get.what}", None, get.limit_ms / 1000)
        look = None
        if get.what == "slots" and response.status_code == 200:
            look = self._context.board.took(data, time.perf_counter_ns())
        return data.decode("utf-8", "replace"), look

    def _began(self, item: Item, sent_ns: Callable[[], int | None]) -> None:
        for holding in self._waiting_for(item):
            holding.until_began(sent_ns)

    def _waiting_for(self, item: Item) -> list[Holding]:
        return [h for h in self._open_holdings() if h.hold.until == item.key]

    def _open_holdings(self) -> list[Holding]:
        return [h for h in self._holdings if h.ask.key not in self._found]

    def _finish_holding(self, holding: Holding) -> None:
        try:
            holding.join()
        finally:
            self._keep(holding)

    def _keep(self, asking: Asking) -> None:
        recording = asking.recording()
        self._found[asking.ask.key] = recording
        figures = recording.figures
        self._context.emit(
            "recorded",
            {
                "key": recording.key,
                "end": figures.end,
                "ttft_us": figures.ttft_us,
                "first_sentence_us": figures.first_sentence_us,
                "cache_n": figures.cache_n,
                "prompt_n": figures.prompt_n,
                "predicted_n": figures.predicted_n,
                "prompt_ms": figures.prompt_ms,
            },
        )

    def _judge(self, asking: Asking) -> None:
        """Raises Stopped or RunFailed where the ask did not end as its plan wants."""
        self._context.control.check()
        if asking.failure is not None:
            failure = asking.failure
            raise RunFailed(reason_of(failure), f"{asking.ask.key}: {failure}", server_broke=broke(failure))
        if reason := reason_of_end(asking.end):
            detail = asking.figures().error or asking.end
            raise RunFailed(reason, f"{asking.ask.key}: {detail}")


def _now() -> int | None:
    return time.perf_counter_ns()
