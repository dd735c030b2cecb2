"""Streams as llama-server sends them, drawn fresh for a student and attempt, each with one trap in it."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Mapping, Sequence

from labs.measure.recording import Frame
from labs.steps.sse_kit.answer import Answer, plain
from labs.steps.sse_kit.draw_reads import STRETCH, Reads
from labs.text import Json

# [[at_ms, line], ...] for `parse`, [[at_ms, base64], ...] for `feed`.
Stream = list[list[float | str]]

ROLE_ONLY: Sequence[Json] = (
    {"role": "assistant", "content": None},
    {"role": "assistant", "content": ""},
    {"role": "assistant"},
)


def draw_streams(rng: random.Random) -> Mapping[str, Mapping[str, Stream]]:
    return {
        "parse": {name: as_lines(draw(Answer(rng))) for name, draw in CORE.items()},
        "feed": {name: _as_json(draw(Answer(rng))) for name, draw in STRETCH.items()},
    }


def _role(answer: Answer) -> Answer:
    for delta in answer.rng.sample(ROLE_ONLY, k=3):
        answer.delta(delta)
        answer.wait(4, 30)
    answer.prefill()
    answer.rest(answer.pieces)
    answer.finish()
    return answer


def _empty(answer: Answer) -> Answer:
    for _ in range(answer.rng.randint(1, 2)):
        answer.wait(5, 40)
        answer.delta({"content": ""})
    answer.first()
    middle = answer.rng.randint(2, len(answer.pieces) - 1)
    answer.rest(answer.pieces[1:middle])
    answer.wait(5, 30)
    answer.delta({"content": answer.rng.choice(("", None))})
    answer.rest(answer.pieces[middle:])
    answer.finish()
    return answer


def _timings(answer: Answer) -> Answer:
    answer.first()
    answer.rest()
    answer.wait(5, 20)
    answer.delta({}, "stop")
    answer.wait(1, 6)
    timings = answer.timings()
    usage = {
        "completion_tokens": timings["predicted_n"],
        "prompt_tokens": timings["prompt_n"] + timings["cache_n"],
    }
    answer.say({"choices": [], "id": answer.id, "usage": usage, "timings": timings})
    answer.put("data: [DONE]")
    return answer


def _done(answer: Answer) -> Answer:
    """The answer itself talks about the mark that ends a stream."""
    answer.pieces.insert(answer.rng.randint(2, len(answer.pieces) - 1), "data: [DONE] ")
    return plain(answer)


CORE: Mapping[str, Callable[[Answer], Answer]] = {
    "plain": plain,
    "role": _role,
    "empty": _empty,
    "timings": _timings,
    "done": _done,
}


def as_lines(answer: Answer) -> Stream:
    return [[at_ms, line] for at_ms, text in answer.events for line in (*text.split("\n"), "")]


def _as_json(reads: Reads) -> Stream:
    return [[at_ms, base64.b64encode(data).decode()] for at_ms, data in reads]


def frames_of(function: str, stream: Stream) -> list[Frame]:
    """A stream's rows as the bytes they stand for: a line and its end, or a read."""
    rows = [(round(float(at_ms) * 1000), str(text)) for at_ms, text in stream]
    if function == "parse":
        return [Frame(at_us, f"{line}\n".encode()) for at_us, line in rows]
    return [Frame(at_us, base64.b64decode(text)) for at_us, text in rows]
