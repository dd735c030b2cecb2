"""A class with grades at every step, made in bulk."""

from __future__ import annotations

from itertools import cycle, islice

from django.contrib.auth.models import User
from django.utils import timezone

from labs.models import Attempt, Course, Enrolment, Grade, GradeEvent, State
from labs.steps import all_steps

AT_ONCE = 1000


def grade_class(course: Course, students: int, *, attempts: int | None = None) -> list[User]:
    """So many attempts, one a student and step where not said, dealt round the class; the last graded one counts.

    After the first round every seventh ended by a fault. Points differ from student to student and step to step.
    """
    steps = list(all_steps().values())
    users = User.objects.bulk_create(
        [
            User(username=f"s{n:04}@example.com", email=f"s{n:04}@example.com", first_name=f"학생{n:04}")
            for n in range(students)
        ],
        batch_size=AT_ONCE,
    )
    Enrolment.objects.bulk_create(
        [Enrolment(user=user, course=course, number=f"{n:08}") for n, user in enumerate(users)],
        batch_size=AT_ONCE,
    )
    now = timezone.now()
    cells = [(user, step) for user in users for step in steps]
    deal = islice(cycle(cells), len(cells) if attempts is None else attempts)
    rows = [
        Attempt(
            course=course,
            user=user,
            step=step.key,
            step_version=step.version,
            seed_number=turn // len(cells),
            state=State.ERRORED if turn >= len(cells) and turn % 7 == 0 else State.GRADED,
            changed_at=now,
            finished_at=now,
        )
        for turn, (user, step) in enumerate(deal)
    ]
    rows = Attempt.objects.bulk_create(rows, batch_size=AT_ONCE)
    events = GradeEvent.objects.bulk_create(
        [
            GradeEvent(
                attempt=row,
                step_version=row.step_version,
                points=(number * 7) % (all_steps()[row.step].points + 1),
                # As large as a real one's, or the bench would flatter.
                checks=[{"key": "c", "evidence": {"saw": "x" * 2000}}],
                evidence_hash="",
            )
            for number, row in enumerate(rows)
            if row.state == State.GRADED
        ],
        batch_size=AT_ONCE,
    )
    last = {(event.attempt.user_id, event.attempt.step): event for event in events}
    Grade.objects.bulk_create(
        [Grade(course=course, user_id=user, step=step, event=event) for (user, step), event in last.items()],
        batch_size=AT_ONCE,
    )
    return users
