"""What a person does with an endpoint: move it, pause it, let it back, accept what it has become."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from labs.llama.address import check_address
from labs.models import Endpoint, Pool


def checked_address(url: str) -> str:
    """The normalised address, by this site's rule on local ones. Raises BadAddress."""
    return check_address(url, allow_local=settings.LABHUB_ALLOW_LOCAL_ENDPOINTS)


Endpoints = QuerySet[Endpoint]
LONGEST_NOTE = 200

FINDINGS: Mapping[str, Any] = {
    "state": Endpoint.State.UNKNOWN,
    "detail": "",
    "facts": {},
    "abilities": {},
    "fingerprint": "",
    "probed_at": None,
    "probed_as": "",
    "canaries": {},
    "canaries_of": "",
    "prompt_ms_per_token": None,
    "canaries_at": None,
    "canaries_tried_at": None,
    "canaries_wanted": False,
    "has_red_canary": False,
    "failures": 0,
    "rest_until": None,
}


def forget_findings(endpoint: Endpoint) -> Sequence[str]:
    """Without saving: at another address is another server, to be probed before anything is sent there. Returns the
    names of what it set."""
    for name, value in FINDINGS.items():
        setattr(endpoint, name, copy(value))
    return list(FINDINGS)


def save(endpoint: Endpoint, changed: Collection[str], new_key: str) -> None:
    """A new one whole; of one that exists only what was `changed`: a worker may have written the rest since. One that
    an admin paused stays so at another address. A key stays behind when the address changes: nobody may read it by
    having it sent elsewhere."""
    names, is_paused = set(changed), endpoint.state == Endpoint.State.PAUSED
    if "base_url" in names:
        names |= {*forget_findings(endpoint), "api_key"}
        endpoint.api_key = ""
        if is_paused:
            endpoint.state = Endpoint.State.PAUSED
    if new_key:
        endpoint.api_key = new_key
        names.add("api_key")
    endpoint.save(update_fields=names if endpoint.pk is not None else None)


def pause(endpoints: QuerySet[Endpoint], note: str = "") -> int:
    """What runs there ends; nothing new begins. Returns how many were not paused before."""
    return endpoints.exclude(state__in=[Endpoint.State.PAUSED, Endpoint.State.REMOVED]).update(
        state=Endpoint.State.PAUSED, detail="", pause_note=note[:LONGEST_NOTE], canaries_wanted=False
    )


def resume(endpoints: QuerySet[Endpoint]) -> int:
    """Back to not known: the next probe and the canaries say what it is good for. Also ends a rest."""
    held = endpoints.filter(state__in=[Endpoint.State.PAUSED, Endpoint.State.RESTING])
    return held.update(
        state=Endpoint.State.UNKNOWN,
        detail="",
        pause_note="",
        probed_at=None,
        failures=0,
        rest_until=None,
        canaries_wanted=True,
    )


def try_canaries(endpoints: QuerySet[Endpoint]) -> int:
    """As soon as each is free."""
    return endpoints.update(canaries_wanted=True, canaries_tried_at=None)


def accept(endpoint: Endpoint) -> bool:
    """The pool is from now on what this endpoint is; its boards begin a new class, others that differ are kept out.

    False where the endpoint has no pool, or nobody knows yet what it is.
    """
    if endpoint.pool_id is None or not endpoint.fingerprint:
        return False
    Pool.objects.filter(pk=endpoint.pool_id).update(fingerprint=endpoint.fingerprint)
    # Probed and tried again at once: who fits comes back, who does not goes.
    Endpoint.objects.filter(pool_id=endpoint.pool_id).update(probed_at=None, canaries_tried_at=None)
    return True
