"""DATABASE_URL to Django's DATABASES. SQLite for a laptop, Postgres for everything larger."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


def database(url: str, pool_size: int = 0) -> dict[str, Any]:
    """Raises ImproperlyConfigured for any scheme but sqlite and postgresql.

    `pool_size` connections to Postgres at most for the whole process, kept and shared by its threads; 0: each thread
    opens its own, and closes it.
    """
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": unquote(parts.path),
            # Without these, 8 writers lost 407 of 480 runs to 'database is locked'; with them none (DESIGN 4).
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
            },
            # A file, also under test: threads and processes share it.
            "TEST": {"NAME": unquote(parts.path) + ".test"},
        }
    if parts.scheme in {"postgres", "postgresql"}:
        # A class that comes back at once is hundreds of threads, and Postgres takes a hundred connections: they wait
        # for one of the pool's, half a minute at most.
        pool = {"min_size": 1, "max_size": pool_size, "timeout": 30}
        # A page asks two dozen small questions, and the plans cost Postgres more than the answers: those asked five
        # times on a connection are kept with it. (No pgbouncer in transaction mode, therefore.)
        kept = {"server_side_binding": True, "prepare_threshold": 5}
        # No CONN_MAX_AGE: under ASGI a request's thread ends with it, and leaves a kept connection to the collector.
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path.lstrip("/")),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": parts.hostname or "",
            "PORT": parts.port or "",
            "OPTIONS": {**dict(parse_qsl(parts.query)), **kept, **({"pool": pool} if pool_size else {})},
            # What the pool kept over a restart of Postgres is dead, and found out before it is used.
            "CONN_HEALTH_CHECKS": bool(pool_size),
        }
    raise ImproperlyConfigured(
        f"DATABASE_URL must start with sqlite:// or postgresql://, not {parts.scheme}://"
    )
