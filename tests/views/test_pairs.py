"""The pages of pairs: who may do what, what a student reads at the step, and that nothing is a guess at names."""

from __future__ import annotations

import uuid

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Attempt, Course, Endpoint, Enrolment, Pair, State
from labs.pairs import partnership_of
from labs.steps import all_steps
from tests.views.conftest import client_of
from tests.views.pages import Page

STEP = "cache-reuse"


@pytest.fixture
def mate(course: Course) -> User:
    user = User.objects.create_user("mate", last_name="<b>Mate</b>")
    Enrolment.objects.create(user=user, course=course)
    return user


@pytest.fixture
def pair(course: Course, owner: User, mate: User, at_member: Client) -> Pair:
    data = {"do": "make", "one": owner.pk, "other": mate.pk}
    assert at_member.post(reverse("pairs", args=[course.slug]), data).status_code == 302
    return Pair.objects.get()


def mine(course: Course) -> str:
    return reverse("pair", args=[course.slug])


def run(client: Client, course: Course) -> Attempt:
    """The step's own sample, sent as its form is."""
    where = reverse("step", args=[course.slug, STEP])
    page = Page(client.get(where).content.decode())
    hidden = {
        attrs["name"]: attrs["value"] for attrs in page.having(type="hidden") if attrs.get("name") != "csrf"
    }
    round_ = all_steps()[STEP].rounds[0]
    sample = round_.sample({}, {})  # type: ignore[arg-type]  # this round's does not look at them
    answer = client.post(where, {**hidden, "submit_key": str(uuid.uuid4()), **sample})
    assert answer.status_code == 302, answer.content
    return Attempt.objects.latest("created_at")


def test_three_people(
    pair: Pair, course: Course, at_owner: Client, at_member: Client, at_outsider: Client
) -> None:
    assert at_outsider.get(mine(course)).status_code == 404
    assert at_owner.get(mine(course)).status_code == 200
    assert at_member.get(mine(course))["Location"] == reverse("pairs", args=[course.slug])
    for client in (at_owner, at_outsider):
        assert client.get(reverse("pairs", args=[course.slug])).status_code == 404
        data = {"do": "end", "pair": pair.pk}
        assert client.post(reverse("pairs", args=[course.slug]), data).status_code == 404
    page = at_member.get(reverse("pairs", args=[course.slug])).content.decode()
    assert "&lt;b&gt;Mate" in page and "<b>Mate" not in page
    assert not Page(page).inline


def test_asking_and_accepting_on_the_page(course: Course, owner: User, mate: User, at_owner: Client) -> None:
    at_mate = client_of(mate)
    assert at_owner.post(mine(course), {"do": "invite", "whom": "mate"}).status_code == 302
    asked = Pair.objects.get()
    assert "You are asked" in at_mate.get(mine(course)).content.decode()
    assert at_owner.post(mine(course), {"do": "accept", "pair": asked.pk}).status_code == 404
    assert at_mate.post(mine(course), {"do": "accept", "pair": asked.pk}).status_code == 302
    assert partnership_of(owner, course) is not None
    assert at_owner.post(mine(course), {"do": "end"}).status_code == 302
    assert partnership_of(owner, course) is None
    assert at_owner.post(mine(course), {"do": "end"}).status_code == 404
    for junk in ({"do": "accept", "pair": "x"}, {"do": "?"}, {}):
        assert at_owner.post(mine(course), junk).status_code == 404


def test_what_both_read_at_the_step_and_one_run_for_both(
    pair: Pair, course: Course, owner: User, mate: User, at_owner: Client
) -> None:
    slots = {name: {"green": True, "reason": None} for name in ("slots", "content", "prefix")}
    Endpoint.objects.create(name="e", base_url="http://127.0.0.1:3", state=Endpoint.State.UP, canaries=slots)
    at_mate, where = client_of(mate), reverse("step", args=[course.slug, STEP])
    assert "You work in a pair with" in at_owner.get(where).content.decode()
    first = run(at_owner, course)
    waiting = at_owner.get(where).content.decode()
    assert "It waits for your partner" in waiting and "Run without my partner" in waiting
    assert "waits for your answers until" in at_mate.get(where).content.decode()
    go = reverse("pair-go-alone", args=[first.pk])
    assert at_mate.post(go).status_code == 404
    second = run(at_mate, course)
    assert second.rides_on == first
    assert "is measured for you both" in at_mate.get(where).content.decode()
    assert at_mate.get(reverse("attempt", args=[first.pk])).status_code == 404, (
        "the partner's answers are theirs"
    )


def test_running_without_the_partner(pair: Pair, course: Course, at_owner: Client) -> None:
    first = run(at_owner, course)
    assert first.partner_until is not None
    assert at_owner.post(reverse("pair-go-alone", args=[first.pk])).status_code == 302
    first.refresh_from_db()
    assert (first.state, first.partner_until) == (State.QUEUED, None)


def test_a_page_of_other_inputs_is_refused_and_shows_the_new_ones(
    course: Course, owner: User, mate: User, at_owner: Client, at_member: Client
) -> None:
    where = reverse("step", args=[course.slug, STEP])
    old = Page(at_owner.get(where).content.decode()).having(name="inputs")[0]["value"]
    at_member.post(reverse("pairs", args=[course.slug]), {"do": "make", "one": owner.pk, "other": mate.pk})
    data = {"inputs": old, "round": all_steps()[STEP].rounds[0].key, "submit_key": str(uuid.uuid4())}
    answer = at_owner.post(where, data)
    assert answer.status_code == 409
    assert Page(answer.content.decode()).having(name="inputs")[0]["value"] != old
    assert not Attempt.objects.exists()
