"""Pairs in a crowd: partners who come while workers claim, some stop, and the sweep runs. Everybody ends once."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from labs.actions import pairs
from labs.actions.cancel import cancel
from labs.actions.errors import Refused
from labs.actions.sweep import sweep_once
from labs.models import LIVE, Attempt, AttemptCount, Course, Endpoint, Enrolment, Lease, Run, State
from tests.actions.conftest import Submit
from tests.actions.test_crowd import LIMIT_S, thread, work

PAIRS = 8


@pytest.mark.django_db(transaction=True)
def test_partners_who_come_at_any_moment(
    course: Course, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    for n in range(2):
        Endpoint.objects.create(name=str(n), base_url=f"http://127.0.0.1:{n + 1}", state=Endpoint.State.UP)
    teacher = User.objects.create_user("teacher")
    firsts, seconds = (
        [User.objects.create_user(f"{name}{n}") for n in range(PAIRS)] for name in ("one", "other")
    )
    for first, second in zip(firsts, seconds, strict=True):
        for user in (first, second):
            Enrolment.objects.create(user=user, course=course)
        pairs.make(course, teacher, first, second)
        post(first)
    # For every second pair the time is up at once: its run begins while the partner is still coming.
    late = Attempt.objects.filter(user__in=firsts[::2])
    late.update(partner_until=timezone.now() - timedelta(seconds=1), queued_at=timezone.now())
    faults: list[BaseException] = []
    refused: list[User] = []

    def come(users: list[User]) -> None:
        for user in users:
            try:
                post(user)
            except Refused:
                refused.append(user)

    def stop_some() -> None:
        for attempt in list(Attempt.objects.order_by("?")[: PAIRS // 2]):
            cancel(attempt)

    def time_is_up() -> None:
        Attempt.objects.filter(partner_until__isnull=False).update(partner_until=timezone.now())

    def worker(n: int) -> Callable[[], None]:
        return lambda: work(f"w{n}", random.Random(n))

    threads = [
        thread(faults, lambda: come(seconds[::2])),
        thread(faults, lambda: come(seconds[1::2])),
        thread(faults, worker(1)),
        thread(faults, worker(2)),
        thread(faults, stop_some),
        thread(faults, sweep_once),
    ]
    for one in threads[:2] + threads[4:]:
        one.start()
    threads[2].start()
    for one in threads[:2]:
        one.join(LIMIT_S)
    time_is_up()  # nobody else comes; who waits still runs alone
    threads[3].start()
    for one in threads[2:]:
        one.join(LIMIT_S)
    work("last", random.Random(9))
    assert not faults
    assert not Attempt.objects.filter(state__in=[State.QUEUED, State.RUNNING]).exists()
    assert not Attempt.objects.exclude(rides_on=None).exists()
    assert not Lease.objects.exclude(holder="").exists() and not Run.objects.filter(outcome="").exists()
    for attempt in Attempt.objects.all():
        assert attempt.state == State.OPEN or attempt.state not in LIVE
        count = AttemptCount.objects.get(user=attempt.user).charged
        assert count == int(attempt.charged), "given back once, or not at all"
        if attempt.state == State.OPEN:
            accepted = attempt.rounds.get().accepted_run
            assert accepted is not None and accepted.attempt_id == attempt.pk
            assert accepted.recordings.count() == 1
    for copy in Run.objects.exclude(copy_of=None).select_related("copy_of__attempt", "attempt"):
        assert copy.copy_of is not None and copy.copy_of.copy_of is None
        assert copy.copy_of.attempt.pair_id == copy.attempt.pair_id
    assert Attempt.objects.count() == 2 * PAIRS - len(refused)
