"""The lab's steps, found by being in this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from labs.steps.base import Step


@cache
def all_steps() -> dict[str, Step]:
    """Every step by key, in the lab's order."""
    found: list[Step] = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        found += [
            value()
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, Step)
            and value.__module__ == module.__name__
            and "key" in vars(value)
        ]
    return {step.key: step for step in sorted(found, key=lambda s: s.order)}
