"""Boards: what stands where, for whom. One function builds what the class sees and what its instructors see."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from labs.measure.ranking import board_order, ranks, shown_value
from labs.measure.stats import median, median_interval
from labs.models import Attempt, BoardEntry, BoardName, BoardState, Course, Enrolment, Role
from labs.terms import held_steps
from labs.text import N_, Json, Text

Audience = Literal["class", "staff"]
# Which of a student's entries counts.
Counts = Literal["newest", "first", "best"]
CERTAIN = 0.95
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True, slots=True)
class Rules:
    """What a board is. `ranked`: smallest first; otherwise it is a distribution to look at. `digits` are those shown,
    and what is shown is what ranks."""

    key: str
    title: Text
    you_may: Text
    same_for_all: Text
    counts: Counts
    ranked: bool
    unit: str
    value_head: Text
    columns: Mapping[str, Text]
    digits: int = 1


BOARDS: Mapping[str, Rules] = {
    rules.key: rules
    for rules in (
        Rules(
            "ttft",
            N_("The class's TTFT"),
            N_("Nothing: this shows how much the same work varies. It is no race."),
            N_("Prompts of the same length within 2 %, the server, the slot, cold once and warm once."),
            "newest",
            False,
            "ms",
            N_("cold"),
            {"warm_ms": N_("warm, ms"), "n": N_("prompt tokens")},
        ),
        Rules(
            "predictor",
            N_("Best predictor"),
            N_("Your prediction for 12 documents. Only your first attempt counts."),
            N_("The documents' lengths, and the server. Compared with the faster of two runs."),
            "first",
            True,
            "%",
            N_("off by"),
            {"said_ms": N_("predicted, ms"), "fastest_ms": N_("measured, ms")},
        ),
        Rules(
            "voice",
            N_("Voice turn"),
            N_(
                "The order of blocks, which documents ride, the style line, max_tokens. Your best attempt counts."
            ),
            N_(
                "The model, the facts, the questions, the clock, and the pace: 4.5 ms a prompt token, 9 ms a token."
            ),
            "best",
            True,
            "ms",
            N_("five turns, counted"),
            {
                "prompt_n": N_("prompt tokens computed"),
                "sentence_tokens": N_("tokens to the first sentences' ends"),
                "opened_ms": N_("measured median, ms"),
            },
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Place:
    """One student's entry that counts. Ranks stand over all who take part, also those who are not shown."""

    user_id: int
    rank: int | None
    value: float
    detail: Json
    attempt: str


@dataclass(frozen=True, slots=True)
class Standing:
    """A board without names: what is kept when it is frozen. `older`: entries that counted with other servers or
    versions, which may not stand beside these."""

    places: Sequence[Place]
    median: float | None = None
    low: float | None = None
    high: float | None = None
    older: int = 0

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Standing:
        return cls(**{**data, "places": [Place(**place) for place in data["places"]]})


@dataclass(frozen=True, slots=True)
class Row:
    """`who` is the name for the class; instructors get the `user`. `columns` in the order of the board's rules.
    `attempt` leads an instructor to the evidence; "" for the class."""

    who: str
    user: User | None
    place: Place
    columns: Sequence[float | int | None]
    attempt: str
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class Board:
    """What one audience sees."""

    rules: Rules
    version: int
    rows: Sequence[Row]
    standing: Standing
    frozen_at: datetime | None


def board_for(course: Course, key: str, audience: Audience) -> Board:
    """The class sees a frozen board as it stood; its instructors see the present, and that it is frozen. Names and
    absences are those of now for both. The class sees nothing of a step whose scores are held back. At most seven
    queries, however many entries there are."""
    state = BoardState.objects.filter(course=course, board=key).first() or BoardState(
        course=course, board=key
    )
    taking_part = _taking_part(course.pk)
    is_frozen = audience == "class" and state.frozen is not None
    now = (
        Standing.from_json(state.frozen or {})
        if is_frozen
        else _standing(course.pk, BOARDS[key], taking_part)
    )
    if audience == "class" and (held := held_steps(course, timezone.now())):
        now = _without(now, held)
    return Board(
        BOARDS[key],
        state.version,
        _rows(course.pk, BOARDS[key], now, audience, taking_part),
        now,
        state.frozen_at,
    )


