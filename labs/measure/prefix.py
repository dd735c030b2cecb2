"""Token prefixes, and how many tokens the cache should have served (DESIGN 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

# A merge at the border or a shared first letter moves a prefix by at most this much (measuring.md 3.1).
SLACK_TOKENS = 2


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """LCP: how many leading tokens are the same."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))


def expected_cache(
    prompt: Sequence[int],
    held: Sequence[int] | None,
    generated: int = 0,
    cache: bool = True,
) -> tuple[int, int]:
    """(low, high), both included: the `cache_n` of a sane server for a prompt of N tokens.

    `held` is what the slot held before: the last prompt there, for one cut in prefill only what was
    computed of it. `()` is an emptied slot. None is unknown, which allows everything. `generated` counts
    the tokens written there since. With L = min(LCP, N - 1): L - 2 <= cache_n <= min(L + generated, N - 1)
    + 2; exactly 0 with the cache off or the slot empty. At least one token is always computed, hence N - 1.
    """
    most = max(len(prompt) - 1, 0)
    if not cache:
        return 0, 0
    if held is None:
        return 0, most
    if not held:
        return 0, 0
    shared = min(common_prefix(prompt, held), most)
    return max(shared - SLACK_TOKENS, 0), min(shared + generated, most) + SLACK_TOKENS
