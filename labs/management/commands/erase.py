"""`manage.py erase`: after a course's end its students' personal data go; points stay under code names."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from labs.actions.erase.apply import erase_some, finish
from labs.actions.erase.plan import due_courses, people
from labs.ends import erases_at
from labs.models import Course


class Command(BaseCommand):
    help = "Erases names, logins, addresses, answers and recordings of courses that ended. Points and totals stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--course", help="this one (its slug), whether it is due or not; it must have ended"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and change nothing")

    def handle(self, *args: Any, course: str | None, dry_run: bool, **options: Any) -> None:
        now = timezone.now()
        if course is None:
            found = list(due_courses(now))
        else:
            found = list(Course.objects.filter(slug=course))
            if not found:
                raise CommandError(f"There is no course {course}.")
            if not found[0].has_ended(now):
                raise CommandError(f"{course} has not ended: set its end first. Nothing was changed.")
        if not found:
            self.stdout.write("No course is due.")
        for one in found:
            self._preview(one)
            if not dry_run:
                while erase_some(one):
                    pass
                is_done = finish(one, by=None)
                self.stdout.write(
                    "erased." if is_done else "erased but for those that wait; run it again later."
                )

    def _preview(self, course: Course) -> None:
        at = erases_at(course)
        due = f"due {at:%Y-%m-%d}" if at else "by hand"
        self.stdout.write(f"{course.slug}, ended {course.ends_at:%Y-%m-%d}, {due}:")
        for person in people(course):
            fate = "waits: an attempt is under way" if person.waits else "account deleted"
            if person.keeps_account and not person.waits:
                fate = "account kept, it is needed elsewhere"
            self.stdout.write(
                f"  {person.enrolment.user.get_username()}: {person.attempts} attempts, "
                f"{person.recordings_with_frames} recordings with frames; {fate}"
            )
