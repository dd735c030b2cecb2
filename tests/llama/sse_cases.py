"""Bytes of event streams and what they mean: group A of the public failures, as the client must read them."""

import json


def token(text: str, **more: object) -> str:
    """The data of a llama-server content event."""
    event = {"choices": [{"finish_reason": None, "index": 0, "delta": {"content": text}}], **more}
    return json.dumps(event, ensure_ascii=False)


def event(data: str, end: str = "\n") -> bytes:
    return f"data: {data}{end}{end}".encode()


ROLE_NULL = '{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}]}'
ROLE_EMPTY = '{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":""}}]}'
TIMINGS = '{"cache_n":31,"prompt_n":1,"prompt_ms":14.8,"predicted_n":2,"predicted_ms":9.5}'
USAGE = (
    '{"choices":[],"usage":{"prompt_tokens":32,"completion_tokens":2,'
    '"prompt_tokens_details":{"cached_tokens":31}},"timings":' + TIMINGS + "}"
)
PROGRESS = (
    '{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],'
    '"prompt_progress":{"total":32,"cache":0,"processed":0,"time_ms":0}}'
)
FINISH = '{"choices":[{"finish_reason":"stop","index":0,"delta":{}}]}'
ERROR = '{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}'
DONE = event("[DONE]")

KOREAN = "안녕 😀 한글"

# name: (bytes, [(event, data), ...])
EVENTS: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "A2 multi-byte text": (event(token(KOREAN)), [("message", token(KOREAN))]),
    "A3 LF": (b"data: a\n\ndata: b\n\ndata: c\n\n", [("message", x) for x in "abc"]),
    "A3 CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [("message", x) for x in "abc"]),
    "A3 CR": (b"data: a\r\rdata: b\r\rdata: c\r\r", [("message", x) for x in "abc"]),
    "A3 mixed": (b"data: a\r\n\ndata: b\r\r\ndata: c\n\r", [("message", x) for x in "abc"]),
    "A4 bare colon": (b"data: a\n\n:\n\ndata: b\n\n", [("message", "a"), ("message", "b")]),
    "A4 comment": (b": ping - 12\n\ndata: b\n\n", [("message", "b")]),
    "A4 named ping": (b'event: ping\ndata: {"type":"ping"}\n\n', [("ping", '{"type":"ping"}')]),
    "A4 empty data": (b"data:\n\n", [("message", "")]),
    "A4 name without data": (b"event: x\n\ndata: y\n\n", [("message", "y")]),
    "A5 no space": (b'data:{"n":1}\n\n', [("message", '{"n":1}')]),
    "A5 data lines": (b'data: {"a":\ndata: 1}\n\n', [("message", '{"a":\n1}')]),
    "A5 BOM": (b"\xef\xbb\xbfdata: x\n\n", [("message", "x")]),
    "A5 one BOM only": ("\ufeffdata: \ufeffx\n\n".encode(), [("message", "\ufeffx")]),
    "A5 BOM on a later line": ("data: x\n\ufeffdata: y\n\n".encode(), [("message", "x")]),
    "A5 one space only": (b"data:   two\n\n", [("message", "  two")]),
    "A5 unknown fields": (b"id: 7\nretry: 10\nfoo\ndata: x\n\n", [("message", "x")]),
    "field without colon": (b"data\n\ndata\ndata\n\n", [("message", ""), ("message", "\n")]),
    "no leading field": (b" data: x\n\ndata: y\n\n", [("message", "y")]),
    "unterminated": (b"data: a\n\ndata: b\n", [("message", "a")]),
    "line separators inside JSON": (
        "data: a\u2028b\u0085c\x0bd\n\n".encode(),
        [("message", "a\u2028b\u0085c\x0bd")],
    ),
    "broken UTF-8": (b"data: a\xffb\n\n", [("message", "a\ufffdb")]),
}
