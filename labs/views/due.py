"""When a step is due and what running it now costs, as its page says it before Run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from labs.rules.clock import minute_end
from labs.rules.window import Door, Late, Standing
from labs.terms import Terms


@dataclass(frozen=True)
class ShownTerms:
    """The terms at the moment of the page. The script counts from `now`, for a reader's clock may be wrong.

    `counts_at`: when an attempt that is submitted now counts as submitted; before `now` only after a fault.
    """

    terms: Terms
    now: datetime
    standing: Standing
    counts_at: datetime

    @property
    def door(self) -> Door:
        return self.standing.door

    @property
    def percent(self) -> int:
        return self.standing.percent

    @property
    def is_shut(self) -> bool:
        return not self.standing.is_accepted

    @property
    def keeps(self) -> int:
        """Percent of the earned points that count."""
        return 100 - self.percent

    @property
    def hides_scores(self) -> bool:
        return self.terms.hides_scores(self.now)

    @property
    def is_reduced(self) -> bool:
        return self.terms.window.late is Late.REDUCED

    @property
    def is_refused(self) -> bool:
        return self.terms.window.late is Late.REFUSED

    @property
    def counts_to(self) -> datetime | None:
        """The end of the due minute, while it lies ahead."""
        due_at = self.terms.window.due_at
        return minute_end(due_at) if due_at is not None and self.now < minute_end(due_at) else None

    @property
    def repeats_a_fault(self) -> bool:
        return self.counts_at < self.now

    @property
    def says_anything(self) -> bool:
        window = self.terms.window
        return bool(window.due_at or self.door is Door.EARLY or self.hides_scores or self.terms.extensions)
