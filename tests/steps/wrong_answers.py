"""Answers as students give them, each wrong in one way, held against the run that was recorded with the model answers.

A change is a value to post, or a function of the recorded answer and the round's challenge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labs.text import Json

Changed = Callable[[Any, Json], Any]


@dataclass(frozen=True, slots=True)
class Wrong:
    """`says`: words of the reason, in English and in Korean, that name what to change."""

    step: str
    check: str
    round: str
    changes: Mapping[str, Any]
    says: tuple[str, str]

    @property
    def name(self) -> str:
        return f"{self.step}: {self.check}, {self.says[0]}"


def times(factor: float) -> Changed:
    return lambda value, _challenge: round(value * factor, 1)


def plus(more: float) -> Changed:
    return lambda value, _challenge: round(value + more, 1)


def _answer(function: str, stream: str, change: Callable[[Json, Any], object]) -> Mapping[str, Changed]:
    """The results of a run of `sse.py`, with one stream's answer changed."""

    def changed(results: Json, challenge: Json) -> str:
        copy = json.loads(json.dumps(results))
        change(copy[function][stream], challenge[function][stream])
        return json.dumps(copy)

    return {"results": changed}


def _value(**fields: Any) -> Callable[[Json, Any], object]:
    return lambda answer, _stream: answer["value"].update(fields)


def _stopped(error: str, line: int) -> Callable[[Json, Any], object]:
    def change(answer: Json, _stream: Any) -> None:
        answer.clear()
        answer.update(error=error, line=line)

    return change


def _sse(check: str, change: Callable[[Json, Any], object], says: tuple[str, str]) -> Wrong:
    function, _, stream = check.partition("-")
    return Wrong("read-sse", check, "streams", _answer(function, stream, change), says)


def _mark(name: str, place: Any, says: tuple[str, str]) -> Wrong:
    return Wrong("first-sentence", f"mark-{name}", "mark", {f"mark_{name}": place}, says)


def _behind(name: str, stop: str) -> Changed:
    return lambda _right, challenge: challenge["texts"][name].index(stop) + len(stop)


TOO_EARLY = ("not over yet", "아직 끝나지")

SERVER_UP = (
    # The server has 2 slots of 4096 tokens.
    Wrong(
        "server-up",
        "share",
        "read",
        {"more_tokens": lambda right, _c: right + 4096},
        ("one conversation", "대화 하나"),
    ),
    Wrong("server-up", "share", "read", {"more_tokens": 4096}, ("Subtract", "빼")),
    Wrong("server-up", "waiting", "read", {"waiting": 2}, ("slots", "슬롯")),
    Wrong("server-up", "loading", "read", {"loading": "broken"}, ("model is loaded", "모델")),
    Wrong("server-up", "flag", "read", {"flag": "cache-reuse"}, ("--cache-reuse", "--cache-reuse")),
    Wrong("server-up", "limit", "read", {"limit_mib": 8}, ("MiB", "MiB")),
)

READ_SSE = (
    _sse(
        "parse-plain",
        lambda a, _s: a["value"].update(ttft_ms=a["value"]["ttft_ms"] / 1000),
        ("seconds", "초"),
    ),
    _sse("parse-role", lambda a, s: a["value"].update(ttft_ms=s[0][0]), ("has a role", "역할")),
    _sse(
        "parse-empty", lambda a, s: a["value"]["pieces"].insert(0, [s[0][0], ""]), ("Leave out pieces", "빼")
    ),
    _sse("parse-timings", _value(prompt_n=None), ("timings", "timings")),
    _sse("parse-timings", _stopped("IndexError: list index out of range", 19), ("line 19", "19")),
    _sse("parse-done", _value(done=False), ("[DONE]", "[DONE]")),
    _sse(
        "feed-cut",
        lambda a, _s: a["value"].update(text=a["value"]["text"][:-1]),
        ("Read on to its end", "끝까지"),
    ),
    _sse("feed-syllable", _value(text="\ufffd\ufffd"), ("decode whole lines", "바이트")),
    _sse("feed-crlf", _value(done=False), ("[DONE]", "[DONE]")),
    _sse("feed-pings", _stopped("JSONDecodeError: Expecting value", 30), ("line 30", "30")),
    _sse(
        "feed-together",
        lambda a, _s: a["value"].update(pieces=a["value"]["pieces"][:1]),
        ("ends after 1", "`pieces`"),
    ),
    _sse("feed-error", _value(error=None), ("`error` must hold", "`error`")),
    _sse("feed-no-done", _value(done=True), ("only when that line", "[DONE]")),
    Wrong(
        "read-sse",
        "own",
        "own",
        _answer("parse", "own", _value(predicted_n=1)),
        ("do not count", "predicted_n"),
    ),
    Wrong("read-sse", "ms-per-token", "own", {"ms_per_token": times(1.3)}, ("predicted_n", "predicted_n")),
)

