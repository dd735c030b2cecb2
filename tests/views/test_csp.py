"""The content security policy is strict, and no page of ours needs it to be less."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Course, State
from labs.steps import all_steps
from tests.views.conftest import client_of
from tests.views.pages import Page
from tests.views.rows import attempt_in

STATES = [State.OPEN, State.QUEUED, State.RUNNING, State.GRADED, State.CANCELLED, State.ERRORED]


def _check(client: Client, url: str, language: str, status: int = 200) -> Page:
    answer = client.get(url, headers={"accept-language": language})
    assert answer.status_code == status
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "'unsafe-inline'" not in policy and "'unsafe-eval'" not in policy
    page = Page(answer.content.decode())
    assert page.inline == []
    assert page.lang == answer["Content-Language"] == language
    assert sorted(set(page.ids)) == sorted(page.ids), "an id must be there once"
    return page


@pytest.mark.parametrize("language", ["ko", "en"])
def test_pages_have_nothing_inline(language: str, owner: User, course: Course, at_owner: Client) -> None:
    _check(Client(), reverse("login"), language)
    _check(at_owner, reverse("home"), language)
    _check(at_owner, "/no/such/page", language, status=404)
    for key in all_steps():
        _check(at_owner, reverse("step", args=[course.slug, key]), language)


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("state", STATES)
def test_no_state_of_an_attempt_has_anything_inline(
    state: State, language: str, owner: User, course: Course, at_member: Client
) -> None:
    attempt = attempt_in(state, owner, course, reason="idle_timeout" if state == State.ERRORED else "")
    _check(client_of(owner), reverse("step", args=[course.slug, attempt.step]), language)
    _check(client_of(owner), reverse("attempt", args=[attempt.pk]), language)
    _check(at_member, reverse("attempt", args=[attempt.pk]), language)


def test_the_reader_of_pages_sees_what_is_inline() -> None:
    bad = Page('<p style="x" onclick="y"><a href="javascript:z"></a><script>1</script><style></style>')
    assert len(bad.inline) == 5
    assert Page('<script type="application/json">1</script><script src="/a.js"></script>').inline == []
