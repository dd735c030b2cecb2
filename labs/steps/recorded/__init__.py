"""What was recorded from a real server: examples, one JSON file each (`<step>.<name>.json`, as `to_json` writes
them), and runs that are shown to everybody (`<name>.json`, as `keep_runs` writes them)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from labs.grading.checks import Verdict
from labs.measure.frames import pack_frames, unpack_frames
from labs.measure.recording import Recording, RunRecord, ServerFacts
from labs.steps.base import Example, RoundSeen, Seen
from labs.text import Json

FOLDER = Path(__file__).parent


def examples(step_key: str) -> Sequence[Example]:
    """The recorded examples of a step, by file name."""
    found = []
    for path in sorted(FOLDER.glob(f"{step_key}.*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        found.append(
            Example(
                name=data["name"],
                kind=data["kind"],
                seen=partial(seen_from_json, data["rounds"]),
                verdicts={key: Verdict(value) for key, value in data["verdicts"].items()},
            )
        )
    return found


def to_json(name: str, kind: str, seen: Seen, verdicts: dict[str, Verdict]) -> Json:
    """What one file holds. Frames are packed as they are in the database, then base64."""
    return {
        "name": name,
        "kind": kind,
        "verdicts": {key: str(value) for key, value in verdicts.items()},
        "rounds": [
            {
                "key": row.key,
                "challenge": row.challenge,
                "answers": row.answers,
                "run": _run_to_json(row.run) if row.run is not None else None,
            }
            for row in seen.values()
        ],
    }


def seen_from_json(rounds: Sequence[Json]) -> Seen:
    seen = Seen()
    for row in rounds:
        run = _run_from_json(row["run"]) if row["run"] is not None else None
        seen[row["key"]] = RoundSeen(row["key"], row["challenge"], row["answers"], run)
    return seen


@cache
def kept_runs(name: str) -> Mapping[str, RunRecord]:
    """The runs of a stored replay, by what was different between them."""
    data = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {key: _run_from_json(run) for key, run in data["runs"].items()}


def keep_runs(name: str, runs: Mapping[str, RunRecord], how: str) -> None:
    """`how` is the command that records them again."""
    data = {"how": how, "runs": {key: _run_to_json(run) for key, run in runs.items()}}
    (FOLDER / f"{name}.json").write_text(json.dumps(data) + "\n", encoding="utf-8")


RUN_FACTS = ("lab_line", "lab_line_tokens", "head_tokens", "metrics_agree", "foreign_tasks", "note")


def _run_to_json(run: RunRecord) -> Json:
    data: Json = {name: getattr(run, name) for name in RUN_FACTS}
    data["server"] = run.server.to_json()
    data["recordings"] = [
        {**r.to_json(), "frames": base64.b64encode(pack_frames(r.frames)).decode()}
        for r in run.recordings.values()
    ]
    return data


def _run_from_json(data: Json) -> RunRecord:
    facts: dict[str, Any] = {name: data[name] for name in RUN_FACTS}
    recordings = {}
    for row in data["recordings"]:
        fields = dict(row)
        frames = unpack_frames(base64.b64decode(fields.pop("frames")))
        recordings[row["key"]] = Recording.from_json(fields, frames)
    return RunRecord(recordings=recordings, server=ServerFacts.from_json(data["server"]), **facts)
