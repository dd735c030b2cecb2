"""Cases of docs/cases.md that are seen on pages: other people's ids, one form sent twice, a dead server in the list."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from labs.models import Attempt, Course, Endpoint, Enrolment, Role, State
from labs.models import Round as LockedRound
from tests.llama.byte_server import ByteServer, Peer
from tests.views.conftest import client_of
from tests.views.routes import ALL
from tests.views.rows import STEP, attempt_in

GOOD = {"place": "front", "second_clock": "14:05:09", "pick_front": "10"}


@pytest.fixture
def at_classmate(course: Course) -> Client:
    """S2: in the same class."""
    user = User.objects.create_user("classmate")
    Enrolment.objects.create(user=user, course=course)
    return client_of(user)


@pytest.fixture
def at_foreign_instructor(db: None) -> Client:
    """The instructor of class Y."""
    user = User.objects.create_user("foreign")
    other = Course.objects.create(slug="class-y", title="Class Y")
    Enrolment.objects.create(user=user, course=other, role=Role.INSTRUCTOR)
    return client_of(user)


# -- G5 --------------------------------------------------------------------------------------------------------


def of_an_attempt() -> list[str]:
    """Every address that names an attempt, also those that come after this test."""
    return sorted(name for name, wanted in ALL.items() if "attempt_id" in wanted)


def address(name: str, course: Course, attempt_id: uuid.UUID) -> str:
    known = {"course_slug": course.slug, "step_key": STEP, "attempt_id": attempt_id, "run": 1, "number": 1}
    known |= {"key": "cold", "regrade_id": 1, "name": "x"}
    return reverse(name, kwargs={word: known[word] for word in ALL[name]})


def both(client: Client, path: str) -> list[HttpResponse]:
    return [client.get(path, follow=True), client.post(path, {"points": "1", "comment": "x"})]


@pytest.mark.parametrize("name", of_an_attempt())
@pytest.mark.parametrize("person", ["at_classmate", "at_foreign_instructor"])
def test_g5_another_students_attempt_is_as_good_as_none(
    name: str, person: str, request: pytest.FixtureRequest, owner: User, course: Course
) -> None:
    client: Client = request.getfixturevalue(person)
    attempt = attempt_in(State.GRADED, owner, course)
    before = Attempt.objects.values().get(pk=attempt.pk)
    answers = zip(
        both(client, address(name, course, attempt.pk)),
        both(client, address(name, course, uuid.uuid4())),
        strict=True,
    )
    for there, nowhere in answers:
        assert there.status_code == nowhere.status_code
        assert there.status_code in {404, 405}
        assert len(there.content) == len(nowhere.content)
    assert Attempt.objects.values().get(pk=attempt.pk) == before


def of_a_course() -> list[str]:
    """Every address that names a course and no attempt."""
    return sorted(
        name for name, wanted in ALL.items() if "course_slug" in wanted and "attempt_id" not in wanted
    )


@pytest.mark.parametrize("name", of_a_course())
def test_g5_another_class_is_as_good_as_none(
    name: str, course: Course, at_foreign_instructor: Client
) -> None:
    """The instructor of class Y at every address of class X, and at those of a class that does not exist."""
    nowhere = Course(slug="vacuum")
    found = [both(at_foreign_instructor, address(name, where, uuid.uuid4())) for where in (course, nowhere)]
    for there, gone in zip(*found, strict=True):
        assert there.status_code == gone.status_code
        assert there.status_code in {404, 405}


@pytest.mark.parametrize(
    "name", ["gradebook", "gradebook-csv", "people", "regrades", "regrade-step", "rerun", "rules"]
)
def test_g5_what_is_the_instructors_is_not_the_students(
    name: str, course: Course, at_classmate: Client
) -> None:
    answers = both(at_classmate, address(name, course, uuid.uuid4()))
    assert {answer.status_code for answer in answers} <= {404, 405}


def test_g5_who_one_is_comes_from_the_session_alone(
    course: Course, owner: User, at_classmate: Client
) -> None:
    post = {"round": "guess", "submit_key": str(uuid.uuid4()), **GOOD}
    for field in ("student_id", "user", "user_id", "owner"):
        post[field] = str(owner.pk)
    assert at_classmate.post(reverse("step", args=[course.slug, STEP]), post).status_code == 302
    assert Attempt.objects.get().user.username == "classmate"


# -- G1 --------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_g1_one_form_sent_twice_at_once_and_once_more_is_one_attempt(course: Course, owner: User) -> None:
    path = reverse("step", args=[course.slug, STEP])
    post = {"round": "guess", "submit_key": str(uuid.uuid4()), **GOOD}
    clients = [client_of(owner) for _ in range(3)]
    gate = threading.Barrier(2)

    def click(client: Client) -> tuple[int, str]:
        try:
            gate.wait(5)
            answer = client.post(path, post)
            return answer.status_code, answer.headers.get("Location", "")
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        got = list(threads.map(click, clients[:2]))
    again = clients[2].post(path, post)
    assert [*got, (again.status_code, again["Location"])] == [(302, path + "#run")] * 3
    assert Attempt.objects.count() == LockedRound.objects.count() == 1


# -- B4, B9 ----------------------------------------------------------------------------------------------------


def test_b9_the_endpoints_pages_wait_for_no_endpoint(db: None) -> None:
    """One takes the connection and never answers. The pages read the database; probes are the workers'."""
    client = client_of(User.objects.create_superuser("admin"))
    with ByteServer(Peer.watch_close) as dead:
        endpoint = Endpoint.objects.create(name="dead", base_url=dead.url, state=Endpoint.State.DOWN)
        for path in ("/admin/labs/endpoint/", f"/admin/labs/endpoint/{endpoint.pk}/change/"):
            assert "dead" in client.get(path).content.decode()
        assert dead.peers == []


def test_b4_the_endpoints_page_names_the_model_and_what_is_wrong_with_it(db: None) -> None:
    client = client_of(User.objects.create_superuser("admin"))
    endpoint = Endpoint.objects.create(
        name="a",
        base_url="http://127.0.0.1:1",
        facts={"model": "sliding-window.gguf"},
        canaries={"prefix": {"green": False, "reason": {"msgid": "It reads the same prompt anew."}}},
    )
    page = client.get(f"/admin/labs/endpoint/{endpoint.pk}/change/").content.decode()
    assert "sliding-window.gguf" in page
    assert "It reads the same prompt anew." in page
