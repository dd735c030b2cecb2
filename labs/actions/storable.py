"""What a server wrote, as every database can hold it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Postgres stores neither in text nor in JSON; a model may write both.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: Any) -> Any:
    """The same text, or JSON, with NUL and lone surrogates replaced by U+FFFD."""
    match value:
        case str():
            return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", value)
        case Mapping():
            return {storable(key): storable(inner) for key, inner in value.items()}
        case list() | tuple():
            return [storable(inner) for inner in value]
        case _:
            return value
