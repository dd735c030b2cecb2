"""Whether this process can serve: what it needs, and what of that is missing."""

from __future__ import annotations

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from redis import RedisError

from labs.live.redis_writer import connect

# Once applied, the migrations of this code stay applied; they are not looked up again.
_migrated: list[bool] = []


def database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def is_migrated() -> bool:
    """Every migration that this code brings is in the database. Raises DatabaseError."""
    if not _migrated:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return False
        _migrated.append(True)
    return True


def redis_answers() -> bool:
    client = connect(settings.REDIS_URL)
    try:
        client.ping()
    except RedisError:
        return False
    finally:
        client.close()
    return True
