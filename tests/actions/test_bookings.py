"""Bookings: only the course's attempts go there, and no two overlap."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from labs.actions.bookings import book, unbook
from labs.actions.claim import claim_next
from labs.actions.errors import Refused
from labs.actions.finish import finish
from labs.models import AuditRow, Booking, Course, Endpoint
from tests.actions.conftest import Submit
from tests.actions.rows import claim
from tests.actions.toy import drive

HOUR = timedelta(hours=1)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def evening(db: None) -> Course:
    return Course.objects.create(slug="evening", title="Evening")


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create_superuser("root")


def test_others_wait_while_it_is_booked_and_come_in_their_order_afterwards(
    post: Submit, kim: User, lee: User, endpoint: Endpoint, evening: Course, admin: User, now: datetime
) -> None:
    first, second = post(kim), post(lee)
    book([endpoint], evening, now - HOUR, now + HOUR, admin)
    assert claim_next("w") is None
    unbook(Booking.objects.get(), admin)
    assert Booking.objects.get().ends_at < timezone.now()  # it has been, and is told
    got = claim()
    assert got.attempt == first
    finish(got, drive())
    assert claim().attempt == second


def test_whose_it_is_goes_there_first(
    post: Submit, kim: User, course: Course, endpoint: Endpoint, admin: User, now: datetime
) -> None:
    own = Endpoint.objects.create(
        name="z", base_url="http://127.0.0.1:2", state=Endpoint.State.UP, failures=1
    )
    book([own], course, now - HOUR, now + HOUR, admin)
    post(kim)
    assert claim().endpoint == own  # the other one stays free for those who have only that


def test_what_has_not_begun_keeps_nobody_out_and_can_be_taken_back(
    post: Submit, kim: User, endpoint: Endpoint, evening: Course, admin: User, now: datetime
) -> None:
    book([endpoint], evening, now + HOUR, now + 2 * HOUR, admin)
    post(kim)
    assert claim_next("w") is not None
    unbook(Booking.objects.get(), admin)
    assert not Booking.objects.exists()
    assert [row.what for row in AuditRow.objects.order_by("pk")] == ["book a", "end booking of a"]


@pytest.mark.parametrize(
    ("start_h", "end_h", "is_refused"),
    [(2, 3, False), (0, 1, False), (1, 2, True), (0, 4, True), (0, 1.5, True), (1.5, 3, True)],
)
def test_no_two_overlap(
    start_h: float,
    end_h: float,
    is_refused: bool,
    endpoint: Endpoint,
    course: Course,
    evening: Course,
    admin: User,
    now: datetime,
) -> None:
    other = Endpoint.objects.create(name="b", base_url="http://127.0.0.1:2")
    book([endpoint], course, now + HOUR, now + 2 * HOUR, admin)
    new = (evening, now + start_h * HOUR, now + end_h * HOUR, admin)
    book([other], *new)
    if is_refused:
        with pytest.raises(Refused, match="a is booked for Voice"):
            book([endpoint], *new)
        assert Booking.objects.filter(course=evening).count() == 1
    else:
        book([endpoint], *new)


def test_all_of_a_pool_or_none(
    endpoint: Endpoint, course: Course, evening: Course, admin: User, now: datetime
) -> None:
    other = Endpoint.objects.create(name="b", base_url="http://127.0.0.1:2")
    book([other], course, now, now + HOUR, admin)
    with pytest.raises(Refused):
        book([endpoint, other], evening, now, now + HOUR, admin)
    assert not Booking.objects.filter(course=evening).exists()


def test_none_that_is_over_or_ends_before_it_begins(
    endpoint: Endpoint, course: Course, admin: User, now: datetime
) -> None:
    for start, end in ((now - 2 * HOUR, now - HOUR), (now + HOUR, now + HOUR)):
        with pytest.raises(Refused):
            book([endpoint], course, start, end, admin)
    with pytest.raises(IntegrityError), transaction.atomic():
        Booking.objects.create(endpoint=endpoint, course=course, starts_at=now, ends_at=now)
