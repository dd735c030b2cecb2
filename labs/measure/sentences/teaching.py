"""The handout's rule, bare: a stop (. ? !) that white space follows. It cuts behind 'Dr.' and '1.'"""

from __future__ import annotations

from labs.measure.sentences.sentence import Sentence

_STOPS = frozenset(".?!")


class TeachingScanner:
    """Same use as `Scanner`. The end of the stream ends the rest; the handout does not say."""

    def __init__(self) -> None:
        self._text = ""
        self._start = 0

    def feed(self, text: str, at_us: int) -> list[Sentence]:
        found = []
        for char in text:
            if char.isspace() and self._text[-1:] in _STOPS:
                found.append(self._take(at_us))
            if self._text or not char.isspace():
                self._text += char
            else:
                self._start += 1
        return found

    def finish(self, at_us: int) -> list[Sentence]:
        return [self._take(at_us)] if self._text else []

    def _take(self, at_us: int) -> Sentence:
        text = self._text.rstrip()
        sentence = Sentence(
            text, self._start, self._start + len(text), at_us, "stop" if text[-1] in _STOPS else "end"
        )
        self._start += len(self._text)
        self._text = ""
        return sentence
