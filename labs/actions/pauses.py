"""Which steps an endpoint may run: those whose canaries are all green there (DESIGN 6.8)."""

from __future__ import annotations

from collections.abc import Sequence

from labs.models import Endpoint
from labs.steps import all_steps
from labs.steps.base import Step
from labs.text import N_, Text

UNTRIED = N_(
    "The model server is being checked before this step can run there. That takes less than a minute."
)

# One that rests comes back by itself, but with the canaries that it has: what is red there stays closed.
ANSWERING = (Endpoint.State.UP, Endpoint.State.RESTING)


def green(endpoint: Endpoint) -> set[str]:
    return {name for name, found in endpoint.canaries.items() if found["green"]}


def paused_steps(endpoint: Endpoint) -> list[str]:
    """Keys of the steps that may not run there now."""
    good = green(endpoint)
    return [step.key for step in all_steps().values() if not step.needs <= good]


def why_paused(endpoint: Endpoint, step: Step) -> Text | None:
    """What the first red canary that the step needs said. None: nothing stands in its way."""
    found = [endpoint.canaries.get(name) for name in sorted(step.needs)]
    # Red before untried: without /slots the others are never tried, and waiting for them would be in vain.
    red = next((one for one in found if one is not None and not one["green"]), None)
    if red is not None:
        return Text.from_json(red["reason"])
    return UNTRIED if None in found else None


def closed_steps(here: Sequence[Endpoint] | None = None) -> list[str]:
    """Keys of the steps that every server that answers (`here`) has been tried for and may not run. Empty where none
    answers, or one has not been tried yet."""
    if here is None:
        here = list(Endpoint.objects.filter(state__in=ANSWERING))
    if not here or not all(endpoint.canaries for endpoint in here):
        return []
    closed = set.intersection(*(set(paused_steps(endpoint)) for endpoint in here))
    return sorted(closed)


def paused_everywhere(step: Step, here: Sequence[Endpoint] | None = None) -> Text | None:
    """Why no server that answers may run this step; None where one may, or will be tried, or where none answers."""
    if here is None:
        here = list(Endpoint.objects.filter(state__in=ANSWERING).order_by("pk"))
    return why_paused(here[0], step) if step.key in closed_steps(here) else None
