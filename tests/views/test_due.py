"""The step page says when it is due and what running now costs, in the course's zone, before Run."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from labs.actions.rules import Given, extend
from labs.models import Attempt, AttemptCount, Course, State, StepRule
from labs.rules.clock import instant, minute_end, written
from labs.rules.window import Late
from labs.steps import all_steps
from tests.views.pages import Page
from tests.views.rows import STEP, attempt_in

ZONE = "Asia/Seoul"
DAY = timedelta(days=1)


def rule(course: Course, due_in: timedelta, **fields: object) -> StepRule:
    due_at = (timezone.now() + due_in).replace(second=0, microsecond=0)
    given = {"zone": ZONE, "due_at": due_at, "late": Late.REDUCED, "late_percent_a_day": 10, **fields}
    return StepRule.objects.create(course=course, step=STEP, **given)


def due_of(row: StepRule) -> datetime:
    assert row.due_at is not None
    return row.due_at


def step_page(client: Client, course: Course, language: str = "en") -> str:
    answer = client.get(reverse("step", args=[course.slug, STEP]), headers={"accept-language": language})
    return answer.content.decode()


def press_run(client: Client, course: Course, page: str) -> str:
    """Posts what the page holds, hidden fields included; the answers are wrong, so nothing is ever sent."""
    (shown,) = Page(page).having(name="late_percent")
    fields = {"round": "guess", "submit_key": str(uuid.uuid4()), "late_percent": shown["value"]}
    return client.post(reverse("step", args=[course.slug, STEP]), fields).content.decode()


def test_before_the_due_time(course: Course, at_owner: Client) -> None:
    row = rule(course, DAY, late_floor_percent=40)
    page = step_page(at_owner, course)
    assert written(due_of(row), ZONE) in page and "KST" in page
    assert "On time: run now, it counts in full." in page
    assert "every day begun takes 10% off what an attempt earns; 40% always stay." in page
    (countdown,) = Page(page).having(role="timer")
    assert countdown["data-counts-to"] == minute_end(due_of(row)).isoformat(), (
        "the due minute counts as a whole"
    )
    assert "aria-live" not in countdown, "it never floods a screen reader"
    (cost,) = Page(page).having(aria_describedby="cost")
    assert cost["type"] == "submit", "the cost is read out with the button"


def test_an_utc_reader_is_told_the_instant(course: Course, at_owner: Client) -> None:
    rule(course, DAY)
    StepRule.objects.update(due_at=instant(datetime(2126, 11, 30, 23, 59), ZONE))
    page = step_page(at_owner, course)
    assert '<time class="num" datetime="2126-11-30T23:59:00+09:00">2126-11-30 23:59 KST</time>' in page
    assert instant(datetime(2126, 11, 30, 23, 59), ZONE) == datetime(2126, 11, 30, 14, 59, tzinfo=UTC)


def test_after_it_the_cost_is_said_and_agreed(course: Course, at_owner: Client) -> None:
    rule(course, -DAY - timedelta(hours=1))
    page = step_page(at_owner, course)
    assert "Late: run now, this attempt loses 20% of its points and counts 80%." in page
    assert "would lose" not in press_run(at_owner, course, page), "the form is looked at: the cost was agreed"


def test_a_page_from_before_is_not_taken_for_an_agreement(course: Course, at_owner: Client) -> None:
    row = rule(course, DAY)
    page = step_page(at_owner, course)
    StepRule.objects.filter(pk=row.pk).update(due_at=timezone.now() - timedelta(minutes=5))
    told = press_run(at_owner, course, page)
    assert "run now, the attempt would lose 10 percent of its points" in told
    assert not Attempt.objects.exists()
    assert "would lose" not in press_run(at_owner, course, told)


def test_closed(course: Course, at_owner: Client) -> None:
    row = rule(course, -DAY, late=Late.REFUSED)
    page = step_page(at_owner, course)
    assert "Closed since the end of" in page and written(due_of(row), ZONE) in page
    assert 'name="submit_key"' not in page
    fields = {"round": "guess", "submit_key": str(uuid.uuid4())}
    refused = at_owner.post(reverse("step", args=[course.slug, STEP]), fields)
    assert refused.status_code == 409
    assert (
        f"This step closed at {written(due_of(row), ZONE)}, that minute included" in refused.content.decode()
    )


def test_not_open_yet(course: Course, at_owner: Client, at_member: Client) -> None:
    row = rule(course, 3 * DAY, opens_at=timezone.now() + DAY)
    assert row.opens_at is not None
    page = step_page(at_owner, course)
    assert "Opens" in page and written(row.opens_at, ZONE) in page
    assert 'name="submit_key"' not in page
    fields = {"round": "guess", "submit_key": str(uuid.uuid4())}
    refused = at_owner.post(reverse("step", args=[course.slug, STEP]), fields)
    assert f"This step opens at {written(row.opens_at, ZONE)}" in refused.content.decode()
    assert 'name="submit_key"' not in refused.content.decode(), "nor does a post show what is asked"
    assert 'name="submit_key"' in step_page(at_member, course), "who teaches tries it before"


def test_files_are_handed_out_from_the_opening_on(course: Course, at_owner: Client) -> None:
    row = rule(course, 3 * DAY, opens_at=timezone.now() + DAY)
    StepRule.objects.update(step="read-sse")
    where = reverse("step-file", args=[course.slug, "read-sse", "streams.json"])
    assert at_owner.get(where).status_code == 404
    StepRule.objects.filter(pk=row.pk).update(opens_at=timezone.now())
    assert at_owner.get(where).status_code == 200


def test_a_round_that_was_begun_goes_on_after_the_end(owner: User, course: Course, at_owner: Client) -> None:
    rule(course, -DAY, late=Late.REFUSED)
    attempt_in(State.OPEN, owner, course, rounds=1, late_percent=10)
    page = step_page(at_owner, course)
    assert 'name="submit_key"' in page
    assert "This attempt was begun late: it loses 10% of its points." in page


def test_an_extension_and_its_reason(course: Course, owner: User, member: User, at_owner: Client) -> None:
    row = rule(course, -DAY, late=Late.REFUSED)
    extend(course, owner, all_steps()[STEP], Given(days=3, extra_attempts=2), "was <b>ill</b>", member)
    page = step_page(at_owner, course)
    assert "You have more time." in page and "You have 2 extra attempts." in page
    assert "was &lt;b&gt;ill&lt;/b&gt;" in page and "member" in page
    assert written(due_of(row) + 3 * DAY, ZONE) in page
    assert "12 attempts left" in page


@pytest.mark.parametrize("name", ["step", "attempt", "home"])
def test_late_points_are_the_reduced_ones(name: str, course: Course, owner: User, at_owner: Client) -> None:
    rule(course, -DAY, points=20)
    attempt = attempt_in(State.GRADED, owner, course, late_percent=10)
    args: dict[str, list[object]] = {"step": [course.slug, STEP], "attempt": [attempt.pk], "home": []}
    page = at_owner.get(reverse(name, args=args[name])).content.decode()
    assert "18/20" in page, "15 of 15 is 20 on the course's scale, less 10 percent"


def test_korean(course: Course, at_owner: Client) -> None:
    rule(course, -DAY - timedelta(hours=1))
    page = step_page(at_owner, course, "ko")
    assert "20%" in page and "Late: run now" not in page


def test_a_repeat_after_a_fault_is_said_to_count_as_then(
    owner: User, course: Course, at_owner: Client
) -> None:
    row = rule(course, -timedelta(hours=1), late=Late.REFUSED)
    attempt_in(
        State.ERRORED,
        owner,
        course,
        rounds=1,
        charged=False,
        submitted_at=due_of(row),
        finished_at=timezone.now(),
    )
    AttemptCount.objects.update(charged=0)
    page = step_page(at_owner, course)
    assert "A fault of the server ended your attempt." in page
    assert 'name="submit_key"' in page and "On time: run now, it counts in full." in page
    assert not Page(page).having(role="timer"), "nothing is left to count down to"


def test_the_instructor_reads_what_the_points_count(course: Course, owner: User, at_member: Client) -> None:
    rule(course, -DAY, points=20)
    late = attempt_in(State.GRADED, owner, course, late_percent=10)
    page = at_member.get(reverse("attempt", args=[late.pk])).content.decode()
    assert "counts as 18 of 20 in the course" in page
    StepRule.objects.all().delete()
    Attempt.objects.update(late_percent=0)
    assert "counts as" not in at_member.get(reverse("attempt", args=[late.pk])).content.decode()
