"""From a claim to its check. Two layers (DESIGN 6.2): a faulty server leaves it open, else the answer decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labs.grading.checks import Check, Verdict
from labs.grading.sane import Fault
from labs.text import Text

Evidence = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a check is about, before anything was seen. `rests_on` is the round whose run it reads."""

    key: str
    rests_on: str
    title: Text
    points: int
    hints: Sequence[Text] = ()

    def settle(
        self, fault: Fault | None, right: bool, passed: Text, failed: Text, evidence: Evidence
    ) -> Check:
        """Open where there is a fault; otherwise `right` decides, and the reason says why."""
        if fault is not None:
            return self._check(Verdict.INCONCLUSIVE, fault.reason, evidence, fault.disturbed)
        return (
            self._check(Verdict.PASS, passed, evidence)
            if right
            else self._check(Verdict.FAIL, failed, evidence)
        )

    def open(self, fault: Fault, evidence: Evidence) -> Check:
        return self._check(Verdict.INCONCLUSIVE, fault.reason, evidence, fault.disturbed)

    def _check(self, verdict: Verdict, reason: Text, evidence: Evidence, disturbed: bool = False) -> Check:
        return Check(
            key=self.key,
            round=self.rests_on,
            title=self.title,
            points=self.points,
            verdict=verdict,
            reason=reason,
            evidence=evidence,
            hints=self.hints,
            disturbed=disturbed,
        )