def _without(standing: Standing, held: Collection[str]) -> Standing:
    """No place that an attempt at these steps has, nor a figure to which it adds."""
    ids = [place.attempt for place in standing.places]
    hidden = {
        str(pk) for pk in Attempt.objects.filter(pk__in=ids, step__in=held).values_list("pk", flat=True)
    }
    if not hidden:
        return standing
    return Standing([place for place in standing.places if place.attempt not in hidden])


def standing_of(course_id: int, key: str) -> Standing:
    """From the entries as they are."""
    return _standing(course_id, BOARDS[key], _taking_part(course_id))


def _taking_part(course_id: int) -> set[int]:
    """Students; an instructor who tries a step takes nobody's rank."""
    students = Enrolment.objects.active().filter(course_id=course_id, role=Role.STUDENT, user__is_active=True)
    return set(students.values_list("user_id", flat=True))


def _standing(course_id: int, rules: Rules, taking_part: set[int]) -> Standing:
    # In the order in which they came, so that ties have one order everywhere.
    counting = sorted(counting_entries(course_id, rules.key), key=lambda entry: entry.pk)
    entries = [entry for entry in counting if entry.user_id in taking_part]
    shown_class = _largest(entries)
    counted = [entry for entry in entries if entry.comparable == shown_class]
    values = [entry.value for entry in counted]
    rank_of = ranks(values, rules.digits) if rules.ranked else [None] * len(values)
    # Five values cannot say anything with that much certainty.
    interval = found if (found := median_interval(values)) and found.coverage >= CERTAIN else None

    def shown(value: float | None) -> float | None:
        return shown_value(value, rules.digits)

    return Standing(
        places=[
            Place(
                counted[i].user_id,
                rank_of[i],
                round(counted[i].value, rules.digits),
                counted[i].detail,
                str(counted[i].attempt_id),
            )
            for i in board_order(values, rules.digits)
        ],
        median=shown(median(values)),
        low=shown(interval.low) if interval else None,
        high=shown(interval.high) if interval else None,
        older=sum(entry.comparable != shown_class for entry in entries),
    )


def _rows(
    course_id: int, rules: Rules, standing: Standing, audience: Audience, taking_part: set[int]
) -> list[Row]:
    """The one place where it is decided who reads which name, and who is left out."""
    chosen = {name.user_id: name for name in BoardName.objects.filter(course_id=course_id)}
    users = User.objects.in_bulk([place.user_id for place in standing.places]) if audience == "staff" else {}
    rows = []
    for place in standing.places:
        own = chosen.get(place.user_id)
        is_hidden = own is not None and own.is_hidden
        if place.user_id not in taking_part or (is_hidden and audience == "class"):
            continue
        who = own.name if own is not None and own.name else code_name(course_id, place.user_id)
        columns = [place.detail.get(key) for key in rules.columns]
        rows.append(
            Row(
                who,
                users.get(place.user_id),
                place,
                columns,
                place.attempt if audience == "staff" else "",
                is_hidden,
            )
        )
    return rows


def code_name(course_id: int, user_id: int) -> str:
    """What a student is called who chose no name: the same each time, and nobody can tell whose it is."""
    about = f"board:{course_id}:{user_id}".encode()
    digest = hmac.digest(settings.SECRET_KEY.encode(), about, "sha256")
    parts = (CONSONANTS, VOWELS) * 3
    return "".join(part[byte % len(part)] for part, byte in zip(parts, digest, strict=False))


def counting_entries(course_id: int, board: str) -> QuerySet[BoardEntry]:
    """One of each student and class. In no order: SQLite would go through all entries of the course for one."""
    return BoardEntry.objects.filter(course_id=course_id, board=board, counts=True).order_by()


def _largest(entries: Sequence[BoardEntry]) -> str:
    """The class of most students, the newer of equal ones: with two unlike servers a board must not flip with each
    attempt. `entries`: one of each student and class, oldest first."""
    students = Counter(entry.comparable for entry in entries)
    newest = {entry.comparable: entry.pk for entry in entries}
    return max(students, key=lambda name: (students[name], newest[name]), default="")


def the_one_that_counts(entry: BoardEntry) -> BoardEntry | None:
    """Among the student's entries of this entry's board and class. None: the first attempt was of another class."""
    own = BoardEntry.objects.filter(
        course_id=entry.course_id, board=entry.board, comparable=entry.comparable, user_id=entry.user_id
    )
    match BOARDS[entry.board].counts:
        case "newest":
            return own.order_by("-pk").first()
        case "first":
            return own.filter(is_first=True).order_by("pk").first()
        case "best":
            return own.order_by("value", "pk").first()
