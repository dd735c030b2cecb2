"""Raw frames go by policy, in small transactions; grades, figures and evidence hashes stay as they were."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from labs.actions.retention import Retention, preview, remove_frames
from labs.actions.sweep import sweep_once
from labs.models import Attempt, Course, FrameStore, Grade, GradeEvent, Run, State, StoredRecording
from tests.views.rows import attempt_in


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)


def ended(days_ago: float, owner: User, course: Course, **fields: Any) -> Attempt:
    at = timezone.now() - timedelta(days=days_ago)
    return attempt_in(State.GRADED, owner, course, finished_at=at, **fields)


def kept(attempt: Attempt) -> int:
    return FrameStore.objects.filter(recording__run__attempt=attempt).count()


def said(**options: Any) -> str:
    out = StringIO()
    call_command("retention", stdout=out, **options)
    return out.getvalue()


def test_a_preview_changes_nothing_and_tells_what_would_go(owner: User, course: Course) -> None:
    old, new = ended(40, owner, course), ended(3, owner, course)
    before = kept(old), kept(new)
    line = said(days=30, dry_run=True)
    assert f"{kept(old)} recordings of {old.runs.count()} runs" in line
    assert "would remove" in line
    assert preview(30).size_bytes > 0
    assert (kept(old), kept(new)) == before
    assert not Run.objects.exclude(frames_removed_at=None).exists()


def test_old_frames_go_and_all_else_stays(owner: User, course: Course) -> None:
    old, new = ended(40, owner, course), ended(3, owner, course)
    running = attempt_in(State.OPEN, owner, course, step_key="prefill", rounds=1)
    keep = kept(new), kept(running)
    figures = list(StoredRecording.objects.order_by("pk").values_list("pk", "data"))
    grades = list(GradeEvent.objects.order_by("pk").values_list("pk", "points", "checks", "evidence_hash"))
    assert "removed the raw frames" in said(days=30)
    assert kept(old) == 0
    assert (kept(new), kept(running)) == keep
    assert old.runs.filter(frames_removed_at=None).count() == 0
    assert not (new.runs.all() | running.runs.all()).exclude(frames_removed_at=None).exists()
    assert list(StoredRecording.objects.order_by("pk").values_list("pk", "data")) == figures
    now = list(GradeEvent.objects.order_by("pk").values_list("pk", "points", "checks", "evidence_hash"))
    assert now == grades
    assert Grade.objects.count() == 1
    assert preview(30).runs == 0


def test_each_transaction_is_small_and_the_oldest_go_first(owner: User, course: Course) -> None:
    older, old = ended(50, owner, course), ended(40, owner, course)
    assert remove_frames(30, runs_at_once=1) == 1
    assert older.runs.exclude(frames_removed_at=None).count() == 1
    assert kept(old) == sum(run.recordings.count() for run in old.runs.all())
    while remove_frames(30, runs_at_once=1):
        pass
    assert not FrameStore.objects.exists()


def test_the_sweep_does_it_where_a_policy_is_set(
    owner: User, course: Course, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.actions.sweep._retention", Retention())
    old = ended(40, owner, course)
    sweep_once()
    assert kept(old), "without a policy nothing goes"
    settings.LABHUB_FRAMES_DAYS = 30
    sweep_once()
    assert kept(old) == 0


def test_without_a_policy_the_command_refuses() -> None:
    with pytest.raises(CommandError, match="LABHUB_FRAMES_DAYS"):
        said()
