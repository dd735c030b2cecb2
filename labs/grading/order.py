"""What the order of a prompt's blocks does to the common prefix of two prompts: 'it broke', 'it is repaired'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labs.grading.sane import Fault, alone, cold, first_fault, hit, ours, served, shared, whole
from labs.measure.prefix import SLACK_TOKENS
from labs.measure.recording import Recording, RunRecord
from labs.text import N_, Json, Text

# A front break leaves at least this share of the prompt, and this many tokens, behind the prefix (DESIGN 6.2).
BREAK_SHARE = 0.8
BREAK_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Pair:
    """A prompt of `n` tokens that shares its first `lcp` with the one before; `prompt_n` the server computed."""

    n: int
    lcp: int
    prompt_n: int

    @property
    def behind(self) -> int:
        """N - LCP: what cannot come from the cache."""
        return self.n - self.lcp

    @property
    def broke(self) -> bool:
        """Almost the whole prompt stands behind the first change (DESIGN 6.2)."""
        return self.behind >= max(BREAK_SHARE * self.n, BREAK_TOKENS)

    @property
    def computed_as_expected(self) -> bool:
        """Not more than what stands behind the prefix, and one token at least."""
        return self.prompt_n <= max(self.behind, 1) + SLACK_TOKENS

    @property
    def needed(self) -> int:
        """How many tokens a front break must leave behind the prefix."""
        return round(max(BREAK_SHARE * self.n, BREAK_TOKENS))


def pair_of(now: Recording, before: Recording) -> Pair:
    return Pair(n=now.n, lcp=shared(now, before), prompt_n=now.figures.prompt_n or 0)


def more_computed(run: RunRecord) -> int | None:
    changed, control = run["changed"].figures.prompt_n, run["control"].figures.prompt_n
    return None if changed is None or control is None else changed - control


def evidence_of(run: RunRecord, keys: Sequence[str]) -> Json:
    """For each ask N, `cache_n`, `prompt_n` and, but for the first, the LCP with the one before."""
    saw: Json = {}
    for i, key in enumerate(keys):
        now = run[key]
        saw[key] = {"n": now.n, "cache_n": now.figures.cache_n, "prompt_n": now.figures.prompt_n}
        if i:
            saw[key]["lcp"] = shared(now, run[keys[i - 1]])
    return {"saw": saw, "lab_line_tokens": run.lab_line_tokens, "metrics_agree": run.metrics_agree}


def why_no_break(place: str, differs: bool, pair: Pair) -> Text:
    if not differs:
        return N_("Both prompts were the same, so nothing could break. Give the clock another time.")
    if place != "front":
        return N_(
            "The clock stood behind the documents, so only %(behind)s of %(n)s tokens had to be computed. To see the "
            "cache break, put the changing line in front of everything.",
            behind=pair.behind,
            n=pair.n,
        )
    return N_(
        "Only %(behind)s of %(n)s tokens stand behind the change, and a break needs %(needed)s. Change the time at "
        "its front.",
        behind=pair.behind,
        n=pair.n,
        needed=pair.needed,
    )


def break_fault(run: RunRecord) -> Fault | None:
    """The server behaved, the repeat hit, and nobody was in between: only then can 'it broke' be claimed."""
    first, control, changed = run["cold"], run["control"], run["changed"]
    return first_fault(
        alone(run),
        *(f(r) for r in (first, control, changed) for f in (ours, whole)),
        cold(first, run),
        served(control, first, run),
        hit(control),
        served(changed, control, run),
    )
