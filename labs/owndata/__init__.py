"""All that is stored of one person, as files for that person. What is held back from them is not in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from axes.models import AccessLog
from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from labs.models import (
    Attempt,
    AuditRow,
    BoardEntry,
    BoardName,
    Course,
    Enrolment,
    Extension,
    Grade,
    Notice,
    PairMember,
    SchoolLink,
    Viewing,
)
from labs.owndata.attempts import as_json, login_of, members_of
from labs.steps import all_steps
from labs.tables.write import Cell, csv_file
from labs.tables.zipped import Member
from labs.terms import Key, counted_points, terms_of
from labs.text import Json

AT_ONCE = 5


@dataclass
class OwnData:
    """Reads as it is asked for, a few attempts at a time."""

    user: User
    held: set[Key] = field(init=False)
    worth: dict[Key, int] = field(init=False)

    def __post_init__(self) -> None:
        """Courses that the person left are among them: their work is there still."""
        now, user = timezone.now(), self.user
        courses = Course.objects.filter(Q(enrolments__user=user) | Q(attempts__user=user)).distinct()
        terms = terms_of(user, courses)
        self.held = {key for key, one in terms.items() if one.hides_scores(now)}
        self.worth = {key: one.worth for key, one in terms.items()}

    def members(self) -> Iterator[Member]:
        yield "about.txt", [about().encode()]
        yield "account.json", [as_json(self._account())]
        tables = {
            "courses": self._courses(),
            "attempts": self._attempts(),
            "grades": self._grades(),
            "extensions": self._extensions(),
            "boards": self._boards(),
            "pairs": self._pairs(),
            "notices": self._notices(),
            "viewings": self._viewings(),
            "changes": self._changes(),
            "logins": self._logins(),
        }
        for name, rows in tables.items():
            yield f"{name}.csv", [csv_file(rows)]
        ids = list(self._own(Attempt.objects.order_by("created_at", "pk")).values_list("pk", flat=True))
        for first in range(0, len(ids), AT_ONCE):
            some = Attempt.objects.filter(pk__in=ids[first : first + AT_ONCE]).order_by("created_at", "pk")
            for attempt in some.select_related("course").prefetch_related(
                "rounds", "runs__recordings__frame_store", "grade_events__by"
            ):
                yield from members_of(attempt, hides=self._hides(attempt))

    def _own(self, rows: Any) -> Any:
        return rows.filter(user=self.user)

    def _hides(self, attempt: Attempt) -> bool:
        return (attempt.course_id, attempt.step) in self.held

    def _account(self) -> Json:
        user = self.user
        names = ("username", "first_name", "last_name", "email", "date_joined", "last_login", "is_active")
        linked = self._own(SchoolLink.objects.order_by("pk"))
        return {
            **{name: getattr(user, name) for name in names},
            "school_logins": [{"subject": one.subject, "since": one.made_at} for one in linked],
        }

    def _courses(self) -> Iterator[Sequence[Cell]]:
        names = {name.course_id: name for name in self._own(BoardName.objects)}
        yield "course", "title", "role", "student_number", "left_at", "board_name", "hidden_on_boards"
        for row in self._own(Enrolment.objects.select_related("course").order_by("pk")):
            name = names.get(row.course_id)
            yield (
                row.course.slug,
                row.course.title,
                row.role,
                row.number,
                _at(row.left_at),
                name.name if name else "",
                "yes" if name and name.is_hidden else "no",
            )

    def _attempts(self) -> Iterator[Sequence[Cell]]:
        yield (
            "course",
            "step",
            "attempt",
            "practice",
            "state",
            "reason",
            "submitted_at",
            "ended_at",
            "late_percent",
        )
        for row in self._own(Attempt.objects.select_related("course").order_by("created_at", "pk")):
            yield (
                row.course.slug,
                row.step,
                str(row.pk),
                "yes" if row.practice else "no",
                row.state,
                row.reason,
                _at(row.submitted_at),
                _at(row.finished_at),
                row.late_percent,
            )

    def _grades(self) -> Iterator[Sequence[Cell]]:
        yield "course", "step", "points", "of", "by_hand", "comment", "attempt", "at"
        for row in self._own(Grade.objects.select_related("course", "event__attempt").order_by("pk")):
            key, step = (row.course_id, row.step), all_steps().get(row.step)
            if key in self.held or step is None:
                continue
            event = row.event
            yield (
                row.course.slug,
                row.step,
                counted_points(event, event.attempt, step, self.worth[key]),
                self.worth[key],
                "yes" if row.is_overridden else "no",
                event.comment,
                str(event.attempt_id),
                _at(event.created_at),
            )

    def _extensions(self) -> Iterator[Sequence[Cell]]:
        yield "course", "step", "days", "due_at", "extra_attempts", "why", "by", "at"
        for row in self._own(Extension.objects.select_related("course", "by")):
            yield (
                row.course.slug,
                row.step,
                row.days,
                _at(row.due_at),
                row.extra_attempts,
                row.why,
                login_of(row.by),
                _at(row.created_at),
            )

    def _boards(self) -> Iterator[Sequence[Cell]]:
        yield "course", "board", "value", "detail", "attempt", "at"
        for row in self._own(BoardEntry.objects.select_related("course", "attempt")):
            if not self._hides(row.attempt):
                detail = json.dumps(row.detail, ensure_ascii=False)
                yield row.course.slug, row.board, row.value, detail, str(row.attempt_id), _at(row.created_at)

    def _pairs(self) -> Iterator[Sequence[Cell]]:
        yield "course", "partner", "began_at", "ended_at"
        parts = self._own(PairMember.objects.select_related("course", "pair").order_by("pk"))
        for part in parts.prefetch_related("pair__members__user"):
            others = [one.user for one in part.pair.members.all() if one.user_id != self.user.pk]
            partner = ", ".join(login_of(one) for one in others)
            yield part.course.slug, partner, _at(part.pair.began_at), _at(part.ended_at)

    def _notices(self) -> Iterator[Sequence[Cell]]:
        """Without what they say of points: that stands in the grades, where it may be known."""
        yield "course", "kind", "step", "attempt", "by", "at", "read_at"
        for row in self._own(Notice.objects.select_related("course", "by").order_by("pk")):
            yield (
                row.course.slug,
                row.kind,
                row.step,
                str(row.attempt_id or ""),
                login_of(row.by),
                _at(row.at),
                _at(row.read_at),
            )

    def _viewings(self) -> Iterator[Sequence[Cell]]:
        yield "course", "by", "began_at", "ended_at"
        rows = Viewing.objects.filter(whom=self.user).select_related("course", "by").order_by("pk")
        for row in rows:
            yield row.course.slug, login_of(row.by), _at(row.began_at), _at(row.ended_at)

    def _changes(self) -> Iterator[Sequence[Cell]]:
        """From the audit. Addresses only of what this person did: those of others are theirs. Without details: they
        hold points, which may be held back."""
        yield "at", "what", "by", "whom", "about", "address"
        rows = AuditRow.objects.filter(Q(whom=self.user) | Q(by=self.user)).order_by("pk")
        for row in rows:
            if (row.course_id or 0, row.what) not in self.held:
                own = row.by_id == self.user.pk
                yield (
                    _at(row.at),
                    row.verb,
                    row.by_login,
                    row.whom_login,
                    row.what,
                    row.address if own else "",
                )

    def _logins(self) -> Iterator[Sequence[Cell]]:
        yield "at", "until", "address", "browser"
        for row in AccessLog.objects.filter(username=self.user.get_username()).order_by("pk"):
            yield _at(row.attempt_time), _at(row.logout_time), row.ip_address, row.user_agent


def about() -> str:
    return _(
        "Everything that this site stores of you, as it was when you downloaded it.\n\n"
        "*.csv are tables for any spreadsheet; an apostrophe in front of a cell keeps it from being taken for a"
        " formula. attempts/ holds a folder for each attempt: attempt.json has your answers, the plan, the runs with"
        " their recordings, and the grades with their checks; frames/ has what came off the wire, a line of JSON for"
        " each read, with microseconds since the request was sent and the bytes in base64. Times are in UTC.\n\n"
        "What your course holds back until it is released is left out.\n"
    )


def _at(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at is not None else ""
