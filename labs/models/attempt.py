"""Attempt 1-n round, round 1-n run, run 1-n recording. Frames sit in a table of their own."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from labs.models.course import Course
from labs.models.endpoint import Endpoint


class State(models.TextChoices):
    OPEN = "open"
    QUEUED = "queued"
    RUNNING = "running"
    GRADED = "graded"
    CANCELLED = "cancelled"
    ERRORED = "errored"


LIVE = (State.OPEN, State.QUEUED, State.RUNNING)
TERMINAL = (State.GRADED, State.CANCELLED, State.ERRORED)


class Reason(models.TextChoices):
    """Why an attempt is errored or a run was lost. A closed list (DESIGN 4); `grader_error` is a fault of ours."""

    NONE = ""
    ENDPOINT_DOWN = "endpoint_down"
    FIRST_TOKEN_TIMEOUT = "first_token_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    TIME_LIMIT = "time_limit"
    WORKER_LOST = "worker_lost"
    BAD_STREAM = "bad_stream"
    SLOT_DISTURBED = "slot_disturbed"
    STEP_PAUSED = "step_paused"
    REJECTED_BY_SERVER = "rejected_by_server"
    GRADER_ERROR = "grader_error"
    ENDED_BY_ADMIN = "ended_by_admin"


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def for_grade(self) -> AttemptQuerySet:
        """Those that can count for something. Practice counts nowhere, so whatever adds attempts up asks this."""
        return self.filter(practice=False)

    def in_line(self) -> AttemptQuerySet:
        """Those that wait for a server: not for a partner's answers, nor for the end of a partner's run."""
        return self.filter(Q(partner_until=None) | Q(partner_until__lte=Now()), rides_on=None)


class Attempt(models.Model):
    """One student's try at one step. `version` grows with every change of state, so a page can tell news from old.

    `seed_number` is how many charged attempts came before: an uncharged repeat draws the same inputs again.
    `submitted_at`: when its first round arrived here, or that of the one it repeats after a fault; by that it lost
    `late_percent` of its points, frozen then.
    `queued_at` orders the queue; an attempt that returns keeps it, and so stands at the head again (`returned`).
    `practice`: on inputs of its own, behind all graded attempts. Never charged, never a grade nor on a board; its
    `seed_number` counts the practice attempts before it.
    `pair`: on inputs that both members share, the pair's `pair_number`th. Its own round waits for the partner's
    answers until `partner_until`, or it `rides_on` the partner's attempt, whose run then counts for both.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    course = models.ForeignKey(Course, models.CASCADE, related_name="attempts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="attempts")
    step = models.SlugField()
    step_version = models.PositiveSmallIntegerField()
    seed_number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=16, choices=State.choices)
    reason = models.CharField(max_length=32, choices=Reason.choices, blank=True)
    reason_detail = models.CharField(max_length=500, blank=True)
    version = models.PositiveIntegerField(default=1)
    practice = models.BooleanField(default=False)
    pair = models.ForeignKey("Pair", models.SET_NULL, null=True, blank=True, related_name="attempts")
    pair_number = models.PositiveSmallIntegerField(default=0)
    partner_until = models.DateTimeField(null=True, blank=True)
    rides_on = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="riders", db_index=False
    )
    charged = models.BooleanField(default=True)
    returned = models.BooleanField(default=False)
    cancel_requested = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(default=timezone.now)
    late_percent = models.PositiveSmallIntegerField(default=0)
    queued_at = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user"], condition=Q(state__in=["queued", "running"]), name="one_queued_or_running"
            ),
            models.UniqueConstraint(
                fields=["user", "course", "step"],
                condition=Q(state__in=["open", "queued", "running"]),
                name="one_live_attempt_a_step",
            ),
        ]
        indexes = [
            models.Index(fields=["state", "queued_at"]),
            models.Index(fields=["user", "course", "step", "-created_at"]),
            # A course's live and ended attempts beside all its graded ones: class now and the gradebook.
            models.Index(fields=["course", "state", "finished_at"]),
            # Of riders alone: in a whole one SQLite looks for all who ride on nothing, which is nearly everybody.
            models.Index(fields=["rides_on"], condition=Q(rides_on__isnull=False), name="attempts_that_ride"),
        ]

    def __str__(self) -> str:
        return f"{self.step} of {self.user_id}: {self.state}"

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL


class AttemptCount(models.Model):
    """How many attempts of a step were charged to a student: a counter bumped by conditional UPDATE."""

    course = models.ForeignKey(Course, models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    step = models.SlugField()
    charged = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["course", "user", "step"], name="one_count_a_step")]


class Round(models.Model):
    """Locked answers and the plan frozen from them. `submit_key` makes a repeated POST find the same round."""

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="rounds")
    number = models.PositiveSmallIntegerField()
    key = models.SlugField()
    submit_key = models.UUIDField(unique=True)
    challenge = models.JSONField()
    answers = models.JSONField()
    plan = models.JSONField(null=True)
    locked_at = models.DateTimeField(auto_now_add=True)
    accepted_run = models.OneToOneField("Run", models.SET_NULL, null=True, related_name="accepts")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "number"], name="one_round_a_number")]
        ordering = ["number"]


class Run(models.Model):
    """One execution of a round's plan. `number` counts within the attempt; `token` is the lease's fencing token.

    `copy_of`: the run of the partner in a pair that was measured for both; this row and its recordings are a copy, so
    that an attempt holds all that its pages and graders read.

    `frames_removed_at`: when its recordings lost their raw frames by policy (labs/actions/retention.py).
    """

    class Outcome(models.TextChoices):
        NONE = ""
        RECORDED = "recorded"
        DISTURBED = "disturbed"
        INCONCLUSIVE = "inconclusive"
        CANCELLED = "cancelled"
        LOST = "lost"
        ERRORED = "errored"
        NOT_IDLE = "not_idle"

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="runs")
    round = models.ForeignKey(Round, models.CASCADE, related_name="runs")
    number = models.PositiveSmallIntegerField()
    endpoint = models.ForeignKey(Endpoint, models.PROTECT)
    token = models.BigIntegerField()
    worker = models.CharField(max_length=100)
    outcome = models.CharField(max_length=16, choices=Outcome.choices, blank=True)
    reason = models.CharField(max_length=32, choices=Reason.choices, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    facts = models.JSONField(default=dict)
    copy_of = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="copies")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    frames_removed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "number"], name="one_run_a_number")]
        # The sweep looks every few seconds for those that nobody holds, among all that ever ran.
        indexes = [models.Index(fields=["started_at"], condition=Q(outcome=""), name="runs_under_way")]
        ordering = ["number"]


class StoredRecording(models.Model):
    """`data` is labs.measure.recording.Recording as JSON, without its frames."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="recordings")
    key = models.CharField(max_length=40)
    position = models.PositiveSmallIntegerField()
    data = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="one_recording_a_key")]
        ordering = ["position"]


class FrameStore(models.Model):
    """A recording's frames as `labs.measure.frames.pack_frames` packs them. Purged by policy; figures stay."""

    recording = models.OneToOneField(
        StoredRecording, models.CASCADE, related_name="frame_store", primary_key=True
    )
    blob = models.BinaryField()
