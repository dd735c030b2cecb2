"""Both languages, and who sees which first."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Attempt, Course
from labs.steps import all_steps

HANGUL = re.compile("[가-힣]+")
# A literal in a page on Korean sentences is no sentence of the page.
CODE = re.compile("<code[^>]*>[^<]*</code>")
# The name of the other language, in that language.
NAMES = {"한국어"}


def test_a_newcomer_gets_the_courses_language(owner: User, course: Course) -> None:
    client = Client(headers={"accept-language": "en"})
    answer = client.post(reverse("login"), {"username": "owner", "password": "owner-password"}, follow=True)
    assert '<html lang="ko">' in answer.content.decode()


def test_a_choice_is_kept_over_the_courses_language(owner: User, course: Course) -> None:
    client = Client()
    client.post(reverse("set_language"), {"language": "en", "next": "/"})
    client.post(reverse("login"), {"username": "owner", "password": "owner-password"})
    assert client.cookies[settings.LANGUAGE_COOKIE_NAME].value == "en"
    assert '<html lang="en">' in client.get(reverse("home")).content.decode()


def test_no_korean_on_english_pages(course: Course, attempt: Attempt, at_owner: Client) -> None:
    urls = [reverse("home"), reverse("attempt", args=[attempt.pk]), "/no/such/page"]
    for url in urls + [reverse("step", args=[course.slug, key]) for key in all_steps()]:
        text = at_owner.get(url, headers={"accept-language": "en"}).content.decode()
        assert set(HANGUL.findall(CODE.sub("", text))) <= NAMES


@pytest.mark.parametrize("url", ["/", "/login/", "/no/such/page"])
def test_korean_pages_are_korean(url: str, at_owner: Client) -> None:
    client = Client() if url == "/login/" else at_owner
    assert len(set(HANGUL.findall(client.get(url, headers={"accept-language": "ko"}).content.decode()))) > 3


def test_too_many_wrong_passwords_pause_in_words(owner: User) -> None:
    client = Client(headers={"accept-language": "en"})
    for _ in range(settings.AXES_FAILURE_LIMIT):
        answer = client.post(reverse("login"), {"username": "owner", "password": "wrong"})
    assert answer.status_code == 429
    assert "Wait ten minutes" in answer.content.decode()


def test_health_needs_no_login(client: Client, db: None) -> None:
    assert client.get(reverse("healthz")).status_code == 200
    assert client.get(reverse("readyz")).status_code == 200
