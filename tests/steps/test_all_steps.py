"""What every step must keep, whichever it is. A new step needs no test of its own for these."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from labs.grading.checks import Check, Verdict
from labs.measure.plan import Plan
from labs.steps import all_steps
from labs.steps.base import Example, Round, RoundSeen, Seen, Step
from labs.steps.examples import play
from labs.steps.examples.server import SANE
from labs.steps.fields import ProseField, as_post

STEPS = list(all_steps().values())
EXAMPLES = [(step, example) for step in STEPS for example in step.examples()]
SEEDS = range(20)
LANGUAGES = ("ko", "en")

each_step = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
each_example = pytest.mark.parametrize(
    ("step", "example"), EXAMPLES, ids=[f"{step.key}: {example.name}" for step, example in EXAMPLES]
)


def model_answers(step: Step) -> Seen:
    return next(example for example in step.examples() if example.kind == "pass").seen()


def rounds_of(step: Step) -> Iterator[tuple[Round, RoundSeen, Seen]]:
    """Each round, what was locked in it, and the rounds before."""
    seen, before = model_answers(step), Seen()
    for round_ in step.rounds:
        yield round_, seen[round_.key], before
        before = Seen({**before, round_.key: seen[round_.key]})


def form_of(round_: Round, row: RoundSeen, before: Seen, data: dict[str, Any] | None) -> Any:
    tokens = {name: SANE.pieces(messages) for name, messages in round_.tokenise(row.challenge).items()}
    post = None if data is None else as_post(data)
    return round_.Form(post, challenge=row.challenge, seen=before, tokens=tokens)


def sample_of(round_: Round, row: RoundSeen, before: Seen) -> dict[str, Any]:
    tokens = {name: SANE.pieces(messages) for name, messages in round_.tokenise(row.challenge).items()}
    return dict(round_.sample(row.challenge, before, tokens))


@each_step
def test_a_form_takes_its_sample_and_refuses_an_empty_post(step: Step) -> None:
    for round_, row, before in rounds_of(step):
        form = form_of(round_, row, before, sample_of(round_, row, before))
        assert form.is_valid(), form.errors
        assert json.loads(json.dumps(form.answers())) == form.answers()
        assert not form_of(round_, row, before, {}).is_valid()


# A prompt of one's own may be any text; everything else is refused with a sentence.
READABLE = ["<script>x</script>", "9" * 5000]


@each_step
@pytest.mark.parametrize("bad", ["\ud800", "a\0b", *READABLE, "z" * 150_000])
def test_a_form_refuses_bad_text_and_can_be_shown_again(step: Step, bad: str) -> None:
    for round_, row, before in rounds_of(step):
        sample = sample_of(round_, row, before)
        for name, value in sample.items():
            post = {**sample, name: [bad] if isinstance(value, list) else bad}
            form = form_of(round_, row, before, post)
            is_prose = isinstance(form.fields[name], ProseField) and bad in READABLE
            assert form.is_valid() is is_prose, f"{name} with {bad[:10]!r}: {form.errors}"
            shown = form.as_p() + str(form.errors)
            shown.encode()
            assert "<script>" not in shown


@each_step
def test_a_form_and_its_exhibits_can_be_shown_in_both_languages(step: Step) -> None:
    for round_, row, before in rounds_of(step):
        for language in LANGUAGES:
            with translation.override(language):
                form = form_of(round_, row, before, None)
                assert all(f'name="{name}' in form.as_p() for name in sample_of(round_, row, before))
                exhibits = round_.exhibits(row.challenge, before)
                html = render_to_string("labs/widgets/exhibits.html", {"exhibits": exhibits})
                assert html.count("<figure") == len(exhibits)


@each_step
def test_without_tokens_a_form_still_takes_its_sample(step: Step) -> None:
    for round_, row, before in rounds_of(step):
        sample = dict(round_.sample(row.challenge, before))
        form = round_.Form(as_post(sample), challenge=row.challenge, seen=before)
        assert form.is_valid(), form.errors


@each_step
@pytest.mark.parametrize("language", LANGUAGES)
def test_model_answers_earn_every_point_over_20_seeds(step: Step, language: str) -> None:
    """Each student's own challenges, forms, plans and grades; the page's language changes nothing of it."""
    drawn = set()
    with translation.override(language):
        for seed in SEEDS:
            seen = play(step, seed=seed)
            checks = step.grade(seen)
            assert {check.key: check.verdict for check in checks} == dict.fromkeys(
                (check.key for check in checks), Verdict.PASS
            ), seed
            assert sum(check.score or 0 for check in checks) == step.points + step.bonus
            drawn.add(json.dumps([row.challenge for row in seen.values()]))
            assert cost_ms(step, seen) <= step.budget_ms, seed
    assert len(drawn) == len(SEEDS)


@each_step
def test_plans_survive_json_and_fit_the_budget(step: Step) -> None:
    for round_, row, before in rounds_of(step):
        plan = round_.plan(row.challenge, row.answers, before)
        if plan is None:
            continue
        assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
        keys = [item.key for item in plan.all_items]
        assert len(set(keys)) == len(keys)
    assert cost_ms(step, model_answers(step)) <= step.budget_ms


def cost_ms(step: Step, seen: Seen) -> float:
    """What the plans of these answers cost the server, as declared."""
    total_ms, before = 0.0, Seen()
    for round_ in step.rounds:
        row = seen[round_.key]
        plan = round_.plan(row.challenge, row.answers, before)
        total_ms += plan.server_ms() if plan is not None else 0
        before[round_.key] = row
    return total_ms


def test_one_pass_of_the_whole_lab_costs_at_most_40_s() -> None:
    assert sum(step.budget_ms for step in STEPS) <= 40_000


def test_a_whole_pass_with_every_spare_repeat_costs_no_more() -> None:
    total_ms = 0.0
    for step in STEPS:
        seen, before = model_answers(step), Seen()
        total_ms += cost_ms(step, seen)
        for round_ in step.rounds:
            row = seen[round_.key]
            plan = round_.plan(row.challenge, row.answers, before)
            total_ms += plan.spare_ms() if plan is not None else 0
            before[round_.key] = row
    assert total_ms <= 40_000


@each_step
def test_everyone_draws_their_own_inputs_and_the_same_number_of_tokens(step: Step) -> None:
    round_ = step.rounds[0]
    challenges = [round_.challenge(random.Random(seed), Seen()) for seed in SEEDS]
    again = [round_.challenge(random.Random(seed), Seen()) for seed in SEEDS]
    assert challenges == again
    assert len({json.dumps(challenge) for challenge in challenges}) == len(SEEDS)
    answers = next(rounds_of(step))[1].answers
    plans = [round_.plan(challenge, answers, Seen()) for challenge in challenges]
    totals = [
        sum(len(SANE.pieces(ask.messages)) for ask in plan.asks)
        for plan in plans
        if plan is not None and plan.asks
    ]
    assert max(totals, default=0) <= 1.02 * min(totals, default=0)


@each_example
def test_an_example_gets_the_verdicts_it_claims(step: Step, example: Example) -> None:
    seen = example.seen()
    checks = step.grade(seen)
    assert {check.key: check.verdict for check in checks} == dict(example.verdicts)
    assert sum(check.points for check in checks) == step.points + step.bonus
    assert [Check.from_json(json.loads(json.dumps(check.to_json()))) for check in checks]
    for check in checks:
        assert check.round in seen
        assert "%(" not in str(check.reason)
        assert json.loads(json.dumps(check.to_json())) == check.to_json()
        if check.verdict is Verdict.FAIL:
            assert len(check.hints) == 2


@each_step
def test_a_step_has_examples_of_every_kind(step: Step) -> None:
    kinds = {example.kind for example in step.examples()}
    assert kinds == {"pass", "fail", "inconclusive"}
    claimed = {v for e in step.examples() if e.kind == "fail" for v in e.verdicts.values()}
    assert claimed == {Verdict.PASS, Verdict.FAIL}


@each_example
def test_a_step_grades_after_every_round(step: Step, example: Example) -> None:
    """As the engine does: after each run, and before the run of a round that was just locked."""
    seen = example.seen()
    whole = [check.key for check in step.grade(seen)]
    upto = Seen()
    for key, row in seen.items():
        upto[key] = RoundSeen(key, row.challenge, row.answers, None)
        step.grade(upto)
        upto[key] = row
        keys = [check.key for check in step.grade(upto)]
        assert keys == whole[: len(keys)]
        assert len(set(keys)) == len(keys)
