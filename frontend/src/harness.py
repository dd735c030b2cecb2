"""Runs inside the sealed worker: a student's `sse.py` on recorded streams. Only JSON text leaves it.

`run_all(request)` takes {"source": str, "streams": {...}, "limit_s": float} and gives
{"answers": {function: {stream: answer}}, "problem": {...} | None, "output": str}, an answer being
{"value": {...}} or {"error": str, "line": int | None, "trace": str}.
"""

import base64
import io
import json
import linecache
import sys
import time
import traceback
import types

FILE, OURS = "sse.py", "harness.py"
OUTPUT_CHARACTERS, TRACE_CHARACTERS, ANSWER_CHARACTERS = 64_000, 4_000, 60_000
TOOL = sys.monitoring.DEBUGGER_ID


class OutOfTime(BaseException):
    """Not an Exception, so that `except Exception` in a student's loop does not swallow it."""


class Deadline:
    """Stops Python code that runs past its time, at a jump or a call, and so in a line we can name.

    What never returns from C (a regular expression, say) is stopped by the page, which ends the worker.
    """

    def __init__(self, limit_s):
        self.until_s = time.perf_counter() + limit_s
        self.passed = False

    def look(self, code, *_where):
        if time.perf_counter() > self.until_s and code.co_filename != OURS:
            self.passed = True
            raise OutOfTime

    def on(self):
        events = sys.monitoring.events
        if sys.monitoring.get_tool(TOOL) is None:
            sys.monitoring.use_tool_id(TOOL, "deadline")
        for event in (events.JUMP, events.PY_START, events.PY_RESUME):
            sys.monitoring.register_callback(TOOL, event, self.look)
        sys.monitoring.set_events(TOOL, events.JUMP | events.PY_START | events.PY_RESUME)


class Output(io.TextIOBase):
    """What the code printed, up to a limit."""

    def __init__(self):
        self.parts, self.room = [], OUTPUT_CHARACTERS

    def write(self, text):
        text = str(text)
        if self.room > 0:
            self.parts.append(text[: self.room])
            self.room -= len(text)
        return len(text)

    def text(self):
        return "".join(self.parts)


def run_all(request):
    asked = json.loads(request)
    output = Output()
    sys.stdout = sys.stderr = output
    deadline = Deadline(asked["limit_s"])
    answers, problem = {}, None
    namespace, problem = _load(asked["source"], deadline)
    if problem is None:
        for function, streams in asked["streams"].items():
            if function in namespace:
                answers[function] = _answers(function, namespace[function], streams, deadline)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return json.dumps({"answers": answers, "problem": problem, "output": output.text()})


def _load(source, deadline):
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    module = sys.modules["sse"] = types.ModuleType("sse")  # dataclasses look their module up
    namespace = module.__dict__

    def load():
        exec(compile(source, FILE, "exec", dont_inherit=True), namespace)  # noqa: S102  what the sandbox is for
        if not callable(namespace.get("parse")):
            raise NameError("this file defines no function parse(lines, now)")

    _value, problem = _watched(load, deadline)
    return namespace, problem


def _answers(name, function, streams, deadline):
    answers = {}
    for stream, rows in streams.items():
        if deadline.passed:
            break  # the line is known; the other streams would stop at the same place
        items = rows if name == "parse" else [(at_ms, base64.b64decode(data)) for at_ms, data in rows]
        text, problem = _watched(lambda items=items: _as_json(name, _played(function, items)), deadline)
        answers[stream] = problem or {"value": json.loads(text)}
    return answers


def _played(function, items):
    clock = [0.0]

    def handed_out():
        for at_ms, item in items:
            clock[0] = at_ms
            yield item

    return function(handed_out(), lambda: clock[0])


def _as_json(name, value):
    if not isinstance(value, dict):
        raise TypeError(f"{name} gave back {type(value).__name__}, not a dict")
    text = json.dumps(value, allow_nan=False)
    if len(text) > ANSWER_CHARACTERS:
        raise ValueError(f"{name} gave back far too much")
    return text


def _watched(call, deadline):
    """(value, None), or (None, what went wrong and in which line of the student's file)."""
    deadline.on()
    try:
        return call(), None
    except BaseException as error:
        sys.monitoring.set_events(TOOL, 0)  # first of all: nothing below may be stopped
        return None, _told(error, deadline)
    finally:
        sys.monitoring.set_events(TOOL, 0)


def _told(error, deadline):
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != FILE:
        frames = frames.tb_next
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == FILE else None
    at = frames
    while at is not None:
        if at.tb_frame.f_code.co_filename == FILE:
            line = at.tb_lineno
        at = at.tb_next
    if deadline.passed:
        return {"error": "OutOfTime", "line": line, "trace": ""}
    short = type(error).__name__
    try:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        short = f"{short}: {said}" if said else short
        trace = "".join(traceback.format_exception(type(error), error, frames))
    except Exception:
        trace = ""  # its own __str__ fails
    if len(trace) > TRACE_CHARACTERS:
        trace = f"{trace[: TRACE_CHARACTERS // 2]}\n…\n{trace[-TRACE_CHARACTERS // 2 :]}"
    return {"error": short[:300], "line": line, "trace": trace}
