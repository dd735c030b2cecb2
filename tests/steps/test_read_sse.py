"""The step about reading a stream: what its grader says of right and wrong versions of `sse.py`.

They run here in plain CPython, with the driver that students download for a terminal; tests/browser runs the same
versions in the page.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from labs.grading.checks import Check, Verdict
from labs.measure.reading import lines_of, read_stream
from labs.measure.recording import Frame
from labs.steps import all_steps
from labs.steps.base import RoundSeen, Seen
from labs.steps.fields import as_post
from labs.steps.read_sse import BONUS, CORE, QUESTIONS
from labs.steps.sse_kit.answers import NoAnswers, read_answers
from labs.steps.sse_kit.draw import draw_streams, frames_of
from labs.steps.sse_kit.source import source
from tests.llama.sse_cases import event, token
from tests.steps.sse_sources import FAULTS, core, feed

STEP = all_steps()["read-sse"]
ROUND = STEP.round("streams")


def challenge_of(seed: int) -> dict[str, Any]:
    return ROUND.challenge(random.Random(seed), Seen())


def results_of(text: str, challenge: dict[str, Any], folder: Path) -> str:
    """What answers.json holds after `python sse.py streams.json`, run in this process."""
    path = folder / "streams.json"
    path.write_text(json.dumps({name: challenge[name] for name in ("parse", "feed")}))
    namespace: dict[str, Any] = {"__name__": "sse"}
    exec(compile(text + source("terminal"), "sse.py", "exec"), namespace)
    return json.dumps(namespace["recorded"](path))


def form_for(text: str, results: str, challenge: dict[str, Any]) -> Any:
    return ROUND.Form(as_post({"source": text, "results": results}), challenge=challenge, seen=Seen())


def grade(text: str, results: str, challenge: dict[str, Any]) -> Sequence[Check]:
    form = form_for(text, results, challenge)
    assert form.is_valid(), form.errors
    return STEP.grade(Seen(streams=RoundSeen("streams", challenge, form.answers())))


def failed(checks: Sequence[Check]) -> set[str]:
    return {check.key for check in checks if check.verdict is not Verdict.PASS}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_on_the_stream_made_for_it_and_nowhere_else(name: str, tmp_path: Path) -> None:
    text, expected = FAULTS[name]
    for seed in range(5):
        challenge = challenge_of(seed)
        checks = grade(text, results_of(text, challenge, tmp_path), challenge)
        assert failed(checks) == expected
        for check in checks:
            if check.verdict is Verdict.FAIL:
                assert len(str(check.reason)) > 40


@pytest.mark.parametrize("text", [source("solution"), core(), feed()], ids=["solution", "core", "feed"])
def test_a_right_version_passes_over_20_seeds(text: str, tmp_path: Path) -> None:
    for seed in range(20):
        challenge = challenge_of(seed)
        checks = grade(text, results_of(text, challenge, tmp_path), challenge)
        assert failed(checks) == set()
        assert {check.key for check in checks} == set(CORE) | (set(BONUS) if "def feed" in text else set())


def test_byte_faults_fail_the_bonus_and_the_others_the_core() -> None:
    for text, expected in FAULTS.values():
        assert expected <= set(BONUS if "def feed" in text else CORE)


def test_the_starter_runs_and_fails_everything_with_its_line(tmp_path: Path) -> None:
    challenge = challenge_of(1)
    checks = grade(source("starter"), results_of(source("starter"), challenge, tmp_path), challenge)
    assert failed(checks) == set(CORE)
    line = next(i for i, text in enumerate(source("starter").splitlines(), 1) if "json.loads" in text)
    assert f"in line {line} of sse.py: JSONDecodeError" in str(checks[0].reason)


def test_a_reason_names_the_row_and_what_to_change(tmp_path: Path) -> None:
    text, _expected = FAULTS["counts the role frame"]
    challenge = challenge_of(3)
    check = next(
        c for c in grade(text, results_of(text, challenge, tmp_path), challenge) if c.key == "parse-role"
    )
    rows = challenge["parse"]["role"]
    first = next(
        i for i, (_at, line) in enumerate(rows, 1) if '"content":"' in line and '"content":""' not in line
    )
    assert "the time of row 1, which has a role and no text" in str(check.reason)
    assert f"in row {first}, at {rows[first - 1][0]} ms" in str(check.reason)


def test_streams_are_fresh_and_hold_what_they_are_named_for() -> None:
    drawn = [draw_streams(random.Random(seed)) for seed in range(30)]
    for streams in drawn:
        readings = {
            (function, name): read_stream(frames_of(function, stream))
            for function, given in streams.items()
            for name, stream in given.items()
        }
        assert all(reading.pieces for reading in readings.values())
        assert len([e for e in readings["parse", "role"].silent if e.has_role]) == 3
        assert any(not e.has_role for e in readings["parse", "empty"].silent)
        assert "[DONE]" in readings["parse", "done"].text
        assert {name for (_f, name), r in readings.items() if not r.done} == {"error", "no-done"}
        assert {name for (_f, name), r in readings.items() if r.error} == {"error"}
        # As many pieces as tokens would let a reader that counts them pass.
        assert all(r.predicted_n is None or r.predicted_n != len(r.pieces) for r in readings.values())
        cut = [frame.data for frame in frames_of("feed", streams["feed"]["syllable"])]
        assert any(_ends_inside_a_character(data) for data in cut)
        assert not any(_ends_inside_a_character(f.data) for f in frames_of("feed", streams["feed"]["cut"]))
        assert any(f.data.endswith(b"\r") for f in frames_of("feed", streams["feed"]["crlf"]))
    assert len({json.dumps(streams) for streams in drawn}) == len(drawn)


def _ends_inside_a_character(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end == len(data)
    return False


def test_the_challenge_never_holds_an_expected_answer() -> None:
    for seed in range(5):
        challenge = challenge_of(seed)
        assert set(challenge) == {"parse", "feed", "question"}
        assert challenge["question"] in QUESTIONS


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Write sse.py first"),
        ("def feed(chunks, now):\n    return {}\n", "defines no function parse"),
        ("# def parse(lines, now):\n", "defines no function parse"),
        ("x = 1\n" + "#" * 30_000 + "\ndef parse(lines, now): ...\n", "at most 20,000"),
    ],
)
def test_an_answer_without_a_source_that_defines_parse_is_refused(text: str, sentence: str) -> None:
    form = form_for(text, '{"parse": {}}', challenge_of(0))
    assert not form.is_valid()
    assert sentence in str(form.errors["source"])


@pytest.mark.parametrize(
    "results",
    [
        "",
        "x",
        "[1]",
        '{"feed": {}}',
        '{"parse": []}',
        '{"parse": {"plain": {"value": {"ttft_ms": NaN}}}}',
        "[" * 9_000,
    ],
)
def test_results_that_no_run_gives_are_refused_in_a_sentence(results: str) -> None:
    form = form_for(core(), results, challenge_of(0))
    assert not form.is_valid()
    assert "run" in str(form.errors["results"]).lower()


def test_results_are_cut_to_size_and_hold_nothing_unasked() -> None:
    huge = {
        "pieces": [[1.5, "x"]] * 2_000,
        "text": "y" * 50_000,
        "ttft_ms": {"a": 1},
        "prompt_n": 10**400,
        "done": "\0",
    }
    posted = {"parse": {"plain": {"value": huge}, "other": {"value": {}}}, "more": {}}
    found = read_answers(json.dumps(posted), {"parse": {"plain": []}})
    assert set(found) == {"parse"} and set(found["parse"]) == {"plain"}
    value = found["parse"]["plain"]["value"]
    assert len(value["pieces"]) < 500 and len(value["text"]) < 5_000
    assert value["ttft_ms"] is None and value["prompt_n"] is None and value["done"] == "\ufffd"
    with pytest.raises(NoAnswers):
        read_answers('{"parse": 1}', {"parse": {}})


@pytest.mark.parametrize(
    "answer", [None, 1, {"value": 3}, {"value": {}}, {"error": "x", "line": "y"}, {"value": {"pieces": 3}}]
)
def test_an_odd_answer_fails_its_check_and_nothing_else(answer: Any, tmp_path: Path) -> None:
    challenge = challenge_of(2)
    results = json.loads(results_of(core(), challenge, tmp_path))
    results["parse"]["plain"] = answer
    assert failed(grade(core(), json.dumps(results), challenge)) == {"parse-plain"}


def test_feed_results_without_a_feed_in_the_source_earn_nothing(tmp_path: Path) -> None:
    challenge = challenge_of(2)
    checks = grade(core(), results_of(feed(), challenge, tmp_path), challenge)
    assert {check.key for check in checks} == set(CORE)


def test_the_files_for_a_terminal_are_the_streams_and_a_file_that_runs() -> None:
    challenge = challenge_of(4)
    files = ROUND.files(challenge, Seen())
    assert json.loads(files["streams.json"]) == {name: challenge[name] for name in ("parse", "feed")}
    compile(files["sse.py"], "sse.py", "exec")
    assert "import httpx" in files["sse.py"]


@pytest.mark.parametrize(
    "filler",
    [":", ": ping - 12", 'event: ping\ndata: {"type":"ping"}', "data:", "event: x", "id: 7\nretry: 10"],
)
def test_filler_is_no_piece_and_no_error(filler: str) -> None:
    reading = read_stream([Frame(5, f"{filler}\n\n".encode()), Frame(9, event(token("안녕")))])
    assert [(piece.at_us, piece.text) for piece in reading.pieces] == [(9, "안녕")]
    assert (reading.error, reading.done) == (None, False)


def test_lines_have_the_time_of_the_frame_that_ended_them() -> None:
    frames = [Frame(10, b"data: a\r"), Frame(20, b"\n\r\ndata: \xec"), Frame(30, b"\x95\x88\n\n")]
    assert lines_of(frames) == [(20, "data: a"), (20, ""), (30, "data: 안"), (30, "")]
