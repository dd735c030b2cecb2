"""Plots and the voice timeline: a sentence, a table and the numbers to draw, for the steps that ask for them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.measure.figures import read_figures
from labs.measure.recording import Figures, Frame, Recording
from labs.models import Course, State
from labs.steps import all_steps
from labs.views.figures.cost import cost_plot
from labs.views.figures.reuse import reuse_plot
from labs.views.figures.slots import slots_plot
from labs.views.figures.voice import voice_timeline
from tests.measure.streams import DONE, finish, frames, token
from tests.views.rows import attempt_in

NBSP = "\u00a0"


def asked(key: str, n: int, ttft_ms: float, cache_n: int = 0) -> Recording:
    seen = Figures("done", prompt_n=n - cache_n, cache_n=cache_n, first_token_us=round(ttft_ms * 1000))
    return Recording(key, "ask", figures=seen, prompt_ids=tuple(range(n)))


def test_cost_in_words_and_numbers() -> None:
    small, large = [asked("a", 100, 450), asked("b", 200, 850), asked("c", 100, 400)], [asked("d", 300, 1300)]
    plot = cost_plot([small, large], [(large[0], 1200)])
    assert plot is not None
    assert plot.sentence == (
        "Measured runs: 4. By your first round, TTFT grows by 4.50 ms a prompt token; the fastest run with "
        f"300 tokens took 1,300{NBSP}ms."
    )
    assert plot.data["said"] == [{"n": 300, "ms": 1200}]
    assert plot.data["line"] == [{"n": 0, "ms": -50}, {"n": 300, "ms": 1300}]
    assert plot.data["medians"] == [{"n": 100, "ms": 425}], "a single run has no median of its own"
    assert plot.rows[-1][-2:] == [f"1,200{NBSP}ms", f"1,300{NBSP}ms"]
    assert cost_plot([[]], []) is None


def test_cost_of_one_size_draws_no_line() -> None:
    plot = cost_plot([[asked("a", 100, 450)]], [])
    assert plot is not None and plot.data["line"] == [] and "grows" not in plot.sentence


def test_cold_and_warm() -> None:
    plot = reuse_plot([(1, [("Cold", asked("a", 200, 900)), ("Again", asked("b", 200, 8.5, cache_n=199))])])
    assert plot is not None
    assert plot.sentence == (
        f"Cold, 200 prompt tokens were computed and the first token came after 900{NBSP}ms; warm, 1 and after "
        f"8.5{NBSP}ms."
    )
    assert [row[2] for row in plot.rows] == ["cold", "warm"]
    never = reuse_plot([(1, [("Cold", asked("a", 200, 900)), ("Again", asked("b", 200, 901))])])
    assert never is not None and never.sentence.startswith("No request was warm")
    assert reuse_plot([]) is None


def test_slots() -> None:
    cut = Recording(
        "cut",
        "ask",
        figures=Figures("cut", headers_us=1_000, end_us=500_000),
        closed_us=500_000,
        idle_us=512_000,
    )
    plot = slots_plot(2, [cut], {"cut": "Closed"})
    assert plot is not None
    assert plot.sentence == f"From our close until the slot was seen free: Closed: 12.0{NBSP}ms."
    assert plot.data["lanes"] == [{"slot": "slot 0", "from": 1, "to": 512, "closed": 500, "number": "1"}]
    unseen = slots_plot(2, [Recording("cut", "ask", figures=cut.figures, closed_us=500_000)], {})
    assert unseen is not None and "cut: not seen free" in unseen.sentence
    assert slots_plot(1, [Recording("g", "get")], {}) is None


def spoken(*pieces: tuple[float, str], reason: str = "stop", cut: bool = False) -> Recording:
    stream: tuple[Frame, ...] = frames(*((at, token(text)) for at, text in pieces))
    stream += () if cut else frames((1.0, finish(reason)), (1.0, DONE))
    end: Any = "cut" if cut else "done"
    figures = read_figures(stream, headers_us=1, end=end, end_us=1_000_000)
    return Recording("a", "ask", figures=figures, frames=stream)


def test_the_mouth_opens_earlier_with_the_first_sentence() -> None:
    voice = voice_timeline([("Mine", spoken((0.2, "One two."), (0.4, " Three"), (0.9, " four five.")))])
    assert voice is not None
    opens = {lane.title: float(lane.opens.split(NBSP)[0]) for lane in voice.lanes}
    assert opens["LabHub's turn, serial"] == 3.3
    assert opens["LabHub's five sentences, serial"] == 12.0
    assert opens["Mine, streaming"] < opens["Mine, serial"]
    assert all(bar.x + bar.width <= 1000 for lane in voice.lanes for bar in lane.bars)


def test_a_cut_answer_counts_only_where_no_other_has_a_sentence() -> None:
    cut, short = spoken((0.2, "One two. "), (0.4, "Three"), cut=True), spoken((0.1, "One"), reason="length")
    voice = voice_timeline([("Short", short), ("Cut", cut)])
    assert voice is not None and voice.lanes[-1].title == "Cut, streaming"
    none = voice_timeline([("Short", short)])
    assert none is not None and len(none.lanes) == 2 and none.sentence.startswith("No answer here")
    assert voice_timeline([]) is None


SHOWING = [step.key for step in all_steps().values() if step.shows & {"cost", "reuse", "slots"}]


@pytest.mark.parametrize("key", SHOWING)
def test_a_step_that_asks_for_plots_has_them(key: str, owner: User, course: Course, at_owner: Client) -> None:
    attempt = attempt_in(State.GRADED, owner, course, step_key=key)
    text = at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    found = re.findall(
        r'data-plot="(\w+)" data-plots="[^"]+"><script type="application/json">(.*?)</script>', text
    )
    assert {kind for kind, _payload in found} == all_steps()[key].shows & {"cost", "reuse", "slots"}
    for _kind, payload in found:
        assert set(json.loads(payload)) == {"data", "label", "axes"}


def test_a_step_that_does_not_has_none(owner: User, course: Course, at_owner: Client) -> None:
    key = next(step.key for step in all_steps().values() if not step.shows)
    attempt = attempt_in(State.GRADED, owner, course, step_key=key)
    text = at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    assert "data-plot=" not in text and "voice timeline" not in text
