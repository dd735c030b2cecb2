"""The instructor's pages of regrading, points given by an instructor, and what the student reads of both."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.actions.regrade.build import start
from labs.models import Attempt, Course, Enrolment, Grade, GradeEvent, RegradeSet, Role, State, StepLimits
from labs.steps import all_steps
from tests.views.conftest import client_of
from tests.views.pages import Page
from tests.views.rows import STEP, attempt_in

WHY = "Seeing the break is worth less, <b>repairing</b> it more."
POINTS = {"prediction": 3, "break": 1, "own-figures": 2, "repaired": 9}


@pytest.fixture
def at_other_instructor(outsider: User) -> Client:
    """Instructor of another course."""
    Enrolment.objects.filter(user=outsider).update(role=Role.INSTRUCTOR)
    return client_of(outsider)


def step_url(course: Course) -> str:
    return reverse("regrade-step", args=[course.slug, STEP])


def fields(**points: int) -> dict[str, object]:
    given = {**POINTS, **{key.replace("_", "-"): value for key, value in points.items()}}
    return {"why": WHY, "predicted-tokens": 2, **{f"points:{key}": value for key, value in given.items()}}


def begin(client: Client, course: Course) -> RegradeSet:
    answer = client.post(step_url(course), fields())
    regrade = RegradeSet.objects.latest("pk")
    assert answer["Location"] == reverse("regrade", args=[course.slug, regrade.pk])
    return regrade


def end(client: Client, regrade: RegradeSet, do: str) -> str:
    where = reverse("regrade-end", args=[regrade.course.slug, regrade.pk])
    return client.post(where, {"do": do}, follow=True).content.decode()


@pytest.fixture
def lost(owner: User, course: Course) -> Attempt:
    """Graded 15 by a rule that took a wrong figure for right; by the present one it is 13."""
    attempt = attempt_in(State.GRADED, owner, course)
    round_ = attempt.rounds.get(key="repair")
    round_.answers["more_computed"] += 1
    round_.save()
    return attempt


def test_only_the_courses_instructors_find_it(
    course: Course,
    attempt: Attempt,
    at_owner: Client,
    at_outsider: Client,
    at_member: Client,
    at_other_instructor: Client,
    client: Client,
) -> None:
    regrade = begin(at_member, course)
    pages = [
        reverse("regrades", args=[course.slug]),
        step_url(course),
        reverse("regrade", args=[course.slug, regrade.pk]),
    ]
    where = reverse("regrade-end", args=[course.slug, regrade.pk])
    for page in pages:
        assert at_member.get(page).status_code == 200
        for stranger in (at_owner, at_outsider, at_other_instructor):
            assert stranger.get(page).status_code == 404
        assert client.get(page)["Location"].startswith(reverse("login"))
    for stranger in (at_owner, at_outsider, at_other_instructor):
        assert stranger.post(step_url(course), fields()).status_code == 404
        assert stranger.post(where, {"do": "apply"}).status_code == 404
    assert at_member.get(where).status_code == 405, "applying is no link"
    assert at_member.post(where, {"do": "dance"}).status_code == 404
    regrade.refresh_from_db()
    assert (regrade.state, RegradeSet.objects.count()) == (RegradeSet.State.PREVIEW, 1)


def test_a_set_of_another_course_is_not_found_under_mine(
    course: Course, at_member: Client, at_other_instructor: Client
) -> None:
    other = Course.objects.get(slug="other")
    regrade = start(other, all_steps()[STEP], None, "", {})
    assert at_member.get(reverse("regrade", args=[course.slug, regrade.pk])).status_code == 404
    end_ = reverse("regrade-end", args=[course.slug, regrade.pk])
    assert at_member.post(end_, {"do": "cancel"}).status_code == 404
    assert at_other_instructor.get(reverse("regrade", args=["other", regrade.pk])).status_code == 200


def test_preview_apply_and_what_the_student_reads(
    course: Course, lost: Attempt, at_member: Client, at_owner: Client
) -> None:
    before = at_owner.get(reverse("attempt", args=[lost.pk])).content.decode()
    assert 'id="history"' not in before
    regrade = begin(at_member, course)
    page = at_member.get(reverse("regrade", args=[course.slug, regrade.pk])).content.decode()
    assert re.search(r'data-cell="15-13">1</td>', page)
    assert reverse("attempt", args=[lost.pk]) in page
    assert "1 get fewer points" in page
    assert "5 → 1" in page and "5 → 9" in page, "the limits that change"
    assert Grade.objects.get().event.points == 15
    assert 'id="history"' not in at_owner.get(reverse("attempt", args=[lost.pk])).content.decode()
    assert "the new points count" in end(at_member, regrade, "apply")
    assert Grade.objects.get().event.points == 13
    for name, args in (("attempt", [lost.pk]), ("step", [course.slug, STEP])):
        told = at_owner.get(reverse(name, args=args)).content.decode()
        history = told.partition('id="history"')[2]
        assert "15 → " in history and "13/15" in history
        assert "&lt;b&gt;repairing&lt;/b&gt;" in history, "why, as text"
        assert "What the change cost" in history, "the check that was judged otherwise"
        assert "member" in history
    again = end(at_member, regrade, "apply")
    assert "Nothing was changed" in again
    assert GradeEvent.objects.count() == 2
    listed = at_member.get(step_url(course)).content.decode()
    assert "Applied" in listed and 'value="9"' in listed, "the limits in force"
    assert StepLimits.objects.get().by.username == "member"


def test_cancel_keeps_everything(course: Course, lost: Attempt, at_member: Client) -> None:
    regrade = begin(at_member, course)
    assert "No points have changed" in end(at_member, regrade, "cancel")
    assert (Grade.objects.get().event.points, StepLimits.objects.count()) == (15, 0)
    assert "Nothing was changed" in end(at_member, regrade, "apply")
    assert "Cancelled" in at_member.get(reverse("regrades", args=[course.slug])).content.decode()


def test_an_open_set_stands_in_the_way_of_another(course: Course, at_member: Client) -> None:
    regrade = begin(at_member, course)
    answer = at_member.post(step_url(course), fields())
    assert answer.status_code == 422
    assert reverse("regrade", args=[course.slug, regrade.pk]) in answer.content.decode()
    assert RegradeSet.objects.count() == 1


@pytest.mark.parametrize("points", [{"repaired": 10}, {"repaired": -1}, {"break": 99}])
def test_limits_that_do_not_fit_are_refused(
    points: dict[str, int], course: Course, at_member: Client
) -> None:
    answer = at_member.post(step_url(course), fields(**points))
    assert answer.status_code == 422
    assert "errorlist" in answer.content.decode()
    assert at_member.post(step_url(course), {**fields(), "why": " "}).status_code == 422
    assert not RegradeSet.objects.exists()


def test_a_set_that_takes_longer_says_how_far_it_is(
    course: Course, attempt: Attempt, at_member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[str] = []
    monkeypatch.setattr("labs.views.regrade.CHUNKS_AT_ONCE", 0)
    monkeypatch.setattr("labs.views.regrade.wake", lambda task: woken.append(task.name) is None)
    regrade = begin(at_member, course)
    assert woken == ["labs.tasks.build_regrades"]
    page = at_member.get(reverse("regrade", args=[course.slug, regrade.pk])).content.decode()
    assert "0 of 1 attempts" in page and 'http-equiv="refresh"' in page
    assert 'value="apply"' not in page and 'value="cancel"' in page
    assert "Nothing was changed" in end(at_member, regrade, "apply")


@pytest.mark.parametrize("language", ["ko", "en"])
def test_pages_have_nothing_inline(
    language: str, course: Course, lost: Attempt, at_member: Client, at_owner: Client
) -> None:
    regrade = begin(at_member, course)
    end(at_member, regrade, "apply")
    at_member.post(reverse("attempt-points", args=[lost.pk]), {"points": 14, "comment": "<i>why</i>"})
    begin(at_member, course)
    for client, address in [
        (at_member, reverse("regrades", args=[course.slug])),
        (at_member, step_url(course)),
        (at_member, reverse("regrade", args=[course.slug, regrade.pk])),
        (at_member, reverse("attempt", args=[lost.pk])),
        (at_owner, reverse("attempt", args=[lost.pk])),
        (at_owner, reverse("step", args=[course.slug, STEP])),
        (at_member, reverse("home")),
    ]:
        answer = client.get(address, headers={"accept-language": language})
        assert answer.status_code == 200
        page = Page(answer.content.decode())
        assert (page.inline, page.lang) == ([], language)
        assert sorted(set(page.ids)) == sorted(page.ids)


# -- points given by an instructor -------------------------------------------------------------------------------


def test_only_an_instructor_gives_points_and_never_to_himself(
    course: Course,
    attempt: Attempt,
    member: User,
    at_owner: Client,
    at_outsider: Client,
    at_member: Client,
    at_other_instructor: Client,
) -> None:
    where, given = reverse("attempt-points", args=[attempt.pk]), {"points": 9, "comment": "why"}
    for stranger in (at_owner, at_outsider, at_other_instructor):
        assert stranger.post(where, given).status_code == 404
    own = attempt_in(State.GRADED, member, course)
    assert at_member.post(reverse("attempt-points", args=[own.pk]), given).status_code == 404
    assert not GradeEvent.objects.exclude(kind="auto").exists()
    assert 'id="points"' not in at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    assert 'id="points"' in at_member.get(reverse("attempt", args=[attempt.pk])).content.decode()


def test_points_with_a_comment_count_and_end(
    course: Course, attempt: Attempt, owner: User, at_member: Client, at_owner: Client
) -> None:
    where = reverse("attempt-points", args=[attempt.pk])
    for bad in ({"points": 9}, {"comment": "why"}, {"points": 16, "comment": "why"}, {"points": "x"}):
        assert at_member.post(where, bad).status_code == 422
    assert Grade.objects.get().event.points == 15
    assert at_member.post(where, {"points": 9, "comment": "You <i>told</i> me."}).status_code == 302
    step_page = at_owner.get(reverse("step", args=[course.slug, STEP])).content.decode()
    assert "Given by an instructor: <bdi>You &lt;i&gt;told&lt;/i&gt; me.</bdi> (graded: 15)" in step_page
    assert re.search(r'<span class="num">9</span></strong> / 15', step_page)
    assert "15/15" in step_page.partition('id="past-title"')[2], "the attempt itself keeps its own"
    attempt_in(State.GRADED, owner, course)
    assert Grade.objects.get().event.points == 9, "a later attempt leaves it"
    assert at_member.post(where, {"clear": "1", "comment": "no longer needed"}).status_code == 302
    assert Grade.objects.get().event.points == 15
    history = at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    kinds = re.findall(r'data-kind="(\w+)"', history)
    assert kinds == ["cleared", "override", "auto"]


def test_the_home_page_leads_instructors_there(course: Course, at_member: Client, at_owner: Client) -> None:
    link = reverse("regrades", args=[course.slug])
    assert link in at_member.get(reverse("home")).content.decode()
    assert link not in at_owner.get(reverse("home")).content.decode()
