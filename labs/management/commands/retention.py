"""`manage.py retention`: removes raw frames that are older than the policy keeps them, in small transactions."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from labs.actions.retention import preview, remove_frames


class Command(BaseCommand):
    help = "Removes raw frames of attempts that ended long ago. Grades, figures and evidence hashes stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=float, help="instead of LABHUB_FRAMES_DAYS")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and change nothing")

    def handle(self, *args: Any, days: float | None, dry_run: bool, **options: Any) -> None:
        days = settings.LABHUB_FRAMES_DAYS if days is None else days
        if days <= 0:
            raise CommandError("LABHUB_FRAMES_DAYS is 0: frames are kept for ever. Set it, or say --days N.")
        due = preview(days)
        since = f", the oldest of {due.oldest:%Y-%m-%d}" if due.oldest else ""
        said = f"{due.frames} recordings of {due.runs} runs, {due.size_bytes / 1e6:.1f} MB{since}"
        if dry_run:
            self.stdout.write(f"would remove the raw frames of {said}")
            return
        while remove_frames(days):
            pass
        self.stdout.write(f"removed the raw frames of {said}")
