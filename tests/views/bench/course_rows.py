"""A course that grows in bulk: students, graded attempts, rows of boards, and a queue."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Max, Model
from django.utils import timezone

from labs.actions.board import count_anew
from labs.boards import BOARDS
from labs.grading.checks import Check, Verdict
from labs.models import (
    Attempt,
    AttemptCount,
    BoardEntry,
    Course,
    Endpoint,
    Enrolment,
    Grade,
    GradeEvent,
    Round,
    State,
)
from labs.steps import all_steps
from labs.text import N_

AT_ONCE = 5000
# The share of entries from before the server was changed: they stand on no board, and are counted.
OLDER_SHARE = 0.1
LONG_CHECK = Check(
    "one-check", "one", N_("Toy"), 5, Verdict.PASS, N_("Because."), {"saw": {"text": "x" * 2000}}
)


@dataclass
class Class:
    """Everything is drawn from one seed: two runs make the same class."""

    course: Course
    students: list[User]
    attempts: int = 0
    rows: int = 0
    _draw: random.Random = field(default_factory=lambda: random.Random(7))

    @classmethod
    def of(cls, students: int) -> Class:
        course = Course.objects.create(slug="bench", title="Bench")
        names = [f"s{n:04}@example.com" for n in range(students)]
        users = User.objects.bulk_create(
            [User(username=name, email=name, first_name=f"학생{n:04}") for n, name in enumerate(names)]
        )
        Enrolment.objects.bulk_create(
            [Enrolment(user=user, course=course, number=f"{n:08}") for n, user in enumerate(users)]
        )
        return cls(course, users)

    def grow(self, attempts: int, rows: int) -> None:
        """To so many attempts, the graded ones with an event of 2 kB, and so many rows of boards. An attempt has one
        row on a board at most: what the graded ones cannot hold, copies of them without an event hold."""
        self._grade(attempts - self.attempts)
        while self.rows < rows:
            self._copy(-(-(rows - self.rows) // len(BOARDS)))
        self._point_at_the_last()
        self._count_anew()

    def queue(self, waiting: int) -> None:
        """The first ones wait for a server that is up."""
        Endpoint.objects.get_or_create(
            name="bench", defaults={"base_url": "http://127.0.0.1:1", "state": Endpoint.State.UP}
        )
        step = all_steps()["toy-0"]
        form = step.rounds[0]
        plan = form.plan({}, {"say": "hello"}, None)  # type: ignore[arg-type]
        made = Attempt.objects.bulk_create(
            [self._attempt(user, "toy-0", State.QUEUED) for user in self.students[:waiting]]
        )
        Round.objects.bulk_create(
            [
                Round(
                    attempt=one,
                    number=1,
                    key=form.key,
                    submit_key=uuid.uuid4(),
                    challenge={},
                    answers={},
                    plan=plan.to_json() if plan else None,
                )
                for one in made
            ]
        )

    def _grade(self, more: int) -> None:
        deal = self._graded(more)
        while some := list(islice(deal, AT_ONCE)):
            made = Attempt.objects.bulk_create(some)
            GradeEvent.objects.bulk_create(
                [
                    GradeEvent(
                        attempt=one,
                        step_version=1,
                        points=self._draw.randint(0, all_steps()[one.step].points),
                        # As large as a real one's, or the bench would flatter.
                        checks=[LONG_CHECK.to_json()],
                        evidence_hash="",
                    )
                    for one in made
                    if one.state == State.GRADED
                ]
            )
            self._enter([one for one in made if one.state == State.GRADED])
            self.attempts += len(made)

    def _graded(self, count: int) -> Iterator[Attempt]:
        """Dealt round the class and its steps. After the first round every seventh ended by a fault."""
        steps = list(all_steps())
        begun = self.attempts
        for number in range(begun, begun + count):
            turn, place = divmod(number, len(self.students))
            fell = turn >= len(steps) and number % 7 == 0
            state = State.ERRORED if fell else State.GRADED
            yield self._attempt(self.students[place], steps[turn % len(steps)], state)

    def _attempt(self, user: User, step: str, state: State) -> Attempt:
        now = timezone.now()
        return Attempt(
            course=self.course,
            user=user,
            step=step,
            step_version=1,
            seed_number=0,
            state=state,
            changed_at=now,
            queued_at=now if state == State.QUEUED else None,
            finished_at=None if state == State.QUEUED else now,
        )

    def _enter(self, attempts: list[Attempt]) -> None:
        made = BoardEntry.objects.bulk_create(
            [
                BoardEntry(
                    course=self.course,
                    user_id=one.user_id,
                    attempt=one,
                    board=board,
                    comparable="older/1" if self._draw.random() < OLDER_SHARE else "newest/1",
                    value=self._draw.uniform(200, 4000),
                    detail={"prompt_n": 900, "sentence_tokens": 60, "opened_ms": 812.5, "warm_ms": 90.1},
                    is_first=self._draw.random() < 0.05,
                )
                for one in attempts
                for board in BOARDS
            ]
        )
        self.rows += len(made)

    def _copy(self, most: int) -> None:
        """Of so many attempts with their rows, inside the database: a million rows one by one take many minutes. The
        copies' values differ from the first ones'."""
        fresh = "lower(hex(randomblob(16)))" if connection.vendor == "sqlite" else "gen_random_uuid()"
        attempt, entry = _columns(Attempt, "id"), _columns(BoardEntry, "id", "attempt_id", "value", "counts")
        with connection.cursor() as cursor:
            cursor.execute(
                f"CREATE TEMPORARY TABLE copied AS SELECT id AS old, {fresh} AS new FROM labs_attempt"
                f" WHERE state = 'graded' LIMIT {most}"
            )
            cursor.execute(
                f"INSERT INTO labs_attempt (id, {attempt})"
                f" SELECT copied.new, {attempt} FROM labs_attempt JOIN copied ON id = copied.old"
            )
            cursor.execute(
                f"INSERT INTO labs_boardentry (attempt_id, value, counts, {entry})"
                f" SELECT copied.new, value + %s, %s, {entry} FROM labs_boardentry"
                f" JOIN copied ON attempt_id = copied.old",
                [self._draw.uniform(-100, 100), False],
            )
            self.rows += cursor.rowcount
            cursor.execute("DROP TABLE copied")

    def _point_at_the_last(self) -> None:
        Grade.objects.filter(course=self.course).delete()
        last = {
            (user, step): pk
            for user, step, pk in GradeEvent.objects.filter(attempt__course=self.course)
            .order_by("pk")
            .values_list("attempt__user_id", "attempt__step", "pk")
            .iterator(AT_ONCE)
        }
        Grade.objects.bulk_create(
            [
                Grade(course=self.course, user_id=user, step=step, event_id=pk)
                for (user, step), pk in last.items()
            ]
        )
        AttemptCount.objects.bulk_create(
            [AttemptCount(course=self.course, user_id=user, step=step, charged=1) for user, step in last],
            ignore_conflicts=True,
        )

    def _count_anew(self) -> None:
        """As the engine chooses: after a student's last attempt in each class."""
        last = (
            BoardEntry.objects.filter(course=self.course)
            .values("board", "comparable", "user")
            .annotate(last=Max("pk"))
            .values_list("last", flat=True)
        )
        for entry in BoardEntry.objects.filter(pk__in=list(last)):
            count_anew(entry)


def _columns(model: type[Model], *but: str) -> str:
    return ", ".join(
        str(field.column) for field in model._meta.local_concrete_fields if field.column not in but
    )
