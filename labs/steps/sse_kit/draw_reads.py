"""The streams for the bonus: bytes as reads brought them, each stream with one trap in it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

from labs.steps.sse_kit.answer import Answer, plain
from labs.steps.sse_kit.words import ERRORS

# A read: when, and which bytes.
Reads = list[tuple[float, bytes]]


def _whole(answer: Answer, end: str = "\n\n") -> Reads:
    return [(at_ms, (text + end).encode()) for at_ms, text in answer.events]


def _cut_at(reads: Reads, places: Callable[[bytes], Sequence[int]], rng: random.Random) -> Reads:
    """Every read cut at one of its places, the front part some milliseconds earlier, where there is one."""
    cut: Reads = []
    before_ms = 0.0
    for at_ms, data in reads:
        found = places(data)
        if found and at_ms > before_ms:
            place = rng.choice(found)
            early_ms = round(rng.uniform(before_ms, at_ms), 1)
            cut += [(early_ms, data[:place]), (at_ms, data[place:])]
        else:
            cut.append((at_ms, data))
        before_ms = at_ms
    return cut


def _cut(answer: Answer) -> Reads:
    """Inside a line, between two characters, and never at its end."""

    def places(data: bytes) -> list[int]:
        line = data.rstrip(b"\n")
        return [i for i in range(2, len(line)) if line[i] < 0x80 and line[i - 1] < 0x80]

    return _cut_at(_whole(plain(answer)), places, answer.rng)


def _syllable(answer: Answer) -> Reads:
    """Inside the three bytes of a Korean syllable."""

    def places(data: bytes) -> list[int]:
        return [i for i, byte in enumerate(data) if byte & 0xC0 == 0x80]

    return _cut_at(_whole(plain(answer)), places, answer.rng)


def _crlf(answer: Answer) -> Reads:
    """Lines end with CR LF, and a read may end between the two. Both halves came at the same time."""
    reads: Reads = []
    for at_ms, data in _whole(plain(answer), "\r\n\r\n"):
        place = answer.rng.choice([m.end() for m in re.finditer(rb"\r", data)])
        reads += (
            [(at_ms, data[:place]), (at_ms, data[place:])] if answer.rng.random() < 0.5 else [(at_ms, data)]
        )
    return reads


FILLERS = (":", ": ping", 'event: ping\ndata: {"type":"ping"}', "data:")


def _pings(answer: Answer) -> Reads:
    answer.put(FILLERS[0])
    answer.first()
    for filler, piece in zip(
        answer.rng.sample(FILLERS, k=len(FILLERS)) + [":"] * len(answer.pieces),
        answer.pieces[1:],
        strict=False,
    ):
        answer.wait(5, 30)
        answer.put(filler)
        answer.rest([piece])
    answer.finish()
    return _whole(answer)


def _together(answer: Answer) -> Reads:
    """A slow reader gets several events at once, and they all have the time of that read."""
    plain(answer)
    reads, waiting = [], _whole(answer)
    while waiting:
        count = answer.rng.randint(2, 4)
        part, waiting = waiting[:count], waiting[count:]
        reads.append((part[-1][0], b"".join(data for _at, data in part)))
    return reads


def _error(answer: Answer) -> Reads:
    """After some text the server gives up. No [DONE] comes."""
    answer.first()
    answer.rest(answer.pieces[1 : answer.rng.randint(3, len(answer.pieces))])
    answer.wait(5, 40)
    code, kind, message = answer.rng.choice(ERRORS)
    answer.say({"error": {"code": code, "message": message, "type": kind}})
    return _whole(answer)


def _no_done(answer: Answer) -> Reads:
    """The connection breaks in the middle of an event: what came whole before it counts, the half does not."""
    answer.first()
    answer.rest()
    *reads, (at_ms, data) = _whole(answer)
    return [*reads, (at_ms, data[: answer.rng.randint(8, len(data) - 6)])]


STRETCH: Mapping[str, Callable[[Answer], Reads]] = {
    "cut": _cut,
    "syllable": _syllable,
    "crlf": _crlf,
    "pings": _pings,
    "together": _together,
    "error": _error,
    "no-done": _no_done,
}
