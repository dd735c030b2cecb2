"""One attempt as files: what was answered, asked, measured and judged."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from datetime import datetime

from django.contrib.auth.models import User
from django.core.serializers.json import DjangoJSONEncoder

from labs.measure.frames import unpack_frames
from labs.models import Attempt, FrameStore, GradeEvent, Run, StoredRecording
from labs.tables.zipped import Member
from labs.text import Json


def members_of(attempt: Attempt, *, hides: bool) -> Iterator[Member]:
    """A folder of its own: answers, plans, runs and grades, and each recording's frames."""
    folder = f"attempts/{attempt.course.slug}/{attempt.step}/{attempt.created_at:%Y%m%d-%H%M%S}-{attempt.pk}"
    yield f"{folder}/attempt.json", [as_json(_attempt_json(attempt, hides=hides))]
    for run in attempt.runs.all():
        for recording in run.recordings.all():
            store = getattr(recording, "frame_store", None)
            if store is not None:
                yield f"{folder}/frames/run{run.number}-{recording.key}.jsonl", _frame_lines(store)


def _attempt_json(attempt: Attempt, *, hides: bool) -> Json:
    fields = ("id", "step", "step_version", "practice", "state", "reason", "submitted_at", "late_percent")
    runs: dict[int, list[Json]] = {}
    for run in attempt.runs.all():
        runs.setdefault(run.round_id, []).append(_run_json(run, hides=hides))
    return {
        "course": attempt.course.slug,
        **{name: getattr(attempt, name) for name in fields},
        "created_at": attempt.created_at,
        "finished_at": attempt.finished_at,
        "rounds": [
            {
                "number": row.number,
                "key": row.key,
                "locked_at": row.locked_at,
                "challenge": row.challenge,
                "answers": row.answers,
                "plan": row.plan,
                "runs": runs.get(row.pk, []),
            }
            for row in attempt.rounds.all()
        ],
        "grades": "held back" if hides else [_event_json(event) for event in attempt.grade_events.all()],
    }


def _run_json(run: Run, *, hides: bool) -> Json:
    """That a run proved nothing is a verdict too."""
    outcome = Run.Outcome.RECORDED if hides and run.outcome == Run.Outcome.INCONCLUSIVE else run.outcome
    return {
        "number": run.number,
        "outcome": outcome,
        "reason": run.reason,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "facts": run.facts,
        "recordings": [_recording_json(one) for one in run.recordings.all()],
    }


def _recording_json(recording: StoredRecording) -> Json:
    return {"key": recording.key, **recording.data}


def _event_json(event: GradeEvent) -> Json:
    fields = ("kind", "step_version", "limits_version", "points", "open_points", "checks", "evidence_hash")
    return {
        **{name: getattr(event, name) for name in fields},
        "comment": event.comment,
        "by": login_of(event.by),
        "at": event.created_at,
    }


def _frame_lines(store: FrameStore) -> Iterable[bytes]:
    for frame in unpack_frames(bytes(store.blob)):
        line = {"at_us": frame.at_us, "base64": base64.b64encode(frame.data).decode()}
        yield json.dumps(line).encode() + b"\n"


class _Encoder(DjangoJSONEncoder):
    def default(self, o: object) -> object:
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


def as_json(data: object) -> bytes:
    return json.dumps(data, cls=_Encoder, ensure_ascii=False, indent=1).encode()


def login_of(user: User | None) -> str:
    return user.get_username() if user is not None else ""
