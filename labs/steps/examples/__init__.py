"""Worked cases of a step: a student's answers, played against a server that is modelled or was recorded.

`played` takes a step's own forms and plans, so an example can hold nothing that a student could not post.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Protocol

from labs.grading.checks import Verdict
from labs.measure.plan import Plan
from labs.measure.recording import RunRecord
from labs.steps.base import Example, RoundSeen, Seen, Step
from labs.steps.examples.server import SANE, ModelServer
from labs.steps.fields import as_post
from labs.text import Json

# By round and field: what the student posts instead of the sample, or a function of the sample's value and the
# challenge.
Answers = Mapping[str, Mapping[str, Any]]


class Server(Protocol):
    """What a step is played against: the model, or an adapter to a real server."""

    def pieces(self, messages: Sequence[Mapping[str, str]]) -> list[Json]: ...
    def run(self, plan: Plan, rng: random.Random) -> RunRecord: ...


def play(
    step: Step,
    server: Server = SANE,
    answers: Answers | None = None,
    seed: int = 7,
    rounds: int | None = None,
) -> Seen:
    """The step's first `rounds` rounds, or all. Raises ValueError where a form refuses the answers."""
    seen = Seen()
    for round_ in step.rounds[:rounds]:
        rng = random.Random(f"{step.key}:{round_.key}:{seed}")  # noqa: S311
        challenge = round_.challenge(rng, seen)
        tokens = {name: server.pieces(m) for name, m in round_.tokenise(challenge).items()}
        post = dict(round_.sample(challenge, seen, tokens))
        for name, value in (answers or {}).get(round_.key, {}).items():
            post[name] = value(post.get(name), challenge) if callable(value) else value
        form = round_.Form(as_post(post), challenge=challenge, seen=seen, tokens=tokens)
        if not form.is_valid():
            raise ValueError(f"{step.key} {round_.key}: {form.errors.as_json()}")
        given = form.answers()
        plan = round_.plan(challenge, given, seen)
        run = server.run(plan, rng) if plan is not None else None
        seen[round_.key] = RoundSeen(round_.key, challenge, given, run)
    return seen


def played(
    step: Step,
    name: str,
    kind: Literal["pass", "fail", "inconclusive"],
    verdicts: Mapping[str, Verdict],
    *,
    answers: Answers | None = None,
    server: ModelServer = SANE,
) -> Example:
    """An example. Raises ValueError where its kind does not fit: a fail is the answers' doing alone, an inconclusive
    the server's alone."""
    fits = {
        "pass": not answers and server == SANE,
        "fail": bool(answers) and server == SANE,
        "inconclusive": not answers and server != SANE,
    }
    if not fits[kind]:
        raise ValueError(f"{name} is no {kind!r} example")
    seen: Callable[[], Seen] = partial(play, step, server, answers)
    return Example(name=name, kind=kind, seen=seen, verdicts=verdicts)


def with_verdict(keys: tuple[str, ...], verdict: Verdict, **others: Verdict) -> dict[str, Verdict]:
    """The same verdict for all keys but those named (with `_` for `-`)."""
    return {**dict.fromkeys(keys, verdict), **{k.replace("_", "-"): v for k, v in others.items()}}
