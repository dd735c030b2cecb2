"""Reads a page as a browser's parser would: what is inline, what is where."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

INLINE_DATA = {"application/json"}


@dataclass
class Page(HTMLParser):
    """`inline` lists everything that the content security policy would refuse or that should not be there."""

    source: str
    inline: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    lang: str | None = None

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append((tag, named))
        if tag == "html":
            self.lang = named.get("lang")
        if tag == "style" or (
            tag == "script" and "src" not in named and named.get("type") not in INLINE_DATA
        ):
            self.inline.append(self.get_starttag_text() or tag)
        for name, value in attrs:
            if name == "style" or name.startswith("on") or (value or "").lower().startswith("javascript:"):
                self.inline.append(f"{tag} {name}={value}")
            if name == "id":
                self.ids.append(value or "")

    def having(self, **wanted: str) -> list[dict[str, str | None]]:
        """Elements whose attributes have these values; `_` in a name stands for `-`."""
        names = {name.replace("_", "-"): value for name, value in wanted.items()}
        return [attrs for _tag, attrs in self.tags if all(attrs.get(n) == v for n, v in names.items())]

    def __hash__(self) -> int:
        return id(self)
