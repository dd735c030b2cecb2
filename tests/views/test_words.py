"""Sentences, figures and evidence as the reader gets them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import translation

from labs.actions.grade import record_grade
from labs.grading.checks import Verdict
from labs.models import Attempt, Course, Reason, Run, State
from labs.steps import all_steps
from labs.text import N_, Text
from labs.views import evidence, reasons, words
from labs.views.strings import strings
from tests.views.rows import STEP, attempt_in, example


def test_a_stored_sentence_reads_in_both_languages() -> None:
    stored = N_("You stopped this run.").to_json()
    with translation.override("ko"):
        assert words.say(stored) == "실행을 멈췄습니다."
    with translation.override("en"):
        assert words.say(stored) == "You stopped this run."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, ""),
        ("", ""),
        (Text(""), ""),
        (Text("100% of it"), "100% of it"),
        (Text("%(a)s%%", {"a": 5}), "5%"),
    ],
)
def test_say(text: Text | None, said: str) -> None:
    assert words.say(text) == said


def test_a_sentence_whose_place_is_missing_is_still_shown() -> None:
    assert words.say(Text("%(gone)s tokens", {"other": 1})) == "%(gone)s tokens"


@pytest.mark.parametrize(
    ("us", "said"),
    [
        (None, "–"),
        (0, "0.0\u00a0ms"),
        (99_940, "99.9\u00a0ms"),
        (100_000, "100\u00a0ms"),
        (12_345_678, "12,346\u00a0ms"),
    ],
)
def test_times_carry_their_unit(us: int | None, said: str) -> None:
    assert words.us(us) == said


def test_every_code_has_its_words() -> None:
    assert set(reasons.WHAT_HAPPENED) == set(Reason) - {Reason.NONE}
    assert set(words.STATES) == set(State)
    assert set(words.OUTCOMES) == set(Run.Outcome)
    assert set(words.VERDICTS) == set(Verdict)


@pytest.mark.parametrize("reason", sorted(set(Reason) - {Reason.NONE}))
@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_fault_says_what_happened_what_it_cost_and_what_comes_next(
    reason: str, language: str, owner: User, course: Course, at_owner: Client
) -> None:
    attempt_in(State.ERRORED, owner, course, reason=reason, charged=False)
    url = reverse("step", args=[course.slug, STEP])
    text = at_owner.get(url, headers={"accept-language": language}).content.decode()
    with translation.override(language):
        happened = words.say(reasons.WHAT_HAPPENED[reason])
        assert happened in text
        assert words.say(reasons.NOT_CHARGED) in text
        assert words.say(reasons.WHAT_NEXT.get(reason, reasons.RUN_AGAIN)) in text


def test_the_scripts_have_every_sentence_in_korean() -> None:
    with translation.override("en"):
        english = strings()
    with translation.override("ko"):
        korean = strings()
    same = {name for name in english if english[name] == korean[name]}
    assert english.keys() == korean.keys()
    assert same <= {"pane.figures"}, "only the line of figures has no words"


def test_evidence_becomes_tables() -> None:
    saw = {"cold": {"n": 280, "cache_n": 0}, "repeat": {"n": 280, "prompt_n": 1}, "freed_us": 12_345}
    found = evidence.tables({"saw": saw, "rule": "N - LCP", "limit": {"tokens": 2}, "agree": True})
    by_request, rest, rule, limit, more = found
    assert [(name.text, name.is_code) for name in by_request.head] == [
        ("prompt tokens", False),
        ("cache_n", True),  # the server's own word
        ("prompt_n", True),
    ]
    assert by_request.rows[1].marked_cells == [("280", True), ("–", True), ("1", True)]
    assert (rest.rows[0].name.text, rest.rows[0].cells) == ("slot free after another", ["12.3\u00a0ms"])
    assert rule.is_sentence and rule.rows[0].cells == ["N - LCP"]
    assert limit.rows[0].cells == ["2"]
    assert more.rows[0].cells == ["yes"]


def test_evidence_has_the_words_of_the_plan_and_the_form() -> None:
    saw = {"cold": {"n": 1}, "again": {"n": 2}, "said": "host"}
    kept = {"saw": saw, "limit": {"share": 0.15}, "control": {"parts_us": {"wait": 1_064_457}}}
    found = evidence.tables(kept, {"cold": "Cold"}, {"host": "from memory"})
    assert [row.name.text for row in found[0].rows] == ["Cold", "again"]
    assert [(table.rows[0].name.text, table.rows[0].cells[0]) for table in found[1:]] == [
        ("your answer", "from memory"),
        ("off by at most", "15%"),
        ("wait", "1,064\u00a0ms"),
    ]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"a": "1601.5 ms"}, "1,601.5\u00a0ms"),
        ({"a": "토큰 1350개"}, "토큰 1,350개"),
        ({"a": "4096 tokens"}, "4,096 tokens"),
        ({"a": "on 2026-11-30 5403: 13:00:48"}, "on 2026-11-30 5403: 13:00:48"),
        ({"a": "-1.4 ms"}, "-1.4\u00a0ms"),
    ],
)
def test_a_figure_in_a_sentence_stays_with_its_unit(params: dict[str, str], said: str) -> None:
    assert words.say(Text("%(a)s", params)) == said


def test_the_second_hint_waits_for_another_try(owner: User, course: Course, at_owner: Client) -> None:
    step = all_steps()[STEP]
    failed = next(c for c in step.grade(example(step, "fail")) if c.verdict is Verdict.FAIL)
    first, second = (words.say(hint) for hint in failed.hints)
    url = reverse("step", args=[course.slug, STEP])
    attempt_in(State.GRADED, owner, course, kind="fail")
    text = at_owner.get(url).content.decode()
    assert first in text and second not in text
    attempt_in(State.GRADED, owner, course, kind="fail")
    assert second in at_owner.get(url).content.decode()


def test_checks_of_a_recorded_round_show_before_the_last_one(
    owner: User, course: Course, at_owner: Client
) -> None:
    attempt = attempt_in(State.OPEN, owner, course)
    attempt.rounds.filter(number=2).delete()
    text = at_owner.get(reverse("step", args=[course.slug, STEP])).content.decode()
    assert 'data-check="' in text and "so far" in text
    assert 'name="round" value="repair"' in text


def test_an_inconclusive_check_is_open_and_free(owner: User, course: Course, at_owner: Client) -> None:
    attempt = attempt_in(State.GRADED, owner, course, kind="inconclusive", charged=False)
    text = at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    assert 'data-verdict="inconclusive"' in text
    assert "no attempt was used" in text


def test_the_newest_grading_is_the_one_that_shows(attempt: Attempt, at_owner: Client) -> None:
    step = all_steps()[STEP]
    record_grade(attempt, step, step.grade(example(step, "fail")))
    assert 'data-verdict="fail"' in at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()


def test_a_name_is_written_as_in_its_own_script() -> None:
    assert words.person(User(username="kim", last_name="김", first_name="민준")) == "김민준"
    assert words.person(User(username="ada", last_name="Lovelace", first_name="Ada")) == "Ada Lovelace"
    assert words.person(User(username="lee", last_name="이")) == "이"
    assert words.person(User(username="admin")) == "admin"
