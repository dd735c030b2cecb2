"""`manage.py regrade`: grade a step again by its present rules, look at what would change, apply or cancel it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from labs.actions.errors import Refused
from labs.actions.regrade.apply import apply, cancel
from labs.actions.regrade.build import build, start
from labs.actions.regrade.report import counts_of, effects_of, kept_of, lines_of, matrix_of
from labs.models import Course, RegradeSet
from labs.steps import all_steps


class Command(BaseCommand):
    help = "Grades a step's attempts again and prints old by new and who would lose. Executes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--course", help="the course's slug")
        parser.add_argument("--step", help="the step's key")
        parser.add_argument("--why", default="", help="what the students are told")
        parser.add_argument(
            "--limit",
            action="append",
            default=[],
            metavar="KEY=N",
            help="a limit to grade by; those not named are the step's own",
        )
        parser.add_argument("--json", action="store_true", help="one line an attempt instead of the summary")
        end = parser.add_mutually_exclusive_group()
        end.add_argument("--apply", type=int, metavar="ID", help="make this preview count")
        end.add_argument("--cancel", type=int, metavar="ID", help="drop this preview")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["apply"] is not None:
            self._end(options["apply"], apply, "applied")
        elif options["cancel"] is not None:
            self._end(options["cancel"], cancel, "cancelled")
        else:
            self._preview(**options)

    def _end(self, pk: int, end: Any, word: str) -> None:
        regrade = RegradeSet.objects.filter(pk=pk).first()
        if regrade is None:
            raise CommandError(f"There is no regrade {pk}.")
        if not end(regrade, None):
            raise CommandError(f"Regrade {pk} is {regrade.state}: nothing was changed.")
        self.stdout.write(f"Regrade {pk} is {word}.")

    def _preview(
        self, *, course: str | None, step: str | None, why: str, limit: list[str], json: bool, **_: Any
    ) -> None:
        found = Course.objects.filter(slug=course or "").first()
        known = all_steps().get(step or "")
        if found is None or known is None:
            raise CommandError("Name a course and a step: --course SLUG --step KEY.")
        limits = _limits(limit, {one.key for one in known.all_limits()})
        try:
            regrade = start(found, known, None, why, limits)
        except Refused as error:
            raise CommandError(str(error.text)) from error
        if not build(regrade):
            raise CommandError("The regrade was cancelled meanwhile.")
        if json:
            for line in lines_of(regrade):
                self.stdout.write(line)
        else:
            self._summary(regrade)

    def _summary(self, regrade: RegradeSet) -> None:
        counts, matrix = counts_of(regrade), matrix_of(regrade)
        self.stdout.write(
            f"Regrade {regrade.pk} of {regrade.step}: {counts['attempts']} attempts, {counts['lower']} lower, "
            f"{counts['higher']} higher, {counts['kept']} kept as they are. Nothing counts yet."
        )
        self.stdout.write("\nold \\ new" + "".join(f"{new:>7}" for new in matrix.news))
        for old, cells in matrix.lines:
            name = "-" if old is None else old
            self.stdout.write(f"{name:>9}" + "".join(f"{count or '.':>7}" for _new, count in cells))
        for effect in effects_of(regrade):
            word = "loses" if effect.loses else "gains" if effect.gains else "stays"
            note = "  (an override counts, and stays)" if effect.overridden else ""
            self.stdout.write(
                f"{effect.username} {word}: {effect.before} -> {effect.after}, attempt {effect.attempt_id}{note}"
            )
        for row in kept_of(regrade):
            self.stdout.write(
                f"not regradable, kept: {row.attempt_id} of {row.attempt.user.get_username()} ({row.kept})"
            )
        self.stdout.write(
            f"\nmanage.py regrade --apply {regrade.pk}    or    manage.py regrade --cancel {regrade.pk}"
        )


def _limits(given: list[str], known: set[str]) -> dict[str, int]:
    limits: dict[str, int] = {}
    for one in given:
        key, _equals, value = one.partition("=")
        if key not in known or not value.isdecimal():
            raise CommandError(f"{one}: write KEY=N with one of {', '.join(sorted(known))}.")
        limits[key] = int(value)
    return limits
