"""What a copy must hold, read by plain SQL from any of the two engines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

# Tables whose rows are counted; a lost one would be somebody's work.
COUNTED = (
    "auth_user",
    "labs_course",
    "labs_enrolment",
    "labs_attempt",
    "labs_round",
    "labs_run",
    "labs_storedrecording",
    "labs_framestore",
    "labs_gradeevent",
    "labs_grade",
    "labs_auditrow",
)
# What counts for everybody, with the evidence that it rests on.
GRADES = (
    "SELECT g.course_id, g.user_id, g.step, g.event_id, e.kind, e.points, e.open_points, e.evidence_hash"
    " FROM labs_grade g JOIN labs_gradeevent e ON e.id = g.event_id ORDER BY g.id"
)
MIGRATION = "SELECT name FROM django_migrations WHERE app = 'labs' ORDER BY id DESC LIMIT 1"


class Connection(Protocol):
    """sqlite3's and psycopg's both have this."""

    def execute(self, query: Any, /) -> Iterable[Sequence[Any]]: ...


Contents = dict[str, Any]


def contents_of(connection: Connection) -> Contents:
    """{"migration", "rows": {table: count}, "grades": sha256 over all grades in their order}."""
    digest = hashlib.sha256()
    for row in connection.execute(GRADES):
        digest.update(json.dumps(list(row)).encode())
    return {
        "migration": _one(connection, MIGRATION),
        "rows": {table: _one(connection, f"SELECT count(*) FROM {table}") for table in COUNTED},  # noqa: S608
        "grades": digest.hexdigest(),
    }


def _one(connection: Connection, query: str) -> Any:
    return next(iter(connection.execute(query)))[0]
