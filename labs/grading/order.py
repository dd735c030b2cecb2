"""What the order of a prompt's blocks does to the common prefix of two prompts: 'it broke', 'it is repaired'."""

from __future__ import annotations

from dataclasses import dataclass

from labs.measure.prefix import SLACK_TOKENS

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
