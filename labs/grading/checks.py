"""A check: one graded claim with a verdict, a one-sentence reason and evidence. Pure data, no Django."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from labs.text import Json, Text


class Verdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Check:
    """`evidence` is JSON: {"saw": {...}, "rule": a Text as JSON, "limit": ..., "control": {...}}
    with plain integers.

    `round` is the key of the round whose run it rests on: an inconclusive check repeats that round's run.
    `disturbed` marks an inconclusive caused by foreign work on the endpoint.
    `hints` are shown one at a time after a fail, the second after another try.
    """

    key: str
    round: str
    title: Text
    points: int
    verdict: Verdict
    reason: Text
    evidence: Mapping[str, Any] = field(default_factory=dict)
    hints: Sequence[Text] = ()
    disturbed: bool = False

    @property
    def score(self) -> int | None:
        """Points earned; None while inconclusive: an open check is not zero."""
        return {Verdict.PASS: self.points, Verdict.FAIL: 0, Verdict.INCONCLUSIVE: None}[self.verdict]

    def to_json(self) -> Json:
        return {
            "key": self.key,
            "round": self.round,
            "title": self.title.to_json(),
            "points": self.points,
            "verdict": str(self.verdict),
            "reason": self.reason.to_json(),
            "evidence": dict(self.evidence),
            "hints": [h.to_json() for h in self.hints],
            "disturbed": self.disturbed,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            key=data["key"],
            round=data["round"],
            title=Text.from_json(data["title"]),
            points=data["points"],
            verdict=Verdict(data["verdict"]),
            reason=Text.from_json(data["reason"]),
            evidence=data["evidence"],
            hints=tuple(Text.from_json(h) for h in data["hints"]),
            disturbed=data["disturbed"],
        )


def total(checks: Sequence[Check]) -> int:
    """Points earned so far; open checks add nothing and take nothing."""
    return sum(check.score or 0 for check in checks)
