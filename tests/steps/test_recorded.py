"""What was recorded from a real server, and the verdicts that it gives: right answers pass, wrong ones say why."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest
from django.utils import translation

from labs.grading.checks import Check, Verdict
from labs.measure.figures import read_figures
from labs.measure.frames import unpack_frames
from labs.measure.plan import Item
from labs.measure.recording import Figures, Recording, RunRecord, ServerFacts, SlotSample
from labs.steps import all_steps
from labs.steps.base import Seen, Step
from labs.steps.fields import as_post
from labs.steps.recorded import FOLDER, seen_from_json
from labs.text import Text
from labs.views.words import say
from scripts.record_examples import COMMAND, MODEL_ANSWERS
from tests.steps.wrong_answers import RECORDED_SAYS, WRONG, Wrong

STEPS = all_steps()
FILES = sorted(FOLDER.glob("*.*.json"))
AGAIN = f"the recordings are older than the code: run {COMMAND} (and scripts/record-host-cache)"
MOST_BYTES = 1_500_000

each_step = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
each_file = pytest.mark.parametrize("name", [path.name for path in FILES])
each_stored = pytest.mark.parametrize("name", [path.name for path in sorted(FOLDER.glob("*.json"))])


@cache
def stored(name: str) -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return data


def model_answers(step: Step) -> Seen:
    return seen_from_json(stored(f"{step.key}.{MODEL_ANSWERS}.json")["rounds"])


def by_key(step: Step, seen: Seen) -> dict[str, Check]:
    return {check.key: check for check in step.grade(seen)}


def answered(step: Step, wrong: Wrong) -> Seen:
    """The recorded rounds, but for these answers in one of them: what the form makes of them, and the same plan."""
    seen, before = model_answers(step), Seen()
    for round_ in step.rounds:
        row = seen[round_.key]
        if round_.key == wrong.round:
            changed = {
                name: value(row.answers[name], row.challenge) if callable(value) else value
                for name, value in wrong.changes.items()
            }
            post = as_post({**round_.sample(row.challenge, before), **changed})
            form = round_.Form(post, challenge=row.challenge, seen=before)
            assert form.is_valid(), form.errors
            answers = {**row.answers, **{name: form.answers()[name] for name in changed}}
            plans = [round_.plan(row.challenge, given, before) for given in (answers, row.answers)]
            assert plans[0] == plans[1], "these answers need a recording of their own"
            return Seen({**seen, round_.key: replace(row, answers=answers)})
        before[round_.key] = row
    raise KeyError(wrong.round)


def assert_it_names_what_to_change(failed: Check, passed: Text, says: tuple[str, str]) -> None:
    assert failed.verdict is Verdict.FAIL, str(failed.reason)
    assert failed.reason.msgid != passed.msgid
    for language, words in zip(("en", "ko"), says, strict=True):
        with translation.override(language):
            said = say(failed.reason).replace("\xa0", " ")  # a number and its unit stay on one line
            assert words in said
            assert said != say(passed).replace("\xa0", " ")
            assert "%(" not in said
    assert any("\uac00" <= char <= "\ud7a3" for char in said), f"not in Korean: {said}"


@each_step
def test_model_answers_earn_every_point_on_the_recorded_run(step: Step) -> None:
    checks = step.grade(model_answers(step))
    assert {check.key: check.verdict for check in checks} == {check.key: Verdict.PASS for check in checks}
    assert sum(check.score or 0 for check in checks) == step.points + step.bonus


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_a_wrong_answer_fails_and_says_what_to_change(wrong: Wrong) -> None:
    step = STEPS[wrong.step]
    right, found = by_key(step, model_answers(step)), by_key(step, answered(step, wrong))
    assert_it_names_what_to_change(found[wrong.check], right[wrong.check].reason, wrong.says)
    assert {key for key, check in found.items() if check.verdict is not Verdict.PASS} == {wrong.check}


@pytest.mark.parametrize(("key", "slug", "check"), RECORDED_SAYS, ids="/".join)
def test_a_recorded_wrong_answer_says_what_to_change(key: str, slug: str, check: str) -> None:
    step = STEPS[key]
    found = by_key(step, seen_from_json(stored(f"{key}.{slug}.json")["rounds"]))
    right = by_key(step, model_answers(step))
    assert_it_names_what_to_change(found[check], right[check].reason, RECORDED_SAYS[key, slug, check])


@each_step
def test_every_check_that_answers_can_fail_is_failed_above(step: Step) -> None:
    """What a person can get wrong has hints; what only a server can has none."""
    can_fail = {check.key for check in step.grade(model_answers(step)) if check.hints}
    failed = {wrong.check for wrong in WRONG if wrong.step == step.key}
    failed |= {check for key, _slug, check in RECORDED_SAYS if key == step.key}
    assert failed == can_fail


def test_every_recorded_fail_is_looked_at() -> None:
    claimed = {
        (*path.name.split(".")[:2], check)
        for path in FILES
        for check, verdict in stored(path.name)["verdicts"].items()
        if verdict == Verdict.FAIL
    }
    assert claimed == set(RECORDED_SAYS)


def names(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}


def runs_of(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [row["run"] for row in data.get("rounds", ())] + list(data.get("runs", {}).values())
    return [run for run in found if run is not None]


@each_stored
def test_a_recording_has_the_shape_of_todays_runs(name: str) -> None:
    runs = runs_of(stored(name))
    assert runs
    for run in runs:
        assert set(run) == names(RunRecord), AGAIN
        assert set(run["server"]) == names(ServerFacts), AGAIN
        for row in run["recordings"]:
            assert set(row) == names(Recording), AGAIN
            assert set(row["figures"]) == names(Figures), AGAIN
            assert all(set(sample) == names(SlotSample) for sample in row["samples"]), AGAIN


@each_file
def test_a_recording_is_what_the_step_draws_and_asks_today(name: str) -> None:
    step, data = STEPS[name.partition(".")[0]], stored(name)
    seen, before = seen_from_json(data["rounds"]), Seen()
    assert [round_.key for round_ in step.rounds] == list(seen), AGAIN
    for round_ in step.rounds:
        row = seen[round_.key]
        rng = random.Random(f"{step.key}:{round_.key}:{data['how']['seed']}")
        assert json.loads(json.dumps(round_.challenge(rng, before))) == row.challenge, AGAIN
        plan = round_.plan(row.challenge, row.answers, before)
        asked, may_be = (set(), set()) if plan is None else map(_keys, (plan.items, plan.all_items))
        # The spare repeats are there where that machine was noisy.
        assert asked <= set(row.run.recordings if row.run else ()) <= may_be, AGAIN
        before[round_.key] = row


def _keys(items: Iterable[Item]) -> set[str]:
    return {item.key for item in items}


@each_file
def test_the_frames_of_a_recording_give_its_figures(name: str) -> None:
    for row in seen_from_json(stored(name)["rounds"]).values():
        for recording in row.run.recordings.values() if row.run else ():
            if recording.kind == "ask":
                seen = recording.figures
                again = read_figures(
                    recording.frames, headers_us=seen.headers_us, end=seen.end, end_us=seen.end_us
                )
                assert replace(again, connect_us=seen.connect_us) == seen, AGAIN


@each_file
def test_a_recording_says_where_it_is_from(name: str) -> None:
    how = stored(name)["how"]
    assert how["command"] == COMMAND
    assert all(how[fact] for fact in ("on", "build", "model", "seed"))


@each_stored
def test_a_recording_tells_nothing_of_the_machine(name: str) -> None:
    """Packed bytes are looked at unpacked: in base64 any word may stand by chance."""
    data = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    texts = []
    for row in [row for run in runs_of(data) for row in run["recordings"]]:
        texts += [frame.data.decode() for frame in unpack_frames(base64.b64decode(row.pop("frames")))]
        del row["prompt_pieces"]
    said = json.dumps(data) + "".join(texts)
    assert not [place for place in ("/work", "/root", "/tmp", "/home", "site-packages") if place in said]


def test_recordings_stay_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json")) < MOST_BYTES
