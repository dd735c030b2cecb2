"""Versions of `sse.py` as students write them: each wrong in one way, and the checks it must fail."""

from __future__ import annotations

from collections.abc import Mapping

CORE = """
import json

def parse(lines, now):
    pieces, first, ttft, timings, done = [], None, None, {{}}, False
    def result():
        return {{"pieces": pieces, "text": "".join(t or "" for _, t in pieces), "first_token": first,
                "ttft_ms": {ttft}, "prompt_n": timings.get("prompt_n"), "prompt_ms": timings.get("prompt_ms"),
                "predicted_n": timings.get("predicted_n"), "done": done}}
    for line in {lines}:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if {is_end}:
            done = True
            {at_end}
        event = json.loads(data)
        timings = event.get("timings") or timings
        {loop}
            text = choice["delta"].get("content")
            if {counts}:
                ttft = now() if ttft is None else ttft
            if {keeps}:
                first = text if first is None else first
                pieces.append(({time}, text))
            {after}
    return result()
"""
RIGHT = {
    "lines": "lines",
    "is_end": 'data == "[DONE]"',
    "at_end": "continue",
    "loop": 'for choice in event["choices"]:',
    "counts": "text",
    "keeps": "text",
    "time": "now()",
    "ttft": "ttft",
    "after": "pass",
}


def core(**wrong: str) -> str:
    return CORE.format(**RIGHT | wrong)


CORE_FAULTS: Mapping[str, tuple[str, set[str]]] = {
    "counts the role frame": (core(counts='text or "role" in choice["delta"]'), {"parse-role"}),
    "keeps empty pieces": (
        core(keeps='text or (text == "" and "role" not in choice["delta"])'),
        {"parse-empty"},
    ),
    "takes choices[0] blindly": (core(loop='for choice in [event["choices"][0]]:'), {"parse-timings"}),
    "stops at finish_reason": (
        core(after='if choice["finish_reason"]: return result()'),
        {"parse-timings", "parse-done"},
    ),
    "takes the mark inside a text for the end": (
        core(is_end='"[DONE]" in data', at_end="break"),
        {"parse-done"},
    ),
    "collects the lines first": (core(lines="list(lines)"), {"parse-plain", "parse-role", "parse-empty"}),
    "answers in seconds": (core(ttft="ttft / 1000"), {"parse-plain", "parse-role", "parse-empty"}),
}

FEED = """
def feed(chunks, now):
    pieces, timings, done, error, rest = [], {{}}, False, None, {empty}
    for chunk in chunks:
        {split}
        for line in lines:
            {text}
            if not line.startswith("data:"):
                continue
            data = line[5:]{strip}
            {filler}
            if data{strip_end} == "[DONE]":
                done = True
                continue
            {load}
            timings = event.get("timings") or timings
            if event.get("error"):
                {error}
            for choice in event.get("choices", []):
                if choice["delta"].get("content"):
                    pieces.append((now(), choice["delta"]["content"]))
            {after}
    return {{"pieces": pieces, "text": "".join(t for _, t in pieces), "first_token": pieces[0][1] if pieces else None,
            "ttft_ms": pieces[0][0] if pieces else None, "prompt_n": timings.get("prompt_n"),
            "prompt_ms": timings.get("prompt_ms"), "predicted_n": timings.get("predicted_n"),
            "done": {done}, "error": error}}
"""
FEED_RIGHT = {
    "empty": 'b""',
    "split": '*lines, rest = (rest + chunk).split(b"\\n")',
    "text": "line = line.decode()",
    "strip": ".strip()",
    "strip_end": "",
    "filler": "if not data: continue",
    "load": "event = json.loads(data)",
    "error": 'error = event["error"]["message"]',
    "after": "pass",
    "done": "done",
}


def feed(**wrong: str) -> str:
    return core() + FEED.format(**FEED_RIGHT | wrong)


FEED_FAULTS: Mapping[str, tuple[str, set[str]]] = {
    "splits bytes instead of lines": (
        feed(
            split='lines = chunk.split(b"\\n")',
            text='line = line.decode("utf-8", "ignore")',
            load="""try:
                event = json.loads(data)
            except ValueError:
                continue""",
        ),
        {"feed-cut", "feed-syllable"},
    ),
    "decodes read by read": (
        feed(
            empty='""',
            split='*lines, rest = (rest + chunk.decode("utf-8", "replace")).split("\\n")',
            text="pass",
        ),
        {"feed-syllable"},
    ),
    "knows LF only": (
        feed(
            split='*lines, rest = (rest + chunk).split(b"\\n\\n")',
            text='line = line.decode().split("\\n")[-1]',
        ),
        {"feed-crlf"},
    ),
    "compares the mark with its CR": (feed(strip='.removeprefix(" ")'), {"feed-crlf"}),
    "takes all data for JSON": (feed(filler="pass"), {"feed-pings"}),
    "one event a read": (feed(after="break"), {"feed-together"}),
    "passes over errors": (feed(error="pass"), {"feed-error"}),
    "says done at the end": (feed(done="True"), {"feed-error", "feed-no-done"}),
}

FAULTS = {**CORE_FAULTS, **FEED_FAULTS}
