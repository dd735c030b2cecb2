"""The prompts of `prefill`: one question, and so many documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from labs.measure.noise import FEW_REPEATS, MANY_REPEATS
from labs.measure.plan import Ask
from labs.measure.recording import Recording, RunRecord
from labs.steps import corpus
from labs.steps.prompts import with_documents
from labs.text import N_, Json

SMALL, LARGE, OWN = (0, 4), 12, range(6, 11)
# Twelve documents are run once less: two of them cost as much as all of the first round.
LARGE_REPEATS = 2
LARGE_KEYS = [f"documents-{LARGE}-{i}" for i in range(1, LARGE_REPEATS + 1)]
HEAD_TOKENS, DOCUMENT_TOKENS = 38, 34  # for the budget of machine time only


def small_keys(count: int) -> list[str]:
    return [f"documents-{count}-{i}" for i in range(1, FEW_REPEATS + 1)]


def spare_keys(count: int) -> list[str]:
    """Of the repeats that run only where times are noisy."""
    return [f"documents-{count}-{i}" for i in range(FEW_REPEATS + 1, MANY_REPEATS + 1)]


def repeats(run: RunRecord, count: int) -> list[Recording]:
    """All that were made of this size."""
    spare = [recording for key in spare_keys(count) if (recording := run.get(key)) is not None]
    return [*some(run, small_keys(count)), *spare]


def some(run: RunRecord, keys: Sequence[str]) -> list[Recording]:
    return [run[key] for key in keys]


def messages_of(challenge: Json, count: int) -> tuple[dict[str, str], ...]:
    """The prompt with `count` documents: the same ones for everybody, in this student's order."""
    chosen = set(corpus.DOCUMENTS[:count])
    return with_documents([d for d in challenge["documents"] if d in chosen], challenge["question"])


def tokenise(challenge: Json, counts: Sequence[int]) -> Mapping[str, Sequence[Mapping[str, str]]]:
    return {str(count): messages_of(challenge, count) for count in counts}


def ask(challenge: Json, key: str, count: int) -> Ask:
    return Ask(
        key,
        messages_of(challenge, count),
        4,
        cache=False,
        about_prompt_tokens=HEAD_TOKENS + DOCUMENT_TOKENS * count,
        title=N_("%(count)s documents", count=count),
    )


def about_tokens(run: RunRecord, count: int) -> int:
    """How many tokens `count` documents will have, from what the first round's prompts had."""
    none, most = (run[small_keys(some)[0]].n for some in SMALL)
    return round(none + (most - none) / SMALL[1] * count)


def size(count: int, tokens: Sequence[Json] | None, about: int = 0) -> Any:
    """What a form calls it; `about` where the server's tokens are missing."""
    if tokens:
        return _("%(count)s documents, %(n)s tokens") % {"count": count, "n": len(tokens)}
    if about:
        return _("%(count)s documents, about %(n)s tokens") % {"count": count, "n": about}
    return _("%(count)s documents") % {"count": count}
