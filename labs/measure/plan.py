"""A plan: what one round asks of the server, frozen as JSON when the student's answers are locked.

A plan is a list of `Get`, `Ask` and `Note`. Asks follow one another; they overlap only through `Hold`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from labs.text import Json, Text

PROMPT_MS_PER_TOKEN = 4.5
OUTPUT_MS_PER_TOKEN = 9.0


@dataclass(frozen=True, slots=True)
class Done:
    """The ask is read to its natural end."""

    kind: Literal["done"] = "done"


@dataclass(frozen=True, slots=True)
class Close:
    """We close the connection `after_ms` after the request's last byte, whatever has arrived by then."""

    after_ms: int
    kind: Literal["close"] = "close"


@dataclass(frozen=True, slots=True)
class Hold:
    """The connection stays open while the items up to and including `until` run.

    `read` keeps reading to the natural end meanwhile. Otherwise reading stops `stop_after_ms` after the
    request's last byte. With `shut_after_ms` the connection is closed that long after the item `until` was
    *sent*; without it, after that item has ended and (when `read`) the stream has ended by itself.
    """

    until: str
    read: bool = False
    stop_after_ms: int | None = None
    shut_after_ms: int | None = None
    kind: Literal["hold"] = "hold"


End = Done | Close | Hold


@dataclass(frozen=True, slots=True)
class Ask:
    """One chat request. `messages` is [{"role", "content"}]; `key` is unique within the plan.

    With `lab_line` the run's lab line stands before everything else in the first message.
    `about_prompt_tokens` is the author's estimate, for the budget of machine time only.
    With `count_pieces` the server counts its tokens on every piece, as it always does for an ask that may be cut.
    """

    key: str
    messages: tuple[Mapping[str, str], ...]
    max_tokens: int
    slot: int = 0
    cache: bool = True
    lab_line: bool = False
    ignore_eos: bool = False
    count_pieces: bool = False
    end: End = Done()
    about_prompt_tokens: int = 0
    title: Text = Text("")  # noqa: RUF009  frozen
    do: Literal["ask"] = "ask"

    @property
    def may_be_cut(self) -> bool:
        return not isinstance(self.end, Done)


@dataclass(frozen=True, slots=True)
class Get:
    """One short call, its answer kept as it came: the server's state, or `erase`, which empties `slot`.

    `until_idle` waits (10 Hz) for a slot to fall idle. `tokens` has `messages` cut into tokens as an ask's would be,
    and nothing computed: they are the recording's `prompt_ids`.
    """

    key: str
    what: Literal["health", "props", "slots", "metrics", "erase", "tokens"]
    until_idle: int | None = None
    limit_ms: int = 4000
    slot: int = 0
    messages: tuple[Mapping[str, str], ...] = ()
    do: Literal["get"] = "get"


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence on the run's timeline."""

    key: str
    text: Text
    do: Literal["note"] = "note"


Item = Ask | Get | Note


@dataclass(frozen=True, slots=True)
class Plan:
    """`lab_line_tokens` is how many tokens the lab line has; its letters are drawn anew for every run.

    `spare` runs after the items where their repeats were too noisy to compare (`labs.measure.noise`).
    """

    items: tuple[Item, ...]
    lab_line_tokens: int = 6
    spare: tuple[Item, ...] = ()
    version: int = field(default=1)

    @property
    def all_items(self) -> tuple[Item, ...]:
        return (*self.items, *self.spare)

    @property
    def asks(self) -> list[Ask]:
        """The spare ones too."""
        return [item for item in self.all_items if isinstance(item, Ask)]

    def ask(self, key: str) -> Ask:
        """Raises KeyError when no ask has that key."""
        for item in self.asks:
            if item.key == key:
                return item
        raise KeyError(key)

    def server_ms(self) -> float:
        """Machine time this plan costs at the lab's typical speeds (lab.md, 'A budget of machine time'), when nothing
        of `spare` is asked for."""
        return _sum_ms(self.items)

    def spare_ms(self) -> float:
        """What it costs on top where times are noisy."""
        return _sum_ms(self.spare)

    def to_json(self) -> Json:
        return {
            "version": self.version,
            "lab_line_tokens": self.lab_line_tokens,
            "items": [_item_to_json(i) for i in self.items],
            "spare": [_item_to_json(i) for i in self.spare],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            items=tuple(_item_from_json(i) for i in data["items"]),
            lab_line_tokens=data["lab_line_tokens"],
            spare=tuple(_item_from_json(i) for i in data.get("spare", ())),  # older plans had none
            version=data["version"],
        )


def _sum_ms(items: Iterable[Item]) -> float:
    return sum(_server_ms(item) for item in items if isinstance(item, Ask))


def _server_ms(ask: Ask) -> float:
    """Of an ask that is held and then shut only its own time counts: the asks meanwhile count for
    themselves."""
    match ask.end:
        case Close(after_ms=after_ms):
            return after_ms
        case Hold(stop_after_ms=stop_after_ms, shut_after_ms=int(shut_after_ms)):
            return (stop_after_ms or 0) + shut_after_ms
    return ask.about_prompt_tokens * PROMPT_MS_PER_TOKEN + ask.max_tokens * OUTPUT_MS_PER_TOKEN


def _item_to_json(item: Item) -> Json:
    data = asdict(item)
    if isinstance(item, Ask | Get):
        data["messages"] = [dict(m) for m in item.messages]
    if isinstance(item, Ask):
        data["title"] = item.title.to_json()
    elif isinstance(item, Note):
        data["text"] = item.text.to_json()
    return data


_ENDS: dict[str, type[Done | Close | Hold]] = {
    "done": Done,
    "close": Close,
    "hold": Hold,
}


def _item_from_json(data: Mapping[str, Any]) -> Item:
    fields = {k: v for k, v in data.items() if k != "do"}
    match data["do"]:
        case "ask":
            end = fields.pop("end")
            fields["end"] = _ENDS[end["kind"]](**{k: v for k, v in end.items() if k != "kind"})
            fields["messages"] = tuple(dict(m) for m in fields["messages"])
            fields["title"] = Text.from_json(fields["title"])
            return Ask(**fields)
        case "get":
            fields["messages"] = tuple(dict(m) for m in fields.get("messages", ()))
            return Get(**fields)
        case "note":
            fields["text"] = Text.from_json(fields["text"])
            return Note(**fields)
        case other:
            raise ValueError(f"unknown plan item {other!r}")
