"""A lab's request is made of what was frozen and of nothing else: no clock, no name, no language (case B5)."""

from __future__ import annotations

import ast
import datetime
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone, translation

import labs
from labs.llama.client import LlamaClient
from labs.measure.prefix import common_prefix
from labs.steps import all_steps
from labs.steps.base import Seen, Step
from labs.steps.examples import play
from tests.measure.driving import drive, user
from tests.measure.scripted import HEAD, ScriptedLlama

MOMENTS = ["2026-11-28T10:00:59+00:00", "2026-11-28T10:01:01+00:00", "2026-11-29T00:00:01+00:00"]
FOLDERS = ["steps", "measure", "grading"]
# What may only count the time that passes: a stopwatch, a wait, a deadline.
STOPWATCH = {"monotonic", "perf_counter", "perf_counter_ns", "monotonic_ns", "sleep", "thread_time"}


def plans(step: Step, seen: Seen) -> Iterator[str]:
    before = Seen()
    for round_ in step.rounds:
        row = seen[round_.key]
        plan = round_.plan(row.challenge, row.answers, before)
        yield json.dumps(plan.to_json() if plan is not None else None, sort_keys=True)
        before = Seen({**before, round_.key: row})


@pytest.mark.parametrize("step", all_steps().values(), ids=lambda step: step.key)
def test_the_same_answers_give_the_same_request_whenever_and_in_whatever_language(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = play(step)
    found = set()
    for moment in MOMENTS:
        at = datetime.datetime.fromisoformat(moment)
        monkeypatch.setattr(time, "time", at.timestamp)
        monkeypatch.setattr(timezone, "now", lambda at=at: at)
        for language, zone in (("ko", "Asia/Seoul"), ("en", "America/New_York")):
            with translation.override(language), timezone.override(zone):
                found.add(tuple(plans(step, seen)))
    assert len(found) == 1


def test_nothing_that_makes_a_request_or_a_grade_reads_the_wall_clock() -> None:
    """`datetime.now` cannot be frozen from outside, so nothing there may import it."""
    for folder in FOLDERS:
        paths = list((Path(labs.__file__).parent / folder).rglob("*.py"))
        assert len(paths) > 10
        for path in paths:
            for node in ast.walk(ast.parse(path.read_text())):
                names = (
                    {alias.name for alias in node.names}
                    if isinstance(node, ast.Import | ast.ImportFrom)
                    else set()
                )
                module = node.module if isinstance(node, ast.ImportFrom) else None
                assert "datetime" not in names | {module}, path
                assert module != "time", path
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == "time"
                ):
                    assert node.attr in STOPWATCH, f"{path}: time.{node.attr}"


def test_two_runs_differ_in_their_lab_line_alone_and_one_run_keeps_its_line() -> None:
    step = all_steps()["cache-break"]
    row = play(step, rounds=1)["guess"]
    plan = step.round("guess").plan(row.challenge, row.answers, Seen())
    assert plan is not None
    with ScriptedLlama() as server:
        records = [drive(server.url, plan, seed=seed).record for seed in (1, 2)]
        sent = [chat["messages"][0]["content"] for chat in server.chats]
    lines = [record.lab_line for record in records]
    assert lines[0] != lines[1]
    for line, run in zip(lines, (sent[:3], sent[3:]), strict=True):
        assert all(content.startswith(line) for content in run)
    bare = [
        [content.removeprefix(line) for content in run]
        for line, run in zip(lines, (sent[:3], sent[3:]), strict=True)
    ]
    assert bare[0] == bare[1]


def test_a_template_with_a_clock_shows_in_the_prompts_as_the_server_makes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the control fails by its own tokens, and the verdict is inconclusive (tests/grading/test_order.py)."""
    with ScriptedLlama() as server, LlamaClient(server.url) as client:
        plain = [client.prompt_tokens([dict(m) for m in user("Hi")]) for _ in range(2)]
        assert plain[0] == plain[1]
        ready = server._small
        count = iter(range(100))

        def dated(path: str, body: dict[str, object]) -> bytes:
            if path == "/apply-template":
                monkeypatch.setattr("tests.measure.scripted.HEAD", f"{HEAD}10:00:{next(count):02}")
            return ready(path, body)  # type: ignore[arg-type]

        monkeypatch.setattr(server, "_small", dated)
        first, again = (client.prompt_tokens([dict(m) for m in user("Hi")]) for _ in range(2))
        assert common_prefix(first, again) == len(HEAD) + len("10:00:0")
