"""Which files may be shown as a server's log: only those in the folders that the settings name."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from labs.models import Endpoint


def log_of(endpoint: Endpoint) -> Path | None:
    """The file to read. None where no log is named, or one that may not be shown."""
    return shown_path(endpoint.log_path) if endpoint.log_path else None


def shown_path(text: str) -> Path | None:
    """Resolved, so that neither `..` nor a link leads out of those folders."""
    try:
        path = Path(text).resolve()
    except (OSError, ValueError):
        return None
    folders = (Path(folder).resolve() for folder in settings.LABHUB_LOG_FOLDERS)
    return path if path.is_absolute() and any(folder in path.parents for folder in folders) else None
