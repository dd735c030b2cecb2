"""When an answer's first sentence was certain: heard live, and read again from the frames, by one rule."""

from __future__ import annotations

from labs.measure.recording import StreamEnd
from labs.measure.sentences import Scanner, Sentence


class Opening:
    """For one answer. After the first sentence it costs nothing more."""

    def __init__(self) -> None:
        self.first: Sentence | None = None
        self._scanner = Scanner()
        self._last_us = 0

    def take(self, text: str, at_us: int) -> Sentence | None:
        """The first sentence with the piece that made it certain; None before and after."""
        if self.first is not None or not text:
            return None
        self._last_us = at_us
        return self._keep(self._scanner.feed(text, at_us))

    def end(self, end: StreamEnd, finish_reason: str | None) -> Sentence | None:
        """The first sentence where only the answer's own end made it one, at the time of the last piece."""
        if self.first is not None or not ended_itself(end, finish_reason):
            return None
        return self._keep(self._scanner.finish(self._last_us))

    def _keep(self, found: list[Sentence]) -> Sentence | None:
        self.first = found[0] if found else None
        return self.first


def ended_itself(end: StreamEnd, finish_reason: str | None) -> bool:
    """Neither cut by us nor by `max_tokens`: only then does the end of the stream end a sentence."""
    return end == "done" and finish_reason != "length"
