"""Examples from a real server: the model answers of every step, and each wrong answer that asks something else of it.

Wrong answers that ask the same need no recording of their own: the tests hold them against the model answers' run.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from labs.grading.checks import Verdict
from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.measure.recording import RunRecord, ServerFacts
from labs.steps import all_steps, blocks, talk
from labs.steps.base import RoundSeen, Seen, Step
from labs.steps.examples import Answers, play
from labs.steps.recorded import example_json, keep_example
from tests.steps.real_server import RealServer

COMMAND = "scripts/record-examples"
MODEL_ANSWERS = "model-answers"
SEED = 7
# As often as the engine repeats a run that a noisy machine left open.
TRIES = 3
FACTS = ServerFacts(batch=128)
PASS, FAIL = Verdict.PASS, Verdict.FAIL


@dataclass(frozen=True, slots=True)
class Case:
    """Answers that change what is sent, and the checks that they fail."""

    slug: str
    name: str
    answers: Answers
    fails: frozenset[str]


def _order(*names: str) -> str:
    return ",".join(names)


def _without_third(riding: Sequence[str], challenge: Mapping[str, Any]) -> list[str]:
    return [one for one in riding if one != f"3:{talk.Talk.of(dict(challenge)).needed(3)}"]


WRONG: Mapping[str, Sequence[Case]] = {
    "cache-break": (
        Case(
            "same-clock",
            "both clocks alike, on the real server",
            {"guess": {"second_clock": lambda _v, challenge: challenge["clock"]}},
            frozenset({"prediction", "break"}),
        ),
        Case(
            "clock-at-the-end",
            "the clock at the end, on the real server",
            {"guess": {"place": "end", "pick_end": 20}},
            frozenset({"prediction", "break"}),
        ),
        Case(
            "clock-in-front",
            "the clock still in front, on the real server",
            {"repair": {"order": _order(*blocks.PLACES["front"])}},
            frozenset({"repaired"}),
        ),
    ),
    "voice-turn": (
        Case(
            "clock-in-front",
            "the reference layout itself, on the real server",
            {"design": {"order": _order(*talk.REFERENCE_ORDER)}},
            frozenset({"half"}),
        ),
        Case(
            "document-missing",
            "no document that the third turn needs, on the real server",
            {"design": {"riding": _without_third}},
            frozenset({"valid", "half"}),
        ),
        Case(
            "low-cap",
            "a cap that no sentence fits, on the real server",
            {"design": {"max_tokens": 8}},
            frozenset({"sentence"}),
        ),
    ),
}


def record(step: Step, server: RealServer, case: Case | None) -> tuple[Seen, dict[str, Verdict]]:
    """Played until no check is open. Raises ValueError where the checks never come out as claimed."""
    answers, fails = (case.answers, case.fails) if case else (None, frozenset[str]())
    for _ in range(TRIES):
        seen = play(step, server, answers, seed=SEED)
        checks = step.grade(seen)
        verdicts = {check.key: check.verdict for check in checks}
        if all(verdict is (FAIL if key in fails else PASS) for key, verdict in verdicts.items()):
            return seen, verdicts
    said = {check.key: f"{check.verdict}: {check.reason}" for check in checks}
    raise ValueError(f"{step.key}, {case.name if case else MODEL_ANSWERS}: {json.dumps(said, indent=1)}")


def keep(step: Step, server: RealServer, case: Case | None) -> Path:
    seen, verdicts = record(step, server, case)
    props = server.client.props()
    how = {
        "command": COMMAND,
        "on": datetime.now(UTC).date().isoformat(),
        "build": props.build,
        "model": Path(props.model_path).name,
        "seed": SEED,
    }
    name = case.name if case else "model answers, on the real server"
    kind: Literal["pass", "fail"] = "fail" if case else "pass"
    seen = without_paths(seen, f"{Path(props.model_path).parent}/")
    return keep_example(
        step.key, case.slug if case else MODEL_ANSWERS, example_json(name, kind, seen, verdicts, how)
    )


def without_paths(seen: Seen, folder: str) -> Seen:
    """The server tells where its model lies on this machine, which is nobody's business."""

    def cleaned(run: RunRecord) -> RunRecord:
        rows = {key: replace(row, body=row.body.replace(folder, "")) for key, row in run.recordings.items()}
        return replace(run, recordings=rows)

    return Seen(
        {
            key: RoundSeen(row.key, row.challenge, row.answers, cleaned(row.run) if row.run else None)
            for key, row in seen.items()
        }
    )


def main() -> int:
    django.setup()
    steps = all_steps()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help="which steps (all)")
    chosen = parser.parse_args().steps
    if unknown := set(chosen) - set(steps):
        parser.error(f"no such step: {', '.join(sorted(unknown))}")
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedServer(Path(folder)) as started,
        LlamaClient(started.base_url) as client,
    ):
        server = RealServer(client, facts=FACTS)
        for key in chosen or steps:
            for case in (None, *WRONG.get(key, ())):
                path = keep(steps[key], server, case)
                print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
