"""What was recorded from a real server: examples, one JSON file each (`<step>.<slug>.json`, as `keep_example` writes
them), and runs that are shown to everybody (`<name>.json`, as `keep_runs` writes them)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

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


def example_json(
    name: str,
    kind: Literal["pass", "fail"],
    seen: Seen,
    verdicts: Mapping[str, Verdict],
    how: Mapping[str, Any],
) -> Json:
    """What one file holds. `how`: the command that records it again, the day, the server's build and model, the seed
    that the challenges were drawn with. Frames are packed as they are in the database, then base64."""
    return {
        "name": name,
        "kind": kind,
        "how": dict(how),
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


def keep_example(step_key: str, slug: str, data: Json) -> Path:
    path = FOLDER / f"{step_key}.{slug}.json"
    path.write_text(_as_text(data), encoding="utf-8")
    return path


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
    (FOLDER / f"{name}.json").write_text(_as_text(data), encoding="utf-8")


def _as_text(data: Json) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


RUN_FACTS = tuple(f.name for f in fields(RunRecord) if f.name not in ("recordings", "server"))


def _run_to_json(run: RunRecord) -> Json:
    data: Json = {name: getattr(run, name) for name in RUN_FACTS}
    data["server"] = run.server.to_json()
    data["recordings"] = [
        {**r.to_json(), "frames": base64.b64encode(pack_frames(r.frames)).decode()}
        for r in run.recordings.values()
    ]
    return data


def _run_from_json(data: Json) -> RunRecord:
    # A recording from before a fact was kept has its default.
    facts: dict[str, Any] = {name: data[name] for name in RUN_FACTS if name in data}
    recordings = {}
    for row in data["recordings"]:
        rest = dict(row)
        frames = unpack_frames(base64.b64decode(rest.pop("frames")))
        recordings[row["key"]] = Recording.from_json(rest, frames)
    return RunRecord(recordings=recordings, server=ServerFacts.from_json(data["server"]), **facts)
