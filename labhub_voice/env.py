"""Typed readers of the environment. They fail loudly, and every secret may also come from NAME_FILE."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str | None = None) -> str:
    """Raises ImproperlyConfigured when the name is unset and has no default."""
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE: {error}") from error
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(f"Set {name} (or {name}_FILE) in the environment.")
    return value


def flag(name: str, default: bool = False) -> bool:
    value = text(name, "1" if default else "0").lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}.")


def number(name: str, default: float) -> float:
    value = text(name, str(default))
    try:
        return float(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a number, not {value!r}.") from error


def words(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in text(name, default).split(",") if part.strip()]
