"""A student's answer for one stream held against the stream itself: the first thing that is wrong, in a sentence.

The sentences name the row of the stream (a line for `parse`, a read for `feed`, counted from 1 as the page lists
them) and what to change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labs.measure.reading import Reading
from labs.steps.sse_kit.times import in_ms, is_number, judge_pieces, judge_ttft
from labs.text import N_, Json, Text


def problem(answer: Json | None, reading: Reading, fields: Sequence[str]) -> Text | None:
    """None where every one of `fields` is right. `answer` is one of `read_answers`, None where there is none."""
    if answer is None:
        return N_("There is no answer for this stream. Run your code on all streams before you submit.")
    if "value" not in answer:
        return _stopped(answer)
    said = answer["value"]
    for name in fields:
        if name not in said:
            return N_(
                "Your answer has no `%(field)s`. Return a dict with all the keys the starter names.",
                field=name,
            )
        if (found := FIELDS[name](said[name], reading)) is not None:
            return found
    return None


def _stopped(answer: Json) -> Text:
    if not answer["error"]:
        return N_(
            "Your function gave back no dict for this stream. Return a dict with the keys the starter names."
        )
    if answer["line"] is None:
        return N_("Your code stopped on this stream: %(error)s.", error=answer["error"])
    return N_(
        "Your code stopped on this stream in line %(line)s of sse.py: %(error)s.",
        error=answer["error"],
        line=answer["line"],
    )


def _text(said: Any, reading: Reading) -> Text | None:
    if said == reading.text:
        return None
    if not isinstance(said, str):
        return N_("`text` must be a string: all pieces joined.")
    at = next((i for i, (a, b) in enumerate(zip(said, reading.text, strict=False)) if a != b), None)
    at = min(len(said), len(reading.text)) if at is None else at
    if at == len(said):
        return N_(
            "`text` ends after %(count)s characters, but the stream goes on with '%(right)s'. Read on to its end, and "
            "join the texts of all pieces.",
            count=at,
            right=reading.text[at : at + 20],
        )
    if "\ufffd" in said[at : at + 2]:
        return N_(
            "`text` has a broken character after %(count)s characters, where the stream says '%(right)s'. Join the "
            "bytes first and decode whole lines only.",
            count=at,
            right=reading.text[at : at + 20],
        )
    return N_(
        "`text` is right for %(count)s characters, then yours goes on with '%(said)s' where the stream says "
        "'%(right)s'. Take what stands in `content`, of every piece once and in order.",
        count=at,
        said=said[at : at + 20],
        right=reading.text[at : at + 20],
    )


def _first_token(said: Any, reading: Reading) -> Text | None:
    right = reading.pieces[0].text if reading.pieces else None
    if said == right:
        return None
    if right is None:
        return N_("This stream has no text, so `first_token` is None.")
    return N_(
        "`first_token` is '%(said)s'; the first text is '%(right)s', in row %(row)s of the stream.",
        said=str(said)[:80],
        right=right,
        row=reading.pieces[0].frame + 1,
    )


def _counter(name: str) -> Callable[[Any, Reading], Text | None]:
    def judge(said: Any, reading: Reading) -> Text | None:
        right = getattr(reading, name)
        if right is None or reading.timings_frame is None:
            return (
                None
                if said is None
                else N_("This stream has no timings, so `%(field)s` is None.", field=name)
            )
        if is_number(said) and abs(said - right) < 0.01:
            return None
        row = reading.timings_frame + 1
        if said is None:
            return N_(
                "`%(field)s` is missing. The timings stand in row %(row)s of the stream, behind the piece with the "
                "finish_reason: read on to the end, and look for timings before you look for a choice.",
                field=name,
                row=row,
            )
        return N_(
            "`%(field)s` is %(said)s; the timings in row %(row)s say %(right)s. Take the server's "
            "number, do not count.",
            field=name,
            said=str(said)[:40],
            row=row,
            right=right,
        )

    return judge


def _done(said: Any, reading: Reading) -> Text | None:
    if said is reading.done:
        return None
    if not isinstance(said, bool):
        return N_("`done` must be True or False.")
    if reading.done:
        return N_(
            "`done` is False, but the stream ends with data: [DONE]. Read on behind the finish_reason, and compare the "
            "data of a line with [DONE] before you parse it."
        )
    return N_(
        "`done` is True, but this stream ends without data: [DONE]: the answer was cut off. Set it only when that line "
        "has come."
    )


def _error(said: Any, reading: Reading) -> Text | None:
    right = reading.error
    if right is None:
        return None if not said else N_("`error` is set, but this stream has no error.")
    if said and right in str(said):
        return None
    return N_(
        "The server gave up in the middle of this stream and said so: `error` must hold its message, '%(right)s'.",
        right=right[:120],
    )


FIELDS: Mapping[str, Callable[[Any, Reading], Text | None]] = {
    "ttft_ms": judge_ttft,
    "pieces": judge_pieces,
    "text": _text,
    "first_token": _first_token,
    "prompt_n": _counter("prompt_n"),
    "prompt_ms": _counter("prompt_ms"),
    "predicted_n": _counter("predicted_n"),
    "done": _done,
    "error": _error,
}


def right_value(reading: Reading) -> Json:
    """The answer that every field takes."""
    return {
        "pieces": [[piece.at_us / 1000, piece.text] for piece in reading.pieces],
        "text": reading.text,
        "first_token": reading.pieces[0].text if reading.pieces else None,
        "ttft_ms": in_ms(reading.ttft_us),
        "prompt_n": reading.prompt_n,
        "prompt_ms": reading.prompt_ms,
        "predicted_n": reading.predicted_n,
        "done": reading.done,
        "error": reading.error,
    }
