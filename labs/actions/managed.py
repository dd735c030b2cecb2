"""The embedded server as an admin wants it: written down for whoever keeps it (labs.llama.wanted)."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from labs.actions.audit import record
from labs.actions.claim import free_leases
from labs.actions.errors import Refused
from labs.llama import machine
from labs.llama.errors import LlamaError
from labs.llama.flags import Flags, default_model
from labs.llama.wanted import Said, Wanted
from labs.models import Endpoint
from labs.models.audit import Verb
from labs.text import N_


def folder() -> Path:
    return Path(settings.STATE_DIR) / "llama"


def said_of(endpoint: Endpoint) -> Said | None:
    """What the starter of this very server said. None: it is somebody else's, and nothing here can start it."""
    said = Said.read(folder())
    return said if said.state and said.url == endpoint.base_url else None


def models() -> list[Path]:
    """What it may be started with: the model it has by default, and what lies in the state folder's `models`."""
    found = sorted((Path(settings.STATE_DIR) / "models").glob("*.gguf"))
    try:
        return [default_model(), *found]
    except LlamaError:
        return found


def ask_for(endpoint: Endpoint, wanted: Wanted, by: User) -> None:
    """Within seconds it is started so, or stopped. Raises Refused while it is in use, or where it would not fit."""
    if said_of(endpoint) is None:
        raise Refused(N_("This site did not start that server, so it cannot start it anew."))
    if wanted.runs:
        _must_fit(wanted)
    with transaction.atomic():
        here = Endpoint.objects.filter(pk=endpoint.pk, state=Endpoint.State.PAUSED)
        # A new token: a worker that saw it up a moment ago loses its claim to this start.
        if not here.exists() or not free_leases().filter(endpoint=endpoint).update(token=F("token") + 1):
            raise Refused(
                N_("Drain it first, and wait until nothing runs there: a start in between would spoil a run.")
            )
        number = max(Wanted.read(folder()).number, Said.read(folder()).number) + 1
        if wanted.runs:  # what no probe can ask
            threads = wanted.threads or machine.threads().value
            here.update(facts={**endpoint.facts, "batch": wanted.batch, "threads": threads})
        what = "start" if wanted.runs else "stop"
        record(Verb.DONE, by, what=f"{what} {endpoint}", wanted=asdict(wanted) if wanted.runs else {})
        new = replace(wanted, number=number)
        transaction.on_commit(lambda: new.write(folder()))


def _must_fit(wanted: Wanted) -> None:
    allowed = {str(path): path for path in models()}
    model = allowed.get(wanted.model)
    if model is None:
        raise Refused(N_("This model is not one of those that may be started here."))
    try:
        Flags(
            port=0,
            model=model,
            threads=wanted.threads or 1,
            slots=wanted.slots,
            ctx=wanted.ctx,
            batch=wanted.batch,
        ).check_memory()
    except LlamaError as error:
        raise Refused(N_("It would not start: %(why)s", why=str(error))) from error
