"""Practice on the pages: offered with what is left, marked wherever it is shown, and absent from the class's pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from labs.live.step_times import step_times
from labs.live.waiting import ENOUGH_RUNS
from labs.models import Attempt, AttemptCount, AuditRow, Course, FrameStore, Run, State, StepRule
from labs.reruns import stored_answers
from labs.steps import all_steps
from tests.views.rows import STEP, attempt_in

TAG = "practice, does not count"


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labs.actions.wake.wake", lambda task: True)


def page(client: Client, course: Course, query: str = "", step: str = STEP) -> str:
    return client.get(reverse("step", args=[course.slug, step]) + query).content.decode()


def practised(user: User, course: Course, state: State = State.GRADED, **fields: Any) -> Attempt:
    """As the engine leaves it: recorded, and no grade."""
    attempt = attempt_in(State.OPEN, user, course, practice=True, charged=False, **fields)
    Attempt.objects.filter(pk=attempt.pk).update(state=state)
    attempt.refresh_from_db()
    return attempt


def used(attempt: Attempt, seconds: float) -> None:
    first = attempt.runs.order_by("number")[0]
    Run.objects.filter(pk=first.pk).update(ended_at=first.started_at + timedelta(seconds=seconds))


def test_it_is_offered_beside_what_counts_with_what_is_left(
    owner: User, course: Course, at_owner: Client
) -> None:
    shown = page(at_owner, course)
    assert 'href="?practice=1#form-title"' in shown
    assert "300 of 300 s of machine time are left" in shown
    assert TAG not in shown
    form = page(at_owner, course, "?practice=1")
    assert 'name="practice" value="1"' in form and "Lock my answers and practise" in form
    assert TAG in form and "300 of 300 s of machine time are left" in form


def test_its_inputs_are_others(owner: User, course: Course, at_owner: Client) -> None:
    url = reverse("step", args=[course.slug, STEP])
    graded, practice = (at_owner.get(url + query).context["sheet"] for query in ("", "?practice=1"))
    assert graded.challenge != practice.challenge


def test_what_is_left_falls_and_at_nothing_it_is_no_longer_offered(
    owner: User, course: Course, at_owner: Client
) -> None:
    used(practised(owner, course, State.CANCELLED, rounds=1), 88)
    assert "212 of 300 s of machine time are left" in page(at_owner, course)
    used(practised(owner, course, State.CANCELLED, rounds=1), 212)
    shown = page(at_owner, course)
    assert "used up: all 300 s" in shown
    assert "?practice=1" not in shown


def test_a_course_without_practice_says_nothing_of_it(owner: User, course: Course, at_owner: Client) -> None:
    Course.objects.update(practice_s=0)
    for query in ("", "?practice=1"):
        shown = page(at_owner, course, query)
        assert "machine time" not in shown and "?practice=1#" not in shown and 'name="practice"' not in shown


def test_before_the_step_opens_practice_shows_nothing_of_it(
    owner: User, course: Course, at_owner: Client
) -> None:
    StepRule.objects.create(course=course, step=STEP, zone="UTC", opens_at=timezone.now() + timedelta(days=1))
    shown = page(at_owner, course, "?practice=1")
    assert 'name="round"' not in shown and "machine time" not in shown


def test_without_attempts_left_and_after_the_end_there_is_practice_still(
    owner: User, course: Course, at_owner: Client
) -> None:
    AttemptCount.objects.create(course=course, user=owner, step=STEP, charged=10)
    StepRule.objects.create(course=course, step=STEP, zone="UTC", due_at=timezone.now() - timedelta(days=1))
    assert "Lock my answers and run" not in page(at_owner, course)
    assert "?practice=1" in page(at_owner, course)
    assert "Lock my answers and practise" in page(at_owner, course, "?practice=1")


def test_a_post_begins_practice_and_a_refusal_keeps_the_answers(
    owner: User, course: Course, at_owner: Client
) -> None:
    url = reverse("step", args=[course.slug, "server-up"])
    sheet = at_owner.get(f"{url}?practice=1").context["sheet"]
    key = "a2a8d2f4-6b1c-4f0e-9d43-3b1f9f1f6a01"
    post = {"practice": "1", "round": sheet.round.key, "submit_key": key}
    post |= sheet.round.sample(sheet.challenge, sheet.seen)
    used(spent := practised(owner, course, State.CANCELLED, rounds=1), 300)
    refused = at_owner.post(url, post)
    assert refused.status_code == 409
    assert "300 of 300 machine-seconds" in refused.content.decode()
    assert 'name="practice" value="1"' in refused.content.decode(), "it is still the form of practice"
    spent.delete()
    assert at_owner.post(url, post).status_code == 302
    attempt = Attempt.objects.get()
    assert (attempt.practice, attempt.state, attempt.charged) == (True, State.QUEUED, False)
    shown = page(at_owner, course, step="server-up")
    assert "In the practice line" in shown
    assert "The time it has run counts towards your practice time." in shown


def test_verdicts_are_shown_and_marked_and_nobody_gives_points_for_them(
    owner: User, course: Course, at_owner: Client, at_member: Client
) -> None:
    attempt = practised(owner, course)
    shown = page(at_owner, course)
    assert f"4 of 4 passed · {TAG}" in shown
    assert "15 of 15 points, had it counted. This was practice." in shown
    assert "<strong>" in shown and "15</strong>" not in shown
    for reader in (at_owner, at_member):
        own = reader.get(reverse("attempt", args=[attempt.pk])).content.decode()
        assert TAG in own and "no, it is practice" in own
        assert reverse("attempt-points", args=[attempt.pk]) not in own
    given = {"points": "5", "comment": "well done"}
    assert at_member.post(reverse("attempt-points", args=[attempt.pk]), given).status_code == 404


def test_verdicts_wait_for_their_release_like_the_graded_ones(
    owner: User, course: Course, at_owner: Client
) -> None:
    practised(owner, course)
    StepRule.objects.create(course=course, step=STEP, zone="UTC", holds_scores=True)
    shown = page(at_owner, course)
    assert "This was practice and counts nowhere." in shown
    assert "4 of 4" not in shown and "had it counted" not in shown


@pytest.mark.parametrize(("step", "is_judged"), [("voice-turn", False), ("cache-break", True)])
def test_without_its_frames_practice_is_judged_as_a_regrade_would(
    step: str, is_judged: bool, owner: User, course: Course, at_owner: Client
) -> None:
    attempt = practised(owner, course, step_key=step)
    FrameStore.objects.all().delete()
    shown = at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    assert ("had it counted" in shown) is is_judged
    assert ("it is not judged any more" in shown) is not is_judged


def test_an_open_practice_can_be_ended(owner: User, course: Course, at_owner: Client) -> None:
    attempt = practised(owner, course, State.OPEN, rounds=1)
    shown = page(at_owner, course)
    assert "End this practice" in shown and "Lock my answers and practise" in shown
    at_owner.post(reverse("attempt-cancel", args=[attempt.pk]))
    assert "Lock my answers and run" in page(at_owner, course)


def test_an_open_graded_attempt_has_no_such_end(owner: User, course: Course, at_owner: Client) -> None:
    attempt_in(State.OPEN, owner, course, rounds=1)
    shown = page(at_owner, course, "?practice=1")
    assert "End this practice" not in shown and "Lock my answers and run" in shown


def test_the_pages_of_the_class_know_nothing_of_it(
    owner: User, course: Course, at_owner: Client, at_member: Client
) -> None:
    practised(owner, course)
    practised(owner, course, State.ERRORED, rounds=1, reason="idle_timeout", finished_at=timezone.now())
    practised(owner, course, State.QUEUED, rounds=1)
    now = at_member.get(reverse("class-now", args=[course.slug]))
    assert (now.context["live"], now.context["faults"], now.context["open"]) == ([], [], [])
    practice = {str(pk) for pk in Attempt.objects.values_list("pk", flat=True)}
    for name in ("gradebook", "gradebook-csv", "regrades"):
        said = at_member.get(reverse(name, args=[course.slug])).content.decode()
        assert not [pk for pk in practice if pk in said], name
    regrades = at_member.get(reverse("regrades", args=[course.slug]))
    assert {line.attempts for line in regrades.context["lines"]} == {0}


def test_the_class_hour_and_a_re_run_know_nothing_of_it(owner: User, course: Course) -> None:
    for _ in range(ENOUGH_RUNS):
        practised(owner, course)
    assert step_times()[STEP].runs == 0
    attempt = practised(owner, course, step_key="read-sse")
    step = all_steps()["read-sse"]
    assert stored_answers(course, step) == []
    Attempt.objects.update(practice=False)  # the same rows, had they counted
    assert step_times()[STEP].runs == ENOUGH_RUNS
    assert [answer.attempt for answer in stored_answers(course, step)] == [attempt]


def test_the_instructor_sets_the_quota_on_the_rules_page(
    course: Course, at_member: Client, at_owner: Client
) -> None:
    url = reverse("rules", args=[course.slug])
    assert 'value="300"' in at_member.get(url).content.decode()
    assert at_owner.post(url, {"practice_s": "9"}).status_code == 404
    assert at_member.post(url, {"practice_s": "-1"}).status_code == 422
    assert Course.objects.get(pk=course.pk).practice_s == 300
    assert at_member.post(url, {"practice_s": "120"}).status_code == 302
    assert Course.objects.get(pk=course.pk).practice_s == 120
    assert AuditRow.objects.get().details == {"practice_s": 120, "before": 300}
