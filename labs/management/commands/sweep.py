"""`manage.py sweep`: mends what was left lying, every LABHUB_SWEEP_S, until it is told to stop."""

from __future__ import annotations

import logging
import os
import signal
import threading
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import close_old_connections

from labs.actions.sweep import sweep_once
from labs.logs import bound
from labs.metrics.own import SWEEP_FAILED
from labs.metrics.share import Reporter
from labs.start import refuse_bad_settings

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Requeues lost runs, ends what is over its limit, repeats wake-ups. One process is enough."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="sweep once and end")

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        refuse_bad_settings()
        if once:
            sweep_once()
            return
        stop = threading.Event()

        def on_signal(signum: int, frame: FrameType | None) -> None:
            stop.set()

        signal.signal(signal.SIGTERM, on_signal)
        signal.signal(signal.SIGINT, on_signal)
        Reporter("sweep").start()
        while not stop.is_set():
            try:
                with bound(worker=f"sweep:{os.getpid()}"):
                    sweep_once()
            except Exception:
                # The database may be failing over, or a row may hold what nobody thought of; the next round finds
                # everything that this one left.
                SWEEP_FAILED.inc()
                log.exception("this sweep failed")
            close_old_connections()
            stop.wait(settings.LABHUB_SWEEP_S)
