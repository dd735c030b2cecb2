"""The stream for the player: whose it is, what it holds, and that the page offers what is kept."""

from __future__ import annotations

import re
import uuid

from django.test import Client
from django.urls import reverse

from labs.measure.frames import pack_frames
from labs.measure.recording import Frame
from labs.models import Attempt, FrameStore
from tests.views.pages import Page
from tests.views.rows import FRAME


def url(attempt_id: object, run: int = 1, key: str = "cold") -> str:
    return reverse("attempt-replay", args=[attempt_id, run, key])


def test_three_people(
    attempt: Attempt, client: Client, at_owner: Client, at_member: Client, at_outsider: Client
) -> None:
    assert at_owner.get(url(attempt.pk)).status_code == 200
    assert at_member.get(url(attempt.pk)).status_code == 200
    assert (
        at_outsider.get(url(attempt.pk)).status_code == at_outsider.get(url(uuid.uuid4())).status_code == 404
    )
    assert client.get(url(attempt.pk)).status_code == 302


def test_what_is_not_there_is_not_found(attempt: Attempt, at_owner: Client) -> None:
    assert at_owner.get(url(attempt.pk, run=9)).status_code == 404
    assert at_owner.get(url(attempt.pk, key="nothing")).status_code == 404
    FrameStore.objects.all().delete()
    assert at_owner.get(url(attempt.pk)).status_code == 404


def test_frames_and_marks_in_the_readers_language(attempt: Attempt, at_owner: Client) -> None:
    data = at_owner.get(url(attempt.pk)).json()
    assert data["frames"] == [[1234, "text", "hi", FRAME.decode()]]
    assert [1_000, "headers", "headers"] in data["marks"]
    korean = at_owner.get(url(attempt.pk), headers={"accept-language": "ko"}).json()
    assert "첫 토큰" in [words for _at, _name, words in korean["marks"]]


def test_odd_bytes_do_not_stop_it(attempt: Attempt, at_owner: Client) -> None:
    FrameStore.objects.update(blob=pack_frames([Frame(1, b"\xff\x00data: {"), Frame(2, FRAME)]))
    frames = at_owner.get(url(attempt.pk)).json()["frames"]
    assert frames[0][3] == "\\xff\x00data: {"


def test_the_page_offers_what_is_kept(attempt: Attempt, at_owner: Client) -> None:
    where = reverse("attempt", args=[attempt.pk])
    text = at_owner.get(where).content.decode()
    offered = set(re.findall(r'<option value="([^"]+/replay)"', text))
    assert url(attempt.pk, 1, "cold") in offered and url(attempt.pk, 2, "after") in offered
    assert len(offered) == 5
    assert all(at_owner.get(one).status_code == 200 for one in offered)
    FrameStore.objects.all().delete()
    page = Page(at_owner.get(where).content.decode())
    assert not page.having(id="replay")
