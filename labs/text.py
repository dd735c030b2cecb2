"""Sentences for people that are written before their reader's language is known.

A `Text` is an English message id with named parameters. It is stored as JSON with the check or event it
belongs to and translated when it is shown, so one stored verdict reads in Korean and in English.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """`msgid` uses %(name)s places; `params` are strings or numbers."""

    msgid: str
    params: Mapping[str, str | int | float] = field(default_factory=dict)

    def to_json(self) -> Json:
        return {"msgid": self.msgid, "params": dict(self.params)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["msgid"], data.get("params", {}))

    def __str__(self) -> str:
        return self.msgid % self.params if self.params else self.msgid


def N_(msgid: str, /, **params: str | int | float) -> Text:  # the catalogs' extractor looks for this name
    return Text(msgid, params)
