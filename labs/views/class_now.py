"""What needs an instructor now: servers in trouble, who waits and since when, faults, and points that stayed open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.decorators import login_required
from django.db.models import F, OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.live.status import Status, statuses
from labs.models import AUTOMATIC, LIVE, Attempt, Course, Endpoint, Grade, GradeEvent, State
from labs.steps import all_steps
from labs.text import N_, Text
from labs.viewing import viewable
from labs.views import reasons
from labs.views.guard import course_of_instructor_or_404

SHOWN = 200
FAULTS_SINCE = timedelta(days=7)

SERVER_STATES: Mapping[str, Text] = {
    Endpoint.State.UNKNOWN: N_("Not asked yet"),
    Endpoint.State.UP: N_("Ready"),
    Endpoint.State.LOADING: N_("Loading its model"),
    Endpoint.State.DOWN: N_("Not reachable"),
    Endpoint.State.RESTING: N_("Left alone after several failures; it is tried again by itself"),
    Endpoint.State.QUARANTINED: N_("Kept out: not the same as the other servers of its pool"),
    Endpoint.State.PAUSED: N_("Paused by an admin"),
}
CANARIES: Mapping[str, Text] = {
    "slots": N_("who is in which slot"),
    "content": N_("tokens come one by one"),
    "prefix": N_("the prefix cache works as taught"),
    "cancel": N_("closing frees the slot"),
}


@dataclass(frozen=True, slots=True)
class Server:
    endpoint: Endpoint
    word: Text
    red: Sequence[tuple[Text, Mapping[str, object]]]
    paused: Sequence[Text]


@dataclass(frozen=True, slots=True)
class Line:
    """`since`: when this state began. `why`: a sentence where there is one."""

    attempt: Attempt
    title: Text | str
    since: object
    status: Status | None = None
    why: Text | None = None
    open_points: int = 0


@login_required
@never_cache
@require_safe
def class_now(request: HttpRequest, course_slug: str) -> HttpResponse:
    course = course_of_instructor_or_404(request, course_slug)
    return render(
        request,
        "labs/class_now.html",
        {
            "course": course,
            "servers": _servers(),
            "live": _live(course),
            "faults": _faults(course),
            "open": _open(course),
            "now": timezone.now(),
            "students": viewable(course),
        },
    )


def _servers() -> list[Server]:
    found = []
    for endpoint in Endpoint.objects.exclude(state=Endpoint.State.REMOVED).order_by("name"):
        red = {name for name, one in endpoint.canaries.items() if not one["green"]}
        found.append(
            Server(
                endpoint,
                SERVER_STATES[endpoint.state],
                [(CANARIES[name], endpoint.canaries[name]["reason"]) for name in sorted(red)],
                [step.title for step in all_steps().values() if step.needs & red],
            )
        )
    return found


def _live(course: Course) -> list[Line]:
    """Those who wait for a server first, by how long; then the rounds that wait for their student."""
    attempts = list(
        Attempt.objects.for_grade()
        .filter(course=course, state__in=LIVE)
        .select_related("user")
        .order_by(F("queued_at").asc(nulls_last=True), "pk")[:SHOWN]
    )
    found = statuses([attempt.pk for attempt in attempts])
    attempts.sort(key=lambda attempt: attempt.state == State.OPEN)
    return [_line(attempt, attempt.changed_at, status=found.get(attempt.pk)) for attempt in attempts]


def _faults(course: Course) -> list[Line]:
    attempts = (
        Attempt.objects.for_grade()
        .filter(course=course, state=State.ERRORED, finished_at__gt=timezone.now() - FAULTS_SINCE)
        .select_related("user")
        .order_by("-finished_at")[:SHOWN]
    )
    return [
        _line(attempt, attempt.finished_at, why=reasons.WHAT_HAPPENED.get(attempt.reason))
        for attempt in attempts
    ]


def _open(course: Course) -> list[Line]:
    """What counts for a student has checks that proved nothing, after all repeats."""
    automatic = GradeEvent.objects.filter(attempt=OuterRef("event__attempt"), kind__in=AUTOMATIC)
    grades = (
        Grade.objects.filter(course=course, event__kind__in=AUTOMATIC)
        .annotate(left=Subquery(automatic.order_by("-created_at", "-pk").values("open_points")[:1]))
        .filter(left__gt=0)
        .select_related("event__attempt__user")
        .order_by("-event__created_at")[:SHOWN]
    )
    return [
        _line(grade.event.attempt, grade.event.created_at, open_points=vars(grade)["left"])
        for grade in grades
    ]


def _line(
    attempt: Attempt,
    since: object,
    *,
    status: Status | None = None,
    why: Text | None = None,
    open_points: int = 0,
) -> Line:
    step = all_steps().get(attempt.step)
    return Line(attempt, step.title if step else attempt.step, since, status, why, open_points)
