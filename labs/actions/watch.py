"""The one control thread of a driver process while it holds anything: it beats all leases and reads all cancel flags.

Not the frame loop: what it does must never delay a stamp, and what the frame loop does must never delay a beat.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from django.conf import settings
from django.db import close_old_connections, connection

from labs.actions.claim import LeaseKey, extend
from labs.measure.control import Control
from labs.models import Attempt

log = logging.getLogger(__name__)


class Holder(Protocol):
    """What holds a lease: a run's claim, or a round of canaries, which nobody stops."""

    @property
    def lease(self) -> LeaseKey: ...

    @property
    def attempt(self) -> Attempt | None: ...


class Watch:
    """`over(holder)` gives its Control; while the block runs, its lease is beaten and its Stop is watched."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self._lock = threading.Lock()
        self._held: dict[LeaseKey, _Held] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, holder: Holder) -> Iterator[Control]:
        held = _Held(holder)
        try:
            with self._lock:
                self._held[holder.lease] = held
                # The loop outlives all faults that are known; none may depend on that.
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._loop, name="watch", daemon=True)
                    self._thread.start()
            yield held.control
        finally:
            with self._lock:
                self._held.pop(holder.lease, None)

    def _loop(self) -> None:
        next_beat = 0.0
        while True:
            time.sleep(settings.LABHUB_CANCEL_POLL_S)
            with self._lock:
                held = dict(self._held)
                if not held:
                    self._thread = None  # whoever holds something next starts another
                    break
            try:
                if time.monotonic() >= next_beat:
                    self._beat(held)
                    next_beat = time.monotonic() + settings.LABHUB_BEAT_S
                self._read_flags(held)
            except Exception:
                # Most likely the database is away; each driver stops by its own clock when its lease has run out.
                # Whatever it was, this thread must live: without it no lease is beaten and no Stop is seen.
                log.exception("control thread: a round failed, the next one follows")
                close_old_connections()
        connection.close()  # an idle worker keeps none

    def _beat(self, held: dict[LeaseKey, _Held]) -> None:
        """A run over its limit is not beaten any more: where its driver hangs, the sweep ends it."""
        at = time.monotonic()
        in_time = [lease for lease, one in held.items() if at - one.began_at < settings.LABHUB_RUN_S]
        ours = extend(self.worker, in_time)
        for lease, one in held.items():
            if lease in ours:
                one.beaten_at = at
            elif lease in self._held:
                why = "" if lease in in_time else ": over its limit"
                log.warning("lease %s of endpoint %s is lost%s", lease[1], lease[0], why)
                one.control.lose()

    def _read_flags(self, held: dict[LeaseKey, _Held]) -> None:
        wanted = {one.holder.attempt.pk: one for one in held.values() if one.holder.attempt is not None}
        if not wanted:
            return
        for pk in Attempt.objects.filter(pk__in=list(wanted), cancel_requested=True).values_list(
            "pk", flat=True
        ):
            wanted[pk].control.cancel()


class _Held:
    def __init__(self, holder: Holder) -> None:
        self.holder = holder
        self.began_at = self.beaten_at = time.monotonic()
        self.control = Control(still_mine=self._still_mine)

    def _still_mine(self) -> bool:
        """By our own clock, so that a driver cut off from the database stops by itself before others may start."""
        return time.monotonic() - self.beaten_at < settings.LABHUB_LEASE_S * 0.8
