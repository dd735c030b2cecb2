"""What the student's code gave back for each stream, as it was posted: untrusted, so taken apart and cut to size."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from labs.text import Json

FUNCTIONS = ("parse", "feed")
MOST_PIECES, MOST_CHARACTERS = 400, 4_000
# The server never runs or compiles a student's source; this only refuses what cannot be an answer.
DEFINES_PARSE = re.compile(r"^(async[ \t]+)?def[ \t]+parse[ \t]*\(|^parse[ \t]*=", re.MULTILINE)
DEFINES_FEED = re.compile(r"^(async[ \t]+)?def[ \t]+feed[ \t]*\(|^feed[ \t]*=", re.MULTILINE)
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class NoAnswers(ValueError):
    """The posted text is not what a run of the code gives."""


def read_answers(text: str, streams: Mapping[str, Mapping[str, Any]]) -> Json:
    """{"parse": {stream: {"value": {...}} or {"error": str, "line": int | None}}, ...} for the streams asked about.

    A function that was not run is left out, a stream without an answer too. Raises NoAnswers.
    """
    try:
        posted = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as exc:
        raise NoAnswers(str(exc)) from exc
    if not isinstance(posted, dict) or not isinstance(posted.get("parse"), dict):
        raise NoAnswers("no answers of parse")
    return {
        function: {
            name: _answer(posted[function][name]) for name in streams[function] if name in posted[function]
        }
        for function in FUNCTIONS
        if function in streams and isinstance(posted.get(function), dict)
    }


def _answer(posted: Any) -> Json:
    value = posted.get("value") if isinstance(posted, dict) else None
    if isinstance(value, dict):
        return {"value": {_cut(key): _small(one) for key, one in list(value.items())[:20]}}
    if isinstance(posted, dict) and isinstance(posted.get("error"), str):
        line = posted.get("line")
        return {"error": _cut(posted["error"][:300]), "line": line if type(line) is int else None}
    return {"error": "", "line": None}


def _small(value: Any, depth: int = 0) -> Any:
    """Plain values, and lists of them two deep; anything else is nothing that was asked for."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, list) and depth < 2:
        return [_small(one, depth + 1) for one in value[: MOST_PIECES + 1]]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return None
    return value if value is None or isinstance(value, bool | int | float) else None


def _cut(text: str) -> str:
    return UNSTORABLE.sub("\ufffd", text[:MOST_CHARACTERS])


def _refuse(name: str) -> NoReturn:
    raise NoAnswers(f"{name} is no number")
