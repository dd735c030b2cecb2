"""All addresses of the site, and who gets in."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver, reverse

# Who gets in, from the most to the fewest. 'person': whoever is logged in; 'owner': whose attempt it is, and the
# course's instructors. Staff stand as instructors everywhere.
LEVELS = ("anyone", "person", "student", "owner", "instructor", "admin")
ROUTES = {
    "login": "anyone",
    "school-login": "anyone",
    "school-login-back": "anyone",
    "logout": "anyone",
    "set_language": "anyone",
    "set-password": "anyone",
    "healthz": "anyone",
    "readyz": "anyone",
    "sealed": "person",
    "view-as-end": "person",
    "home": "person",
    "me": "person",
    "my-data": "person",
    "notices-read": "person",
    "join": "person",
    "step": "student",
    "step-file": "student",
    "boards": "student",
    "board-name": "student",
    "board": "student",
    "board-fragment": "student",
    "board-csv": "student",
    "board-xlsx": "student",
    "demo": "student",
    "demo-replay": "student",
    "demo-frames": "student",
    "pair": "student",
    "attempt": "owner",
    "attempt-cancel": "owner",
    "attempt-panel": "owner",
    "attempt-events": "owner",
    "attempt-frames": "owner",
    "attempt-replay": "owner",
    "pair-go-alone": "owner",
    "attempt-points": "instructor",
    "demo-show": "instructor",
    "demo-withdraw": "instructor",
    "pairs": "instructor",
    "board-freeze": "instructor",
    "board-projector": "instructor",
    "class-now": "instructor",
    "class-hour": "instructor",
    "people": "instructor",
    "roster": "instructor",
    "join-code": "instructor",
    "login-links": "instructor",
    "bring-back": "instructor",
    "rules": "instructor",
    "rule-step": "instructor",
    "scores-release": "instructor",
    "extensions": "instructor",
    "gradebook": "instructor",
    "gradebook-csv": "instructor",
    "gradebook-xlsx": "instructor",
    "regrades": "instructor",
    "regrade": "instructor",
    "regrade-end": "instructor",
    "regrade-step": "instructor",
    "rerun": "instructor",
    "rerun-one": "instructor",
    "view-as": "instructor",
    "audit": "admin",
    "metrics": "admin",
    "endpoints": "admin",
    "endpoints-now": "admin",
    "endpoint-add": "admin",
    "endpoint": "admin",
    "endpoint-now": "admin",
    "endpoint-settings": "admin",
    "endpoint-remove": "admin",
    "endpoint-do": "admin",
    "endpoint-bookings": "admin",
    "endpoint-server": "admin",
    "stuck": "admin",
}


def _routes(resolver: URLResolver) -> Iterator[tuple[str, list[str]]]:
    """(name, names of its parameters) of each; Django's own tables guard themselves and are asked for apart."""
    for entry in resolver.url_patterns:
        if isinstance(entry, URLPattern):
            assert entry.name, f"{entry.pattern} has no name"
            yield entry.name, list(entry.pattern.converters)
        elif entry.namespace != "admin":
            yield from _routes(entry)


ALL = dict(_routes(get_resolver()))


def address(name: str, values: dict[str, object]) -> str:
    wanted = ALL[name]
    missing = [parameter for parameter in wanted if parameter not in values]
    assert not missing, f"say in `address_parts` what {missing} of {name} may be"
    if name in {"attempt-frames", "attempt-replay", "demo-frames", "demo-replay"}:
        values = values | {"key": "cold"}
    if name in {"rerun", "rerun-one"}:
        values = values | {"step_key": "read-sse"}
    return reverse(name, kwargs={parameter: values[parameter] for parameter in wanted})
