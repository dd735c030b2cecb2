"""What the model, a student or an instructor writes is text on every page, never a tag."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Attempt, Course, Round, State, StoredRecording
from tests.views.pages import Page
from tests.views.rows import STEP, attempt_in

EVIL = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\"'"


def _write_everywhere(attempt: Attempt) -> None:
    for row in StoredRecording.objects.all():
        row.data["figures"]["text"] = row.data["body"] = EVIL
        row.save()
    for round_ in Round.objects.all():
        round_.answers = {**round_.answers, "extra": EVIL, EVIL: [EVIL, {"a": EVIL}]}
        round_.plan["items"][0]["title"] = {"msgid": EVIL, "params": {}}
        round_.save()
    event = attempt.grade_events.get()
    event.checks[0]["evidence"] = {
        "saw": {EVIL: EVIL, "ask": {EVIL: 1}, "b": {"c": EVIL}},
        "rule": EVIL,
        EVIL: EVIL,
    }
    event.checks[0]["reason"] = {"msgid": "%(x)s", "params": {"x": EVIL}}
    event.save()
    Course.objects.update(title=EVIL)
    User.objects.filter(pk=attempt.user_id).update(username=EVIL[:150])


def _harmless(client: Client, url: str) -> str:
    text = client.get(url).content.decode()
    page = Page(text)
    assert page.inline == []
    assert not [tag for tag, attrs in page.tags if tag == "img" or "onerror" in attrs]
    assert "&lt;script&gt;alert(1)" in text, "the page was meant to show it"
    return text


def test_pages(owner: User, course: Course, attempt: Attempt, at_owner: Client, at_member: Client) -> None:
    _write_everywhere(attempt)
    _harmless(at_owner, reverse("home"))
    _harmless(at_owner, reverse("step", args=[course.slug, STEP]))
    _harmless(at_owner, reverse("attempt", args=[attempt.pk]))
    _harmless(at_member, reverse("attempt-panel", args=[attempt.pk]))


def test_the_names_that_the_script_reads(owner: User, course: Course, at_owner: Client) -> None:
    attempt = attempt_in(State.RUNNING, owner, course)
    round_ = attempt.rounds.last()
    assert round_ is not None
    round_.plan["items"][0]["title"] = {"msgid": EVIL, "params": {}}
    round_.save()
    text = at_owner.get(reverse("step", args=[course.slug, STEP])).content.decode()
    assert Page(text).inline == []


def test_the_models_words_are_marked_as_no_language_of_ours(attempt: Attempt, at_owner: Client) -> None:
    page = Page(at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode())
    assert page.having(dir="auto", translate="no", lang="und")


def test_fifty_kilobytes_of_anything_are_text_and_stay_in_the_form(course: Course, at_owner: Client) -> None:
    """Markup, letters from right to left, emoji: sent, refused for what is missing, and there again as they were."""
    odd = ("</textarea><script>alert(1)</script> \u202eשלום مرحبا 👩‍👩‍👧‍👦\u0000 " * 1000)[:15_000]
    assert len(odd.encode()) < 50_000 < len((odd * 3).encode())
    where = reverse("step", args=[course.slug, "read-sse"])
    post = {"submit_key": str(uuid.uuid4()), "round": "streams", "results": "{}"}
    for source in (odd.replace("\0", ""), odd, odd * 3):
        answer = at_owner.post(where, {**post, "source": source})
        assert answer.status_code == 422
        text = answer.content.decode()
        assert Page(text).inline == []
        assert "&lt;/textarea&gt;&lt;script&gt;alert(1)&lt;/script&gt; \u202eשלום" in text
    assert not Attempt.objects.exists()
