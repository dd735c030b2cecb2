"""Log lines that can be followed through web, workers and sweep: JSON for machines, plain for people.

`bound(attempt=..., run=...)` adds its words to every line that is logged within. They are ids and addresses of ours,
never a person's name, a prompt or a key; what looks like a secret is taken out of messages and tracebacks as well.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

_words: ContextVar[Mapping[str, str]] = ContextVar("labhub_log_words", default=MappingProxyType({}))

HIDDEN = "[hidden]"
# What the lines of libraries may carry: an address with a password, a header with a key, a login link.
SECRETS = [
    (re.compile(r"(://[^\s/:@]*:)[^\s/@]+@"), rf"\1{HIDDEN}@"),
    (re.compile(r"(?i)(\bbearer\s+|\bapi[_-]?key[\"']?\s*[:=]\s*[\"']?)[^\s\"',}]+"), rf"\1{HIDDEN}"),
    # What a server or a database says of what it was given may hold all of it.
    (re.compile(r"(\bHTTP [45]\d\d): [^\n]*"), r"\1"),
    (re.compile(r"(\bDETAIL: )[^\n]*"), rf"\1{HIDDEN}"),
    (re.compile(r"(/set-password/[^/\s]+/)[^/\s]+"), rf"\1{HIDDEN}"),
    (
        re.compile(r"(?i)(\b(?:sessionid|csrftoken|password|token)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;}&]+"),
        rf"\1{HIDDEN}",
    ),
]


@contextmanager
def bound(**words: object) -> Iterator[None]:
    """Within the block, in this thread or task."""
    token = _words.set({**_words.get(), **{name: str(value) for name, value in words.items()}})
    try:
        yield
    finally:
        _words.reset(token)


def put_on(**words: object) -> None:
    """For the rest of this thread's work, until `take_off`; None is left out."""
    _words.set({name: str(value) for name, value in words.items() if value is not None})


def take_off() -> None:
    _words.set(MappingProxyType({}))


def bound_words() -> Mapping[str, str]:
    return _words.get()


def words_of(record: logging.LogRecord) -> Mapping[str, str]:
    """Django complains of an answer when the request's block is left already; its record brings the request."""
    request_id = getattr(getattr(record, "request", None), "labhub_id", None)
    return {"request": request_id, **bound_words()} if request_id else bound_words()


def without_secrets(text: str) -> str:
    for pattern, instead in SECRETS:
        text = pattern.sub(instead, text)
    return text


class JsonLines(logging.Formatter):
    """One object a line: at (UTC), level, logger, message, the bound words, and `error` with the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, str] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            **words_of(record),
        }
        if record.exc_info:
            line["error"] = without_secrets(self.formatException(record.exc_info))
        # ASCII, so that a lone surrogate in somebody's text cannot cost the line.
        return json.dumps(line)


class Plain(logging.Formatter):
    """As Django writes them, with the bound words behind."""

    def format(self, record: logging.LogRecord) -> str:
        text, _, rest = super().format(record).partition("\n")
        words = " ".join(f"{name}={value}" for name, value in words_of(record).items())
        return without_secrets(text + (f" [{words}]" if words else "") + (f"\n{rest}" if rest else ""))