FIRST_TOKEN = (
    Wrong("first-token", "frame", "mark", {"frame": 0}, ("no visible text", "글자")),
    Wrong("first-token", "frame", "mark", {"frame": lambda right, _c: right + 1}, ("further up", "더 위")),
    Wrong("first-token", "too-short", "mark", {"too_short_ms": 0}, ("with a role", "role")),
    Wrong("first-token", "wait", "split", {"wait_ms": times(0.7)}, ("headers", "헤더")),
    Wrong("first-token", "prefill", "split", {"prefill_ms": times(1.3)}, ("prompt_ms", "prompt_ms")),
    Wrong("first-token", "rest", "split", {"rest_ms": plus(40)}, ("subtract the wait", "TTFT")),
    Wrong("first-token", "unknown", "split", {"unknown": "prefill"}, ("another part", "다른 부분")),
)

PREFILL = (
    Wrong("prefill", "prediction", "large", {"twelve_ms": times(2.5)}, ("along that line", "직선")),
    Wrong("prefill", "prediction", "large", {"twelve_ms": 1}, ("along that line", "직선")),
    Wrong("prefill", "per-document", "explain", {"per_document_ms": times(8)}, ("divide by the 8", "8")),
    Wrong("prefill", "why", "explain", {"why": "nothing"}, ("without a document", "문서")),
)

CACHE_REUSE = (
    Wrong("cache-reuse", "why", "emptied", {"why": "check"}, ("first token of its answer", "첫 토큰")),
    Wrong("cache-reuse", "emptied", "emptied", {"after_prompt_n": 1}, ("nothing can be skipped", "건너뛸")),
    Wrong("cache-reuse", "emptied", "emptied", {"after_prompt_n": plus(-24)}, ("whole prompt", "프롬프트")),
    Wrong("cache-reuse", "more", "explain", {"more_computed": plus(1)}, ("of the repeat", "prompt_n")),
    Wrong("cache-reuse", "where", "explain", {"where": "slot"}, ("Choose the place", "곳")),
)

CACHE_BREAK = (
    Wrong(
        "cache-break", "prediction", "guess", {"pick_front": plus(40)}, ("first token that differs", "토큰")
    ),
    Wrong("cache-break", "own-figures", "repair", {"more_computed": plus(1)}, ("prompt_n", "prompt_n")),
)

FIRST_SENTENCE = (
    _mark("decimal", _behind("decimal", "."), TOO_EARLY),
    _mark("decimal", lambda right, _c: right + 4, ("begun already", "이미 시작")),
    _mark("abbreviation", _behind("abbreviation", "m."), TOO_EARLY),
    _mark("list", 1, TOO_EARLY),
    _mark("korean", 0, TOO_EARLY),
    _mark("own", 0, TOO_EARLY),
    Wrong("first-sentence", "blank", "mark", {"blank": "pause"}, ("3.5", "3.5")),
    Wrong("first-sentence", "still-cuts", "mark", {"still_cut": ["decimal"]}, ("Apply the rule", "규칙")),
    Wrong("first-sentence", "cap", "cap", {"cap": 8}, ("raise it", "올리")),
    Wrong("first-sentence", "clip", "cap", {"clip": 4}, ("Lower it", "낮추")),
)

BARGE_IN = (
    Wrong(
        "barge-in", "saved", "stop", {"saved_tokens": lambda right, _c: 200 - right}, ("left of 200", "200")
    ),
    Wrong("barge-in", "stop-break", "stop", {"stops": ["break", "close", "leave"]}, ("connection", "연결")),
    Wrong("barge-in", "stop-stall", "stop", {"stops": ["stall", "close", "leave"]}, ("not closing", "닫")),
    Wrong("barge-in", "stop-close", "stop", {"stops": ["leave"]}, ("closes the connection", "연결")),
    Wrong("barge-in", "stop-leave", "stop", {"stops": ["close"]}, ("closes the connection", "연결")),
)

VOICE_TURN = (Wrong("voice-turn", "mouth", "mouth", {"mouth_ms": plus(900)}, ("4.5 ms", "4.5")),)

WRONG: Sequence[Wrong] = (
    *SERVER_UP,
    *READ_SSE,
    *FIRST_TOKEN,
    *PREFILL,
    *CACHE_REUSE,
    *CACHE_BREAK,
    *FIRST_SENTENCE,
    *BARGE_IN,
    *VOICE_TURN,
)

# Of the wrong answers that have a recording of their own: words of each failed check's reason.
RECORDED_SAYS: Mapping[tuple[str, str, str], tuple[str, str]] = {
    ("cache-break", "same-clock", "prediction"): ("last one where none does", "마지막"),
    ("cache-break", "same-clock", "break"): ("another time", "다른 시각"),
    ("cache-break", "clock-at-the-end", "prediction"): ("first token that differs", "토큰"),
    ("cache-break", "clock-at-the-end", "break"): ("in front of everything", "맨 앞"),
    ("cache-break", "clock-in-front", "repaired"): ("behind all documents", "뒤"),
    ("voice-turn", "clock-in-front", "half"): ("in front of what does not", "앞"),
    ("voice-turn", "document-missing", "valid"): ("in turn 3", "3"),
    ("voice-turn", "document-missing", "half"): ("lacks what a turn needs", "문서"),
    ("voice-turn", "low-cap", "sentence"): ("Raise max_tokens", "max_tokens"),
}
