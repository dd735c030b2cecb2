"""A student's `ttft_ms` and `pieces` held against the stream: whose time was taken, and which piece is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labs.measure.reading import ChatEvent, Reading
from labs.text import N_, Text

SLACK_MS = 0.5


def judge_ttft(said: Any, reading: Reading) -> Text | None:
    right_ms = in_ms(reading.ttft_us)
    if right_ms is None:
        return (
            None
            if said is None
            else N_("This stream has no text, so `ttft_ms` is None, not %(said)s.", said=str(said))
        )
    first = reading.pieces[0]
    if not is_number(said):
        return N_(
            "`ttft_ms` must be a number of milliseconds; the first text comes at %(at)s ms.", at=right_ms
        )
    if _near(said, right_ms):
        return None
    return (
        _silent_counted(said, reading.silent, first)
        or _wrong_clock(said, right_ms, reading)
        or N_(
            "`ttft_ms` is %(said)s; the first text comes in row %(row)s of the stream, at %(at)s ms. Call now() "
            "when that row has just arrived.",
            said=said,
            row=first.frame + 1,
            at=right_ms,
        )
    )


def _silent_counted(said_ms: float, silent: Sequence[ChatEvent], first: ChatEvent) -> Text | None:
    """The time of a piece without text was taken for the first token's."""
    piece = next((p for p in silent if _near(said_ms, p.at_us / 1000)), None)
    if piece is None:
        return None
    more = {"said": said_ms, "row": piece.frame + 1, "first": first.frame + 1, "at": first.at_us / 1000}
    if piece.has_role:
        return N_(
            "`ttft_ms` is %(said)s, the time of row %(row)s, which has a role and no text. The first token is in row "
            "%(first)s, at %(at)s ms: count a piece only when its content is not empty.",
            **more,
        )
    return N_(
        "`ttft_ms` is %(said)s, the time of row %(row)s, whose content is empty. The first token is in row %(first)s, "
        "at %(at)s ms: count a piece only when its content is not empty.",
        **more,
    )


def _wrong_clock(said: float, right_ms: float, reading: Reading) -> Text | None:
    if abs(said * 1000 - right_ms) <= SLACK_MS:
        return N_("`ttft_ms` is in seconds. now() gives milliseconds: keep them.")
    if reading.pieces and said > reading.pieces[-1].at_us / 1000 - SLACK_MS:
        return N_(
            "`ttft_ms` is %(said)s, when the whole answer had arrived, instead of %(at)s. Call now() inside the loop, "
            "for each piece as it comes; do not collect the stream first.",
            said=said,
            at=right_ms,
        )
    return None


def judge_pieces(said: Any, reading: Reading) -> Text | None:
    if not isinstance(said, list) or not all(isinstance(one, list) and len(one) == 2 for one in said):
        return N_("`pieces` must be a list of pairs: the time in milliseconds, then the text.")
    for i, piece in enumerate(reading.pieces):
        if i >= len(said):
            return N_(
                "`pieces` ends after %(count)s; the text in row %(row)s of the stream is missing. Read on until the "
                "stream ends.",
                count=len(said),
                row=piece.frame + 1,
            )
        at_ms, text = said[i]
        if text != piece.text:
            return _wrong_piece(i, text, piece, reading)
        if not is_number(at_ms) or not _near(at_ms, piece.at_us / 1000):
            return N_(
                "Piece %(piece)s has the time %(said)s; its row %(row)s was whole at %(at)s ms. Call now() for each "
                "piece as it comes, in milliseconds.",
                piece=i + 1,
                said=str(at_ms),
                row=piece.frame + 1,
                at=piece.at_us / 1000,
            )
    if len(said) > len(reading.pieces):
        return N_(
            "`pieces` has %(count)s entries, but only %(right)s pieces of the stream have text. Leave out those "
            "without.",
            count=len(said),
            right=len(reading.pieces),
        )
    return None


def _wrong_piece(i: int, said: Any, piece: ChatEvent, reading: Reading) -> Text:
    if not said:
        silent = next((p for p in reading.silent if p.frame < piece.frame), None)
        return N_(
            "Piece %(piece)s of yours has no text (row %(row)s of the stream). Leave out pieces whose content is "
            "empty, null or missing.",
            piece=i + 1,
            row=(silent or piece).frame + 1,
        )
    if "\ufffd" in str(said):
        return N_(
            "Piece %(piece)s has a broken character: a read ended inside it (before row %(row)s). Join the bytes "
            "first and decode whole lines only.",
            piece=i + 1,
            row=piece.frame + 1,
        )
    return N_(
        "Piece %(piece)s is '%(said)s', but row %(row)s of the stream says '%(right)s'.",
        piece=i + 1,
        said=str(said)[:80],
        row=piece.frame + 1,
        right=piece.text,
    )


def in_ms(us: int | None) -> float | None:
    return None if us is None else us / 1000


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _near(said_ms: float, right_ms: float) -> bool:
    return abs(said_ms - right_ms) <= SLACK_MS
