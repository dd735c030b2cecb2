"""What the database and the static files need before anything may start. One process: Django loads once."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import django
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--log", default="")
    arguments = parser.parse_args()
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    collect_static()
    call_command("demo", endpoint=arguments.endpoint, log=arguments.log)


def collect_static() -> None:
    """Hashing and compressing takes seconds, so only when a file has changed."""
    stamp = Path(settings.STATIC_ROOT) / ".sources"
    sources = _sources()
    if not stamp.exists() or stamp.read_text() != sources:
        call_command("collectstatic", verbosity=0, interactive=False, clear=True)
        stamp.write_text(sources)


def _sources() -> str:
    digest = hashlib.sha256(repr(settings.STORAGES["staticfiles"]).encode())
    for finder in get_finders():
        for name, storage in finder.list(ignore_patterns=None):
            stat = Path(storage.path(name)).stat()
            digest.update(f"{name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
