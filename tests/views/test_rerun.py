"""Re-run the class: whose page it is, what it lists, and what it says of an answer that comes back from a browser."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Attempt, Course, Enrolment, GradeEvent, Role, Round, State
from labs.steps import all_steps
from labs.steps.base import Rerun
from labs.steps.sse_kit.source import source
from tests.steps.sse_sources import core
from tests.views.conftest import client_of
from tests.views.rows import attempt_in

STEP = next(step for step in all_steps().values() if step.rerun)
AGAIN = STEP.rerun or Rerun()


def page_of(course: Course, key: str = STEP.key) -> str:
    return reverse("rerun", args=[course.slug, key])


def handed_in(course: Course, name: str, text: str, kind: str = "pass") -> Attempt:
    user = User.objects.create_user(name, last_name=name)
    Enrolment.objects.create(user=user, course=course)
    return again(course, user, text, kind)


def again(course: Course, user: User, text: str, kind: str = "pass") -> Attempt:
    attempt = attempt_in(State.GRADED, user, course, step_key=STEP.key, kind=kind)
    row = Round.objects.get(attempt=attempt, key=AGAIN.round)
    row.answers = {**row.answers, AGAIN.answer: text}
    row.save()
    return attempt


def data_of(client: Client, course: Course) -> dict[str, Any]:
    shown = re.search(r'id="rerun-data"[^>]*>([^<]+)<', client.get(page_of(course)).content.decode())
    assert shown
    found: dict[str, Any] = json.loads(shown[1])
    return found


def right_results(streams: dict[str, Any]) -> str:
    return str(STEP.round(AGAIN.round).sample({**streams, "question": ""}, {})["results"])


def post(client: Client, attempt: Attempt, token: str, results: str) -> Any:
    where = reverse("rerun-one", args=[attempt.course.slug, attempt.step, attempt.pk])
    return client.post(where, {"token": token, "results": results})


def test_it_is_the_instructors_and_nobody_elses(
    course: Course, at_owner: Client, at_member: Client, at_outsider: Client, client: Client
) -> None:
    attempt = handed_in(course, "kim", source("solution"))
    assert at_member.get(page_of(course)).status_code == 200
    token = data_of(at_member, course)["token"]
    for other in (at_owner, at_outsider, client_of(attempt.user)):
        assert other.get(page_of(course)).status_code == 404
        assert post(other, attempt, token, "{}").status_code == 404
    assert client.get(page_of(course)).status_code == 302
    elsewhere = Course.objects.create(slug="elsewhere", title="Elsewhere")
    assert at_member.get(page_of(elsewhere)).status_code == 404
    for key, step in all_steps().items():
        assert at_member.get(page_of(course, key)).status_code == (200 if step.rerun else 404)


def test_the_step_page_leads_instructors_to_it(course: Course, at_owner: Client, at_member: Client) -> None:
    there = reverse("step", args=[course.slug, STEP.key])
    assert page_of(course) in at_member.get(there).content.decode()
    assert page_of(course) not in at_owner.get(there).content.decode()


def test_it_lists_the_latest_graded_source_of_each_student(course: Course, at_member: Client) -> None:
    first = handed_in(course, "kim", core(keeps="text is not None"))
    second = again(course, first.user, source("solution"))
    attempt_in(State.CANCELLED, first.user, course, step_key=STEP.key)
    other = handed_in(course, "lee", core())
    teacher = User.objects.create_user("teacher")
    Enrolment.objects.create(user=teacher, course=course, role=Role.INSTRUCTOR)
    again(course, teacher, source("solution"))
    assert data_of(at_member, course)["sources"] == {
        str(second.pk): source("solution"),
        str(other.pk): core(),
    }


def test_sources_are_text_and_run_in_the_sealed_frame_alone(course: Course, at_member: Client) -> None:
    handed_in(course, "kim", "def parse(lines, now): '</script><script>alert(1)</script>'")
    answer = at_member.get(page_of(course))
    assert "<script>alert" not in answer.content.decode()
    policy = answer["Content-Security-Policy"]
    assert "frame-src 'self'" in policy
    assert "eval" not in policy


def test_the_frame_has_no_origin_and_no_network(at_member: Client, client: Client) -> None:
    answer = at_member.get(reverse("sealed"))
    policy = dict(part.strip().partition(" ")[::2] for part in answer["Content-Security-Policy"].split(";"))
    assert policy["sandbox"] == "allow-scripts"
    assert policy["default-src"] == "'none'"
    assert policy["worker-src"] == "data:"
    assert policy["frame-ancestors"] == "'self'"
    nonce = re.fullmatch(r"'nonce-([^']+)' 'wasm-unsafe-eval'", policy["script-src"])
    assert nonce and f'nonce="{nonce[1]}"' in answer.content.decode()
    assert nonce[1] not in at_member.get(reverse("sealed")).content.decode()
    assert "connect-src" not in policy
    assert answer["X-Frame-Options"] == "SAMEORIGIN"
    assert client.get(reverse("sealed")).status_code == 302


def test_the_streams_are_drawn_anew_each_time(course: Course, at_member: Client) -> None:
    handed_in(course, "kim", source("solution"))
    first, second = data_of(at_member, course), data_of(at_member, course)
    assert first["streams"] != second["streams"]
    assert set(first["streams"]) == {"parse", "feed"}


def test_alike_sources_are_grouped(course: Course, at_member: Client) -> None:
    handed_in(course, "kim", core())
    handed_in(course, "lee", "# mine\n" + core().replace("pieces", "parts").replace('"parts"', '"pieces"'))
    handed_in(course, "park", source("solution"))
    handed_in(course, "yoon", "def parse(lines, now)\n")
    page = at_member.get(page_of(course)).content.decode()
    groups = re.findall(r"<p id=\"alike-\d+\" data-alike>(.*?)</p>", page)
    assert [re.findall(r"<bdi[^>]*>([^<]+)</bdi>", group) for group in groups] == [["kim", "lee"]]
    unreadable = re.search(r"<p data-unreadable>(.*?)</p>", page)
    assert unreadable and "yoon" in unreadable[1] and "park" not in unreadable[1]


def test_what_gives_the_same_agrees(course: Course, at_member: Client) -> None:
    attempt = handed_in(course, "kim", source("solution"))
    data = data_of(at_member, course)
    answer = post(at_member, attempt, data["token"], right_results(data["streams"]))
    assert answer.json() == {"differences": []}


def test_a_difference_is_named_and_changes_no_grade(course: Course, at_member: Client) -> None:
    attempt = handed_in(course, "kim", source("solution"))
    data = data_of(at_member, course)
    results = json.loads(right_results(data["streams"]))
    results["parse"]["role"]["value"]["ttft_ms"] = data["streams"]["parse"]["role"][0][0]
    before = list(GradeEvent.objects.values())
    (one,) = post(at_member, attempt, data["token"], json.dumps(results)).json()["differences"]
    assert one["title"] == "Pieces with a role and no text"
    assert one["said"] == "stored: Pass, now: Fail."
    assert "has a role and no text" in one["why"]
    assert list(GradeEvent.objects.values()) == before


def test_a_stored_fail_that_passes_now_is_a_difference_too(course: Course, at_member: Client) -> None:
    attempt = handed_in(course, "kim", source("solution"), kind="fail")
    data = data_of(at_member, course)
    found = post(at_member, attempt, data["token"], right_results(data["streams"])).json()["differences"]
    assert [one["title"] for one in found] == ["Pieces with a role and no text"]


def test_a_function_that_is_not_there_any_more_is_a_difference(course: Course, at_member: Client) -> None:
    attempt = handed_in(course, "kim", core())
    data = data_of(at_member, course)
    found = post(at_member, attempt, data["token"], right_results(data["streams"])).json()["differences"]
    assert len(found) == 7
    assert all("now: not run" in one["said"] for one in found)


@pytest.mark.parametrize("token", ["", "no-token", "other page"])
def test_a_token_of_no_page_is_refused(course: Course, at_member: Client, token: str) -> None:
    attempt = handed_in(course, "kim", source("solution"))
    data = data_of(at_member, course)
    if token == "other page":
        other = Course.objects.create(slug="second", title="Second")
        Enrolment.objects.create(user=User.objects.get(username="member"), course=other, role=Role.INSTRUCTOR)
        handed_in(other, "lee", source("solution"))
        token = data_of(at_member, other)["token"]
    assert post(at_member, attempt, token, right_results(data["streams"])).status_code == 400
    assert post(at_member, attempt, data["token"], "no json").status_code == 400


def test_only_the_latest_attempt_of_this_course_and_step_is_judged(course: Course, at_member: Client) -> None:
    old = handed_in(course, "kim", source("solution"))
    again(course, old.user, source("solution"))
    data = data_of(at_member, course)
    assert post(at_member, old, data["token"], right_results(data["streams"])).status_code == 404


def test_thirty_students_cost_no_more_queries_than_two(
    course: Course, at_member: Client, django_assert_num_queries: Any
) -> None:
    for i in range(2):
        handed_in(course, f"s{i}", source("solution"))
    at_member.get(page_of(course))
    with django_assert_num_queries(9, exact=False):
        at_member.get(page_of(course))
    for i in range(2, 30):
        handed_in(course, f"s{i}", source("solution"))
    with django_assert_num_queries(9, exact=False):
        at_member.get(page_of(course))


def test_it_reads_in_korean(course: Course, member: User) -> None:
    handed_in(course, "kim", source("solution"))
    client = Client(headers={"accept-language": "ko"})
    client.force_login(member)
    page = client.get(page_of(course)).content.decode()
    assert "다시 실행" in page
    assert "Run all sources" not in page
