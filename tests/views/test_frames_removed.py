"""An attempt's page after its raw frames were removed by policy."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from labs.actions.retention import remove_frames
from labs.models import Course, State
from labs.steps import all_steps
from tests.views.rows import attempt_in


@pytest.mark.parametrize("key", list(all_steps()))
def test_the_page_says_so_and_shows_all_else(key: str, owner: User, course: Course, at_owner: Client) -> None:
    old = timezone.now() - timedelta(days=40)
    attempt = attempt_in(State.GRADED, owner, course, step_key=key, finished_at=old)
    where = reverse("attempt", args=[attempt.pk])
    assert "by policy" not in at_owner.get(where).content.decode()
    had_frames = bool(remove_frames(30))
    page = at_owner.get(where).content.decode()
    assert ("The raw frames were removed on" in page) == had_frames
    assert "/recordings/" not in page, "no link leads to what is gone"
