"""Whether a run was too noisy for times to mean anything (measuring.md 3.3). Counts are graded anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labs.measure.stats import median

QUIET_FACTOR = 2.0
SLOW_FACTOR = 1.5
FEW_REPEATS = 3
MANY_REPEATS = 5


@dataclass(frozen=True, slots=True)
class Noise:
    """`quiet_ratio`: median of the one-token repeats over the best known. None: nothing to compare with.

    `slow`: how many of the `runs` control runs took more than `SLOW_FACTOR` times the fastest a token.
    """

    quiet_ratio: float | None
    slow: int
    runs: int

    @property
    def noisy(self) -> bool:
        return (self.quiet_ratio is not None and self.quiet_ratio > QUIET_FACTOR) or self.slow * 2 > self.runs

    @property
    def repeats(self) -> int:
        """How many repeats to make: more only when asked for, machine time is everybody's."""
        return MANY_REPEATS if self.noisy else FEW_REPEATS


def judge_noise(
    quiet_ms: Sequence[float],
    control_ms_per_token: Sequence[float],
    *,
    best_quiet_ms: float | None = None,
    best_ms_per_token: float | None = None,
) -> Noise:
    """`quiet_ms`: one-token repeats taken before and after. `control_ms_per_token`: `prompt_ms / prompt_n`.

    The fastest control is the fastest of these, or `best_ms_per_token` (the endpoint's) where that is lower.
    """
    bests = [*control_ms_per_token, *([] if best_ms_per_token is None else [best_ms_per_token])]
    limit = SLOW_FACTOR * min(bests, default=0.0)
    quiet = median(quiet_ms)
    return Noise(
        quiet / best_quiet_ms if quiet is not None and best_quiet_ms else None,
        sum(each > limit for each in control_ms_per_token),
        len(control_ms_per_token),
    )
