"""Every step's page before, between and after its rounds, in both languages, also where no model was asked."""

from __future__ import annotations

import html

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Course, State
from labs.steps import all_steps
from tests.views.rows import attempt_in, example

BETWEEN = [(step.key, n) for step in all_steps().values() for n in range(1, len(step.rounds))]


def page(client: Client, course: Course, step_key: str, language: str = "en") -> str:
    response = client.get(
        reverse("step", args=[course.slug, step_key]), headers={"accept-language": language}
    )
    assert response.status_code == 200
    return html.unescape(response.content.decode())


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("step_key", all_steps())
def test_a_page_before_the_first_round_and_after_the_last(
    step_key: str, language: str, owner: User, course: Course, at_owner: Client
) -> None:
    step = all_steps()[step_key]
    for other in step.requires:
        attempt_in(State.GRADED, owner, course, step_key=other)
    assert f'value="{step.rounds[0].key}"' in page(at_owner, course, step_key, language)
    attempt_in(State.GRADED, owner, course, step_key=step_key)
    after = page(at_owner, course, step_key, language)
    assert after.count('<li class="check"') == len(step.grade(example(step)))


@pytest.mark.parametrize(("step_key", "rounds"), BETWEEN)
def test_a_page_between_two_rounds_asks_the_next_questions(
    step_key: str, rounds: int, owner: User, course: Course, at_owner: Client
) -> None:
    attempt_in(State.OPEN, owner, course, step_key=step_key, rounds=rounds)
    assert f'value="{all_steps()[step_key].rounds[rounds].key}"' in page(at_owner, course, step_key)


def test_what_a_server_said_is_shown_where_the_model_was_asked_nothing(
    owner: User, course: Course, at_owner: Client
) -> None:
    attempt_in(State.GRADED, owner, course, step_key="server-up")
    shown = page(at_owner, course, "server-up")
    assert '{"status": "ok"}' in shown
    assert "The model was asked nothing" in shown
    assert "Nothing was recorded." not in shown


def test_the_definition_and_whose_clock_stand_beside_every_sample(
    owner: User, course: Course, at_owner: Client
) -> None:
    attempt_in(State.GRADED, owner, course, step_key="first-token")
    shown = page(at_owner, course, "first-token")
    assert 'the first frame whose <code class="short">content</code> holds visible text' in shown
    assert "no figure and no grade comes from its clock" in shown
    recordings = example(all_steps()["first-token"])
    asks = [key for seen in recordings.values() if seen.run for key in seen.run.recordings]
    # The newest round's answers are on the page itself, every round's under its own fold.
    assert asks
    assert all(f"/{key}/frames" in shown for key in asks)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_an_instructor_reads_the_evidence_that_the_student_reads(
    language: str, owner: User, course: Course, at_owner: Client, at_member: Client
) -> None:
    """Why, which samples, which limit, which server, and the replay."""
    attempt = attempt_in(State.GRADED, owner, course, kind="fail", step_key="cache-break")

    def evidence(client: Client) -> str:
        answer = client.get(reverse("attempt", args=[attempt.pk]), headers={"accept-language": language})
        return (
            answer.content.decode()
            .partition('<section class="outcome"')[2]
            .partition('id="points-by-hand"')[0]
        )

    students, instructors = evidence(at_owner), evidence(at_member)
    checks = students.partition('<ul class="checks">')[2].partition("</ul>\n")[0]
    assert 'data-verdict="fail"' in checks
    assert "evidence-tables" in checks
    assert checks == instructors.partition('<ul class="checks">')[2].partition("</ul>\n")[0]
    for page_ in (students, instructors):
        assert 'id="replay"' in page_
        assert "ep-a" in page_ or "b1" in page_
