"""Submitting: one attempt whatever the clicks, nothing half-saved, and an attempt is never charged twice."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from labs.actions import submit as submit_module
from labs.actions import wake
from labs.actions.cancel import cancel
from labs.actions.claim import claim_next
from labs.actions.errors import InvalidAnswers, NotFound, Refused
from labs.actions.finish import finish
from labs.models import Attempt, AttemptCount, Course, Endpoint, Round, State
from labs.sheets import Sheet
from tests.actions.conftest import Submit
from tests.actions.toy import drive


def charged(user: User) -> int:
    return sum(AttemptCount.objects.filter(user=user).values_list("charged", flat=True))


def test_a_submit_locks_the_answers_and_queues(kim: User, post: Submit) -> None:
    attempt = post(kim)
    assert attempt.state == State.QUEUED
    (round_,) = attempt.rounds.all()
    assert round_.answers == {"say": "hello"}
    assert round_.plan["items"][0]["messages"][0]["content"] == "hello"
    assert charged(kim) == 1


def test_the_wake_up_is_sent_after_the_commit(
    kim: User, post: Submit, woken: list[str], django_capture_on_commit_callbacks: object
) -> None:
    with django_capture_on_commit_callbacks(execute=True) as callbacks:  # type: ignore[operator]
        post(kim)
        assert woken == []
    assert len(callbacks) == 1
    assert woken == ["labs.tasks.drive"]


@pytest.mark.django_db(transaction=True)
def test_a_wake_up_that_fails_is_no_error_of_the_students(
    kim: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wake, "wake", lambda task: 1 / 0)
    assert post(kim).state == State.QUEUED


def test_the_same_key_again_finds_the_same_attempt(kim: User, post: Submit) -> None:
    key = uuid.uuid4()
    assert post(kim, key=key).pk == post(kim, key=key).pk
    assert Attempt.objects.count() == 1
    assert charged(kim) == 1


def test_somebody_elses_key_is_not_found(kim: User, lee: User, post: Submit) -> None:
    key = uuid.uuid4()
    post(kim, key=key)
    with pytest.raises(NotFound):
        post(lee, key=key)


def test_the_first_post_may_come_through_while_the_same_one_is_looked_at(
    kim: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither 'locked in another window' nor anything else: the second shows what the first made."""
    key, made = uuid.uuid4(), list[Attempt]()
    look = submit_module.sheet_for

    def slowly(*args: Any, **more: Any) -> Sheet:
        if not made:
            monkeypatch.undo()
            made.append(post(kim, key=key))
        return look(*args, **more)

    monkeypatch.setattr(submit_module, "sheet_for", slowly)
    assert post(kim, key=key).pk == made[0].pk
    assert Attempt.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("same_key", [True, False])
def test_two_posts_at_once_make_one_attempt(kim: User, post: Submit, same_key: bool) -> None:
    keys = [uuid.uuid4()] * 2 if same_key else [uuid.uuid4(), uuid.uuid4()]
    gate = threading.Barrier(2)
    got: list[object] = []

    def click(key: uuid.UUID) -> None:
        gate.wait(5)
        try:
            got.append(post(kim, key=key).pk)
        except Refused as refused:
            got.append(refused)
        finally:
            connection.close()

    threads = [threading.Thread(target=click, args=(key,)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    attempt = Attempt.objects.get()
    assert attempt.pk in got
    if same_key:
        assert got == [attempt.pk, attempt.pk]
    else:
        assert sum(isinstance(one, Refused) for one in got) == 1
    assert charged(kim) == 1
    assert Round.objects.count() == 1


def test_a_second_step_waits_for_the_first(kim: User, course: Course, post: Submit) -> None:
    post(kim)
    with pytest.raises(Refused, match="already locked"):
        post(kim)


def test_bad_answers_save_nothing(kim: User, post: Submit) -> None:
    with pytest.raises(InvalidAnswers) as caught:
        post(kim, say="")
    assert "say" in caught.value.form.errors
    assert not Attempt.objects.exists()
    assert not AttemptCount.objects.exists()


def test_a_prompt_too_long_for_the_slot_is_refused_by_tokens(kim: User, post: Submit) -> None:
    """No server to count: a byte makes at most a token, so a short text still passes and a long one does not."""
    with pytest.raises(InvalidAnswers) as caught:
        post(kim, say="long " * 5000)
    (sentence,) = caught.value.form.non_field_errors()
    assert "one slot holds 4096" in sentence
    assert not Attempt.objects.exists()


def test_the_limit_is_a_polite_refusal(kim: User, course: Course, post: Submit) -> None:
    AttemptCount.objects.create(course=course, user=kim, step="toy", charged=3)
    with pytest.raises(Refused, match="no attempts left"):
        post(kim)
    assert not Attempt.objects.exists()


def test_inputs_are_ones_own_and_an_uncharged_repeat_keeps_them(
    kim: User, lee: User, post: Submit, endpoint: Endpoint
) -> None:
    first = post(kim)
    other = post(lee)
    cancel(first)
    again = post(kim)
    drawn = [a.rounds.get().challenge["drawn"] for a in (first, other, again)]
    assert drawn[0] == drawn[2] != drawn[1]


def test_a_charged_attempt_draws_new_inputs(kim: User, post: Submit, endpoint: Endpoint) -> None:
    first = post(kim)
    for key in ("one", "two"):
        if key == "two":
            post(kim, key)
        claim = claim_next("w")
        assert claim is not None
        assert finish(claim, drive())
    second = post(kim)
    assert second.seed_number == 1
    assert first.rounds.get(number=1).challenge != second.rounds.get(number=1).challenge


def test_three_faults_of_the_server_an_hour_are_enough(kim: User, post: Submit, endpoint: Endpoint) -> None:
    for _ in range(3):
        post(kim)
        claim = claim_next("w")
        assert claim is not None
        finish(claim, drive("errored", reason="rejected_by_server"))
    assert charged(kim) == 0
    with pytest.raises(Refused, match="3 of your attempts"):
        post(kim)
