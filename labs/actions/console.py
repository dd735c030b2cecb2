"""What an admin does with one endpoint from its page. Each change and its row in the audit are one transaction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q

from labs.actions import endpoint as verbs
from labs.actions.audit import record
from labs.actions.errors import Refused
from labs.actions.openings import Openings, openings
from labs.actions.stuck import Do, Seen, act, put_back
from labs.actions.wake import wake_drivers_after_commit
from labs.models import Attempt, Endpoint, Lease, Pool, State
from labs.models.audit import Verb
from labs.text import N_


@dataclass(frozen=True, slots=True)
class Entered:
    """What an admin changed of an endpoint: names of its fields, a new key or none at all, a pool to be made."""

    changed: Collection[str]
    new_key: str = ""
    forgets_key: bool = False
    new_pool: str = ""


def save(endpoint: Endpoint, entered: Entered, by: User) -> None:
    """Stores a new endpoint, or what was changed of one. The audit names the fields, and no value."""
    is_new, names = endpoint.pk is None, set(entered.changed)
    with transaction.atomic():
        if entered.new_pool:
            endpoint.pool = Pool.objects.create(name=entered.new_pool)
            names.add("pool")
        if entered.forgets_key or entered.new_key:
            endpoint.api_key = entered.new_key
            names.add("api_key")
        verbs.save(endpoint, names, entered.new_key)
        verb = Verb.ADDED if is_new else Verb.CHANGED
        record(verb, by, what=f"endpoint {endpoint}", changes=sorted(names))


def drain(endpoint: Endpoint, note: str, by: User) -> None:
    """What runs there goes on to its end, nothing new begins, and who waits reads `note`."""
    with transaction.atomic():
        if not verbs.pause(_only(endpoint), note):
            # It is paused already: then only the note is new.
            _only(endpoint).filter(state=Endpoint.State.PAUSED).update(pause_note=note[: verbs.LONGEST_NOTE])
        _tell(by, "drain", endpoint, note=note)


def pause_now(endpoint: Endpoint, note: str, by: User) -> bool:
    """As drain, but what runs is put back at the head of the queue, at no cost. True: something was."""
    with transaction.atomic():
        drain(endpoint, note, by)
        return _put_back(endpoint, by)


def resume(endpoint: Endpoint, by: User) -> bool:
    """To be probed and tried anew; the queue keeps its order. False: nobody had paused it."""
    with transaction.atomic():
        if not verbs.resume(_only(endpoint)):
            return False
        _tell(by, "resume", endpoint)
    wake_drivers_after_commit()
    return True


def accept(endpoint: Endpoint, by: User) -> None:
    """What it is now is its pool's from here on. Raises Refused where there is nothing to accept."""
    with transaction.atomic():
        if not verbs.accept(endpoint):
            raise Refused(
                N_("There is nothing to accept: it has no pool, or nobody knows yet what runs there.")
            )
        _tell(by, "accept", endpoint, fingerprint=endpoint.fingerprint)


def stranded(endpoint: Endpoint, here: Openings | None = None) -> list[Attempt]:
    """Who waits, or runs there now, and could run nowhere else, by what the other servers are good for."""
    here = here or openings()
    others = Openings([one for one in here.endpoints if one.pk != endpoint.pk], {})
    able: dict[str, bool] = {}
    found = []
    runs_there = Q(state=State.RUNNING, runs__lease__endpoint=endpoint)
    for attempt in Attempt.objects.filter(Q(state=State.QUEUED) | runs_there).distinct():
        if attempt.step not in able:
            able[attempt.step] = any(others.may_run(one, attempt.step) for one in others.answering)
        if not able[attempt.step]:
            found.append(attempt)
    return found


def remove(endpoint: Endpoint, by: User, *, gives_back: bool) -> None:
    """Out of every list; its runs keep their evidence. What runs there is put back; with `gives_back` those who could
    run nowhere else are ended at no cost, else they wait for another server."""
    with transaction.atomic():
        # Its row first, then the lease: a worker that stores a result takes them in this order too.
        verbs.pause(_only(endpoint))
        _tell(by, "remove", endpoint, address=endpoint.base_url)
        _put_back(endpoint, by)
        endpoint.bookings.all().delete()
        # Its name and its key are free again; the address finds it should it come back.
        gone = {"state": Endpoint.State.REMOVED, "name": f"{endpoint.name[:80]} #{endpoint.pk}"}
        _only(endpoint).update(**{**verbs.FINDINGS, **gone, "api_key": "", "pause_note": "", "pool": None})
    # Only now: who ran there was put back, and may be one of them.
    left = stranded(endpoint) if gives_back else []
    act(Do.GIVE_BACK, [Seen(attempt.pk, attempt.version) for attempt in left], by)


def _put_back(endpoint: Endpoint, by: User) -> bool:
    """The run that holds the lease, or the canaries that do; they hear of it at their next heartbeat."""
    # Also where nobody holds it: a worker that saw the endpoint up a moment ago finds another token.
    Lease.objects.filter(endpoint=endpoint, run=None).update(token=F("token") + 1, holder="", expires_at=None)
    lease = Lease.objects.select_related("run__attempt").get(endpoint=endpoint)
    if lease.run is None:
        return False
    attempt = lease.run.attempt
    with transaction.atomic():
        if not put_back(attempt):
            transaction.set_rollback(True)  # it has ended meanwhile
            return False
    wake_drivers_after_commit()  # another server may be free for it
    record(
        Verb.DONE,
        by,
        course=attempt.course,
        whom=attempt.user,
        what=f"{Do.REQUEUE} {attempt.step}",
        attempt=str(attempt.pk),
        was=attempt.state,
    )
    return True


def _only(endpoint: Endpoint) -> verbs.Endpoints:
    return Endpoint.objects.filter(pk=endpoint.pk)


def _tell(by: User, what: str, endpoint: Endpoint, **details: Any) -> None:
    record(Verb.DONE, by, what=f"{what} {endpoint}", **details)
