"""The figures of a load as Markdown, with PASS or MISS where there is a target."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.drills.load.people import Books
from tests.drills.load.restart import Restart
from tests.drills.load.tally import Tally, quantile
from tests.drills.load.watch import Course, slope_mib_min

PAGE_P95_MS = 300.0
LAG_P99_MS = 100.0
# Judged where there was time for it: what a process has after a third of the run, and at the end.
JUDGED_S = 300.0
GROWTH_MIB, GROWTH_SHARE = 8.0, 0.1


@dataclass
class Result:
    title: str
    seconds: float
    tally: Tally
    books: Books
    courses: Mapping[str, Course]
    runs: int
    maker_cpu_s: float
    machine_cores: float
    restarts: Sequence[Restart] = ()
    drained_s: float = 0.0
    failures: list[str] = field(default_factory=list)
    additions_s: Sequence[float] = ()

    def judge(self) -> list[tuple[str, str, bool]]:
        """(what, figures, good)."""
        tally, pages = self.tally, self.tally.pages
        p95, lag = quantile(pages, 0.95), quantile(tally.lags_ms, 0.99)
        lost = len(self.books.problems) + len(tally.problems) + len(self.failures)
        silent = tally.silent_gaps + tally.doubled + tally.tail_lost
        wrong = self.books.verdicts["fail"]
        found = [
            (f"pages: p95 under {PAGE_P95_MS:g} ms", f"{p95:.0f} ms", p95 < PAGE_P95_MS),
            (f"token lag: p99 under {LAG_P99_MS:g} ms", f"{lag:.1f} ms", lag < LAG_P99_MS),
            ("attempts and pages lost, doubled, stuck or wrongly charged", f"{lost}", lost == 0),
            ("events lost in silence, doubled", f"{silent}", silent == 0),
            ("right answers that failed", f"{wrong}", wrong == 0),
            ("sockets that were refused", f"{tally.refused}", tally.refused == 0),
        ]
        if not self.restarts:
            unanswered = sum(tally.unanswered.values())
            found.append(("requests without an answer or with a 5xx", f"{unanswered}", unanswered == 0))
            if self.seconds >= JUDGED_S:
                grown = [name for name, course in self.courses.items() if not is_flat(course)]
                found.append(("memory flat", ", ".join(grown) or "all", not grown))
        return found

    def figures(self) -> dict[str, Any]:
        """For another program."""
        tally = self.tally
        return {
            "runs_s": self.runs / self.seconds,
            "page_p95_ms": quantile(tally.pages, 0.95),
            "lag_p99_ms": quantile(tally.lags_ms, 0.99),
            "cpu": {name: course.cpu_s / self.seconds for name, course in self.courses.items()},
            "maker_cores": self.maker_cpu_s / self.seconds,
            "machine_cores": self.machine_cores,
            "misses": [what for what, _figures, good in self.judge() if not good],
        }

    def markdown(self) -> str:
        return "\n".join(
            [
                f"{self.title}. Python {platform.python_version()}, {os.cpu_count()} cores.",
                "",
                "| target | measured | |",
                "|---|---:|---|",
                *(f"| {what} | {said} | {'PASS' if good else 'MISS'} |" for what, said, good in self.judge()),
                "",
                *self._pages(),
                "",
                *self._lags(),
                "",
                *self._processes(),
                *self._restarts(),
                *(f"- problem: {one}" for one in self._problems()[:40]),
            ]
        )

    def _pages(self) -> list[str]:
        rows = ["| page | times | p50 ms | p95 ms | p99 ms | longest ms |", "|---|---:|---:|---:|---:|---:|"]
        kinds = [*sorted(self.tally.pages_ms.items()), ("**all but the log-in**", self.tally.pages)]
        if (later := self.tally.later_pages) is not None:
            kinds.append(("*of these, since everybody had come*", later))
        for kind, ms in kinds:
            p50, p95, p99 = (quantile(ms, share) for share in (0.5, 0.95, 0.99))
            rows.append(
                f"| {kind} | {len(ms)} | {p50:.0f} | {p95:.0f} | {p99:.0f} | {max(ms, default=0):.0f} |"
            )
        return rows

    def _lags(self) -> list[str]:
        tally = self.tally
        p50, p95, p99 = (quantile(tally.lags_ms, share) for share in (0.5, 0.95, 0.99))
        return [
            f"{len(tally.lags_ms)} tokens received as they came: lag p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, "
            f"longest {max(tally.lags_ms, default=0):.0f} ms; {tally.tokens - len(tally.lags_ms)} more caught up with.",
            f"{tally.sockets} sockets, {tally.reconnects} opened again (close codes {dict(tally.close_codes)}, "
            f"{tally.silences} silent; {tally.refused} tries refused), {tally.announced_gaps} announced gaps, "
            f"{tally.silent_gaps} silent ones, {tally.doubled} events doubled, "
            f"{tally.tail_lost} runs whose end was told before their last event; {tally.ended_away} ended while their "
            "page was away.",
            f"{self.runs} runs recorded in {self.seconds:.0f} s ({self.runs / self.seconds:.2f} a second), the queue "
            f"drained in {self.drained_s:.0f} s more. Attempts: {_counts(self.books.states)}. Checks: "
            f"{_counts(self.books.verdicts)}. Runs: {_counts(self.books.outcomes)}. "
            f"{tally.paused} met a paused step. Unanswered: {_counts(tally.unanswered) or 'none'}.",
        ]

    def _processes(self) -> list[str]:
        rows = [
            "| process | cores | MiB after a third | after two | at the end | MiB a minute since |",
            "|---|---:|---:|---:|---:|---:|",
        ]
        for name, course in sorted(self.courses.items()):
            later = settled(course)
            if later:
                rows.append(
                    f"| {name} | {course.cpu_s / self.seconds:.3f} | {later[0][1]:.0f} "
                    f"| {later[len(later) // 2][1]:.0f} | {later[-1][1]:.0f} "
                    f"| {slope_mib_min(later):+.2f} |"
                )
        loop = self.tally.loop_lag_ms
        rows += [
            f"| *the load maker* | {self.maker_cpu_s / self.seconds:.3f} | | | | |",
            f"| *the whole machine* | {self.machine_cores:.2f} | | | | |",
            "",
            f"The load maker's own loop was late by p50 {quantile(loop, 0.5):.1f}, p99 {quantile(loop, 0.99):.1f} ms; "
            "what it is late is in all figures above.",
            "Ten million additions took a core "
            f"{', '.join(f'{seconds:.2f}' for seconds in self.additions_s)} s before and after.",
            *(
                f"Not counted: the shared memory of {name}, of a fixed size, of which {course.shared_mib:.0f} MiB were "
                "touched."
                for name, course in sorted(self.courses.items())
                if course.shared_mib > 1
            ),
        ]
        return rows

    def _restarts(self) -> list[str]:
        if not self.restarts:
            return []
        rows = ["", "| restarted | ended after s | at work again after s |", "|---|---:|---:|"]
        return [
            *rows,
            *(f"| {one.name} | {one.ended_s:.1f} | {one.back_s:.1f} |" for one in self.restarts),
            "",
        ]

    def _problems(self) -> list[str]:
        return [*self.failures, *self.books.problems, *self.tally.problems]


def settled(course: Course) -> list[tuple[float, float]]:
    return course.memory[len(course.memory) // 3 :]


def is_flat(course: Course) -> bool:
    later = settled(course)
    return not later or later[-1][1] - later[0][1] <= max(GROWTH_MIB, GROWTH_SHARE * later[0][1])


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name or 'unended'}" for name, count in sorted(found.items()))
