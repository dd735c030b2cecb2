"""Submitting a round: what is wrong is said at the field, what was typed stays, and nothing is sent twice."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from labs import tokens
from labs.models import Attempt, AttemptCount, Course, State
from labs.models import Round as LockedRound
from tests.views.pages import Page
from tests.views.rows import STEP, attempt_in

GOOD = {"place": "front", "second_clock": "14:05:09", "pick_front": "10"}


@pytest.fixture
def url(course: Course) -> str:
    return reverse("step", args=[course.slug, STEP])


def post_of(**answers: str) -> dict[str, str]:
    return {"round": "guess", "submit_key": str(uuid.uuid4()), **answers}


def test_a_good_post_redirects_and_locks(url: str, at_owner: Client) -> None:
    answer = at_owner.post(url, post_of(**GOOD))
    assert answer.status_code == 302
    assert answer["Location"] == url + "#run"
    attempt = Attempt.objects.get()
    assert attempt.state == State.QUEUED
    assert LockedRound.objects.get().answers["second_clock"] == "14:05:09"


def test_the_same_post_again_makes_nothing_new(url: str, at_owner: Client) -> None:
    post = post_of(**GOOD)
    assert [at_owner.post(url, post).status_code for _ in range(2)] == [302, 302]
    assert Attempt.objects.count() == LockedRound.objects.count() == 1


def test_an_empty_post_says_so_at_each_field(url: str, at_owner: Client) -> None:
    answer = at_owner.post(url, post_of())
    page = Page(answer.content.decode())
    assert answer.status_code == 422
    assert page.having(id="errors", role="alert", tabindex="-1"), "a summary that can take the focus"
    assert page.having(aria_invalid="true")
    assert "Choose a place for the clock line." in answer.content.decode()
    assert not Attempt.objects.exists()


def test_a_missing_pick_is_marked_where_it_is_made(
    url: str, at_owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        tokens, "pieces", lambda messages, endpoint: [{"id": i, "text": "ab"} for i in range(20)]
    )
    answer = at_owner.post(url, post_of(place="front", second_clock="14:05:09"))
    page = Page(answer.content.decode())
    assert answer.status_code == 422
    assert page.having(role="radiogroup", aria_invalid="true", data_when="place=front")
    assert not page.having(role="radiogroup", aria_invalid="true", data_when="place=end")


def test_one_wrong_answer_leaves_the_others_as_typed(url: str, at_owner: Client) -> None:
    answer = at_owner.post(url, post_of(**{**GOOD, "second_clock": "<b>25:99"}))
    page = Page(answer.content.decode())
    assert answer.status_code == 422
    assert page.having(name="second_clock", value="<b>25:99", aria_invalid="true")
    assert page.having(name="pick_front", value="10")
    assert "checked" in page.having(name="place", value="front")[0]
    assert "&lt;b&gt;25:99" in answer.content.decode()
    assert not AttemptCount.objects.filter(charged__gt=0).exists()


@pytest.mark.parametrize(
    "bad",
    ["14:05:\x0009", "\ud800", "\ufffe" * 9, "x" * 200_000],
    ids=["NUL", "surrogate", "noncharacter", "long"],
)
def test_text_that_cannot_be_kept_is_a_sentence(bad: str, url: str, at_owner: Client) -> None:
    # As a client could send it: a lone surrogate has no UTF-8, so its three bytes are percent-encoded.
    body = "&".join(f"{k}={v}" for k, v in post_of(place="front", pick_front="10").items())
    raw = "".join(f"%{byte:02X}" for byte in bad.encode("utf-8", "surrogatepass"))
    answer = at_owner.post(
        url, f"{body}&second_clock={raw}", content_type="application/x-www-form-urlencoded"
    )
    assert answer.status_code == 422
    page = Page(answer.content.decode())
    assert page.having(name="second_clock", aria_invalid="true")
    assert not Attempt.objects.exists()


def test_a_body_that_is_far_too_long_is_a_sentence(url: str, at_owner: Client) -> None:
    answer = at_owner.post(url, post_of(**{**GOOD, "second_clock": "x" * 1_100_000}))
    assert answer.status_code == 400
    assert "up to one million characters" in answer.content.decode()


@pytest.mark.parametrize("key", ["", "not-a-uuid", "\x00"])
def test_a_lost_key_keeps_the_answers(key: str, url: str, at_owner: Client) -> None:
    answer = at_owner.post(url, {**post_of(**GOOD), "submit_key": key})
    page = Page(answer.content.decode())
    assert answer.status_code == 409
    assert page.having(id="problem", role="alert")
    assert page.having(name="pick_front", value="10")
    fresh = page.having(name="submit_key")[0]["value"]
    assert fresh and uuid.UUID(fresh)


def test_a_round_that_is_locked_already_is_refused_in_words(
    url: str, course: Course, at_owner: Client, attempt: Attempt
) -> None:
    attempt_in(State.QUEUED, attempt.user, course)
    answer = at_owner.post(url, post_of(**GOOD))
    assert answer.status_code == 409
    assert "already locked in another window" in answer.content.decode()


def test_the_attempts_that_are_left_are_said(
    url: str, course: Course, at_owner: Client, attempt: Attempt
) -> None:
    assert "9 attempts left" in at_owner.get(url).content.decode()
    AttemptCount.objects.update(charged=course.attempts_per_step)
    page = at_owner.get(url).content.decode()
    assert "You have no attempts left for this step." in page
    assert 'name="submit_key"' not in page


def test_an_uncharged_attempt_leaves_its_answers_in_the_form(
    url: str, course: Course, owner: object, at_owner: Client
) -> None:
    attempt = attempt_in(State.ERRORED, owner, course, reason="idle_timeout", charged=False)  # type: ignore[arg-type]
    typed = attempt.rounds.get(number=1).answers["second_clock"]
    text = at_owner.get(url).content.decode()
    assert Page(text).having(name="second_clock", value=typed)
    assert "fell silent" in text and "No attempt was used." in text
