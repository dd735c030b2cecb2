"""What the steps take for granted of a server, in the integers of the runs that were recorded from a real one.

That a real server still does it is shown by the whole lab in a browser and by the canaries.
"""

from __future__ import annotations

from labs.grading.mouth import counted
from labs.steps import all_steps, talk, three
from labs.steps.base import Seen, Step
from labs.steps.recorded import examples
from labs.steps.sizes import LARGE_KEYS, SMALL, small_keys
from labs.steps.voice_turn import KEYS, REFERENCES

STEPS = all_steps()


def model_answers(key: str) -> tuple[Step, Seen]:
    return STEPS[key], next(one for one in examples(key) if one.kind == "pass").seen()


def test_server_up_reads_the_share_of_a_slot() -> None:
    step, seen = model_answers("server-up")
    shares = [check.evidence["saw"] for check in step.grade(seen) if check.key == "share"]
    assert shares[0]["share_tokens"] * shares[0].get("slots", 2) == 8192
    assert seen.run_of("look").metrics_agree is True


def test_prefill_computes_every_prompt_whole_and_costs_what_its_plans_declare() -> None:
    step, seen = model_answers("prefill")
    small, large = seen.run_of("small"), seen.run_of("large")
    figures = [small[key].figures for count in SMALL for key in small_keys(count)]
    figures += [large[key].figures for key in ("own", *LARGE_KEYS)]
    assert {one.cache_n for one in figures} == {0}
    none, four, own, twelve = (figures[i].prompt_n or 0 for i in (0, 3, 6, 7))
    assert none < four < own < twelve
    for round_ in step.rounds[:2]:
        plan = round_.plan(seen[round_.key].challenge, seen[round_.key].answers, seen)
        assert plan is not None
        for ask in plan.asks:
            recording = seen.run_of(round_.key).get(ask.key)
            if recording is None:  # a spare repeat: the recorded run was calm
                assert ask in plan.spare
                continue
            n = recording.n
            assert abs(ask.about_prompt_tokens - n) <= max(0.05 * n, 6)


def test_an_emptied_slot_computes_all_again() -> None:
    step, seen = model_answers("cache-reuse")
    run = seen.run_of("emptied")
    assert (run.metrics_agree, run.foreign_tasks) == (True, 0)
    assert run["hit"].figures.prompt_n == 1
    assert run["after"].figures.prompt_n == run["after"].n
    plan = step.round("again").plan(seen["again"].challenge, seen["again"].answers, seen)
    assert plan is not None
    assert abs(plan.asks[0].about_prompt_tokens - seen.run_of("again")["cold"].n) <= 12


def test_the_pieces_of_an_answer_are_its_text_and_its_tokens() -> None:
    _step, seen = model_answers("first-sentence")
    run = seen.run_of("ask")
    for key in three.KEYS:
        figures, pieces = run[key].figures, counted(run[key])
        assert "".join(text for text, _ in pieces) == figures.text
        # The end of the text is a token without text; all others are counted on their pieces.
        assert (figures.predicted_n or 0) - sum(tokens or 0 for _, tokens in pieces) in (0, 1)


def test_a_good_layout_computes_little_in_every_turn_but_the_first() -> None:
    _step, seen = model_answers("voice-turn")
    run = seen.run_of("design")
    assert all(0 < (run[key].figures.prompt_n or 0) < 100 for key in KEYS[1:])
    assert all((run[key].figures.cache_n or 0) > 150 for key in KEYS[1:])
    assert len(run[REFERENCES[0]].prompt_ids) > 0
    assert set(talk.TURNS) == set(range(1, len(KEYS) + 1))
