"""Canaries: small known plans that tell whether a server does what a step takes for granted (DESIGN 6.8).

A canary asks nothing of a student. A red one pauses the steps that need it on that server, with its sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from labs.grading.freed import not_freed, read_cut
from labs.grading.sane import Fault, cold, first_fault, hit, ours, served, whole
from labs.measure.plan import Ask, Close, End, Plan
from labs.measure.recording import Figures, RunRecord
from labs.text import N_

CUT_AFTER_MS = 300
# Of an answer of at least so many tokens, which came in less than this share of the time that writing them took.
LEAST_TOKENS, CLOSE_SHARE = 8, 0.3
WRITTEN = 400  # tokens that a cut ask may write: far more than it can before it is cut
FACTS = (
    "The lighthouse of Kestrel Point was lit in 1871. ",
    "The bakery on Mill Lane opens at six and sells rye bread. ",
    "Ferry number nine carries forty bicycles. ",
    "The museum keeps a brass clock from the old station. ",
    "Anna Lund planted the chestnut trees by the canal. ",
    "The night bus stops at the harbour gate. ",
)


@dataclass(frozen=True, slots=True)
class Canary:
    plan: Plan
    judge: Callable[[RunRecord], Fault | None]


def _ask(key: str, front: str, tail: str, *, max_tokens: int = 2, end: End | None = None) -> Ask:
    text = f"{front}{''.join(FACTS)}{tail}"
    message = {"role": "user", "content": text}
    cut = {} if end is None else {"end": end, "ignore_eos": True}
    return Ask(
        key,
        (message,),
        max_tokens,
        lab_line=True,
        about_prompt_tokens=120,
        **cut,  # type: ignore[arg-type]
    )


def _slots_fault(run: RunRecord) -> Fault | None:
    return ours(run["seen"])


def _content_fault(run: RunRecord) -> Fault | None:
    asked = run["content"]
    if asked.figures.first_token_us is None:
        return Fault(N_("The server ended its answer without a word."))
    if asked.figures.buffered or _came_too_close(asked.figures):
        return Fault(
            N_("The whole answer came at once: something between here and the server holds the stream back.")
        )
    return whole(asked)


def _came_too_close(figures: Figures) -> bool:
    """The tokens came in far less time than the server took to write them: they waited on the way, headers and all."""
    first_us, last_us, wrote_ms = figures.first_token_us, figures.last_token_us, figures.predicted_ms
    if first_us is None or last_us is None or not wrote_ms or (figures.predicted_n or 0) < LEAST_TOKENS:
        return False
    return (last_us - first_us) / 1000 < wrote_ms * CLOSE_SHARE


def _prefix_fault(run: RunRecord) -> Fault | None:
    """Cold, again, another end, another front, and the first once more, which nobody may have kept elsewhere."""
    first, again, tail, front, back = (run[key] for key in ("cold", "again", "tail", "front", "back"))
    return first_fault(
        *(whole(one) for one in (first, again, tail, front, back)),
        cold(first, run),
        hit(again),
        served(again, first, run),
        served(tail, again, run),
        served(front, tail, run),
        served(back, front, run),
    )


def _cancel_fault(run: RunRecord) -> Fault | None:
    cuts = (run["writing"], run["reading"])
    return first_fault(*(not_freed(one, read_cut(one, WRITTEN, run.server)) for one in cuts))


_LONG = "".join(f"{number}. {fact}" for number in range(1, 5) for fact in FACTS)

CANARIES: Mapping[str, Canary] = {
    "slots": Canary(Plan((_ask("seen", "", "What is this about?", max_tokens=8),)), _slots_fault),
    "content": Canary(Plan((_ask("content", "", "What opens at six?", max_tokens=24),)), _content_fault),
    "prefix": Canary(
        Plan(
            (
                _ask("cold", "", "Who planted the trees?"),
                _ask("again", "", "Who planted the trees?"),
                _ask("tail", "", "How many bicycles does the ferry carry?"),
                _ask("front", "It is nine. ", "How many bicycles does the ferry carry?"),
                _ask("back", "", "Who planted the trees?"),
            )
        ),
        _prefix_fault,
    ),
    "cancel": Canary(
        Plan(
            (
                _ask("writing", "", "Tell it all.", max_tokens=WRITTEN, end=Close(1200)),
                _ask("reading", _LONG, "Tell it all.", max_tokens=WRITTEN, end=Close(CUT_AFTER_MS)),
            )
        ),
        _cancel_fault,
    ),
}
