"""Every process of ours asks, before it serves anybody, whether its settings can work at all."""

from __future__ import annotations

import ctypes
import gc

from django.core.checks import run_checks

M_ARENA_MAX = -8  # malloc.h
# New objects before the young ones are looked through. Python's 700 are made several times in a page, for a twelfth of
# its time; what they leave behind in circles meanwhile is little.
YOUNG_OBJECTS = 10_000
START = "labs-start"  # the tag of checks that are cheap and that no process may start without


def refuse_bad_settings() -> None:
    """Ends the process with one sentence for each fault.

    Neither daphne nor Celery refuses to start for what `manage.py check` finds, and then it fails in silence.
    SystemExit, because Celery logs any other exception of a start hook and goes on.
    """
    found = [message for message in run_checks(tags=[START]) if message.is_serious()]
    if found:
        raise SystemExit("\n".join(f"{message.id}: {message.msg} {message.hint or ''}" for message in found))


def settle() -> None:
    """What is loaded by now lives as long as the process, and the collector need not look at it again: going through it
    takes 60 to 120 ms, in which a web process passes no token on and a driver stamps none."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    _few_heaps()


def _few_heaps() -> None:
    """glibc gives new threads heaps of their own, up to eight a core, and each stays as large as it ever was: probably
    why a worker of a busy class went on growing (docs/load.md). One interpreter runs at a time, so two are enough.
    Other libraries have no such wish to take."""
    if hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(M_ARENA_MAX, 2)
