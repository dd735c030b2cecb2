"""Takes `<think>...</think>` out of a stream of characters: what a model thinks is not said."""

from __future__ import annotations

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkFilter:
    """Characters in, visible characters with their place out. An opening tag leaves a blank: it parts words.

    What may still become a tag is held back until it is one or is not. An unfinished thought is never shown.
    """

    def __init__(self) -> None:
        self._place = 0
        self._held = ""
        self._inside = False

    def take(self, char: str) -> list[tuple[str, int]]:
        place = self._place
        self._place += 1
        held = self._held + char
        tags = (_CLOSE,) if self._inside else (_OPEN, _CLOSE)
        if held.lower() in tags:
            was_inside, self._inside = self._inside, held.lower() == _OPEN
            self._held = ""
            return [] if was_inside else [(" ", place)]
        if any(tag.startswith(held.lower()) for tag in tags):
            self._held = held
            return []
        self._held = char if char == "<" else ""
        return self._shown(held.removesuffix(self._held) if self._held else held, place - len(self._held))

    def finish(self) -> list[tuple[str, int]]:
        """What was held back and did not become a tag."""
        held, self._held = self._held, ""
        return self._shown(held, self._place - 1)

    def _shown(self, text: str, last: int) -> list[tuple[str, int]]:
        if self._inside:
            return []
        first = last - len(text) + 1
        return [(char, first + i) for i, char in enumerate(text)]


def without_thoughts(text: str) -> str:
    """The visible part of a whole answer."""
    hidden = ThinkFilter()
    shown = [seen for char in text for seen, _ in hidden.take(char)]
    return "".join(shown + [seen for seen, _ in hidden.finish()])
