"""The school's login through its real redirects, against a small provider on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from labhub_voice.school import School as Wanted
from labhub_voice.school import school_login
from labs.models import AuditRow, Course, Enrolment, Role, SchoolLink
from labs.models.audit import Verb
from tests.views.fake_school import CLIENT_ID, SECRET, School, running


@pytest.fixture(scope="module")
def school_server() -> Iterator[School]:
    with running() as school:
        yield school


@pytest.fixture
def school(db: None, school_server: School, settings: Settings) -> School:
    school_server.person = {"sub": "s-1", "email": "Kim@school.example", "email_verified": True}
    school_server.claims, school_server.config, school_server.userinfo = {}, {}, None
    school_server.signed_by = "school"
    settings.SCHOOL = Wanted(school_server.issuer, CLIENT_ID, SECRET, "Hanguk University")
    return school_server


@pytest.fixture
def kim(course: Course) -> User:
    user = User.objects.create_user("kim", email="kim@school.example")
    Enrolment.objects.create(user=user, course=course)
    return user


def go(client: Client, next_page: str = "") -> HttpResponse:
    """All the way round, as a browser goes. The answer is that of our own address to which the school sent us back."""
    begun = client.get(reverse("school-login"), {"next": next_page} if next_page else {})
    assert begun.status_code == 302, begun.content
    sent_back = httpx.get(begun["Location"])
    where = httpx.URL(sent_back.headers["Location"])
    assert (where.host, where.path) == ("testserver", reverse("school-login-back"))
    return client.get(where.path, dict(where.params))


def is_in(client: Client, user: User) -> bool:
    return client.session.get("_auth_user_id") == str(user.pk)


def said(client: Client) -> str:
    return client.get(reverse("login"), headers={"accept-language": "en"}).content.decode()


def test_a_verified_address_opens_its_account_and_from_then_on_the_subject_does(
    school: School, kim: User, course: Course, client: Client
) -> None:
    assert "Log in with Hanguk University" in said(client)
    answer = go(client)
    assert (answer.status_code, answer["Location"]) == (302, reverse("home"))
    assert is_in(client, kim)
    assert client.get(reverse("home")).status_code == 200
    assert AuditRow.objects.filter(verb=Verb.SCHOOL_LINKED, whom=kim).count() == 1
    school.person = {"sub": "s-1", "email": "married@school.example", "email_verified": False}
    again = Client()
    go(again)
    assert is_in(again, kim)
    assert AuditRow.objects.filter(verb=Verb.SCHOOL_LINKED).count() == 1
    kim.refresh_from_db()
    assert not kim.is_staff and kim.enrolments.get().role == Role.STUDENT
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "person",
    [
        {"email_verified": False},
        {"email_verified": None},
        {"email_verified": "yes"},
        {"email": ""},
        {"email": "stranger@school.example"},
        {"email": "kım@school.example"},  # a dotless i
    ],
)
def test_what_is_not_verified_or_not_known_opens_nothing_and_makes_nothing(
    person: dict[str, object], school: School, kim: User, client: Client
) -> None:
    school.person.update(person)
    answer = go(client)
    assert answer["Location"] == reverse("login")
    assert "_auth_user_id" not in client.session
    assert 'role="status"' in said(client)
    assert not SchoolLink.objects.exists() and User.objects.count() == 1


def test_two_accounts_with_one_address_a_closed_one_and_an_admins_stay_shut(
    school: School, kim: User, client: Client
) -> None:
    other = User.objects.create_user("kim2", email="kim@school.example")
    go(client)
    assert "no account here with your address" in said(client)
    other.delete()
    User.objects.filter(pk=kim.pk).update(is_staff=True)
    go(client)
    assert "log in with their password" in said(client)
    User.objects.filter(pk=kim.pk).update(is_staff=False, is_active=False)
    go(client)
    assert "Your account here is closed" in said(client)
    assert "_auth_user_id" not in client.session and not SchoolLink.objects.exists()


def test_an_address_that_changed_hands_does_not_open_the_old_account(
    school: School, kim: User, client: Client
) -> None:
    go(client)
    school.person["sub"] = "somebody-new"
    newcomer = Client()
    go(newcomer)
    assert "_auth_user_id" not in newcomer.session
    assert SchoolLink.objects.get().subject == "s-1"


@pytest.mark.parametrize(
    "claims", [{"iss": "http://127.0.0.1:1"}, {"aud": "another"}, {"exp": 1}, {"exp": None}, {"sub": None}]
)
def test_a_token_for_somebody_else_or_of_yesterday_is_refused(
    claims: dict[str, object], school: School, kim: User, client: Client
) -> None:
    school.claims = claims
    assert go(client)["Location"] == reverse("login")
    assert "_auth_user_id" not in client.session
    assert "did not work" in said(client)


def test_a_forged_signature_is_refused(school: School, kim: User, client: Client) -> None:
    school.signed_by = "forger"
    go(client)
    assert "_auth_user_id" not in client.session


def test_another_issuers_configuration_is_refused(school: School, kim: User, client: Client) -> None:
    school.config = {"issuer": "https://evil.example"}
    assert client.get(reverse("school-login"))["Location"] == reverse("login")
    assert "did not work" in said(client)


def test_an_address_from_userinfo_counts_only_for_the_same_subject(
    school: School, kim: User, client: Client
) -> None:
    school.claims = {"email": None, "email_verified": None}
    school.userinfo = {**school.person, "sub": "another"}
    go(client)
    assert "_auth_user_id" not in client.session
    school.userinfo = school.person
    go(client)
    assert is_in(client, kim)


def test_a_state_of_another_session_and_a_code_used_twice_are_refused(
    school: School, kim: User, client: Client
) -> None:
    begun = client.get(reverse("school-login"))
    back = httpx.URL(httpx.get(begun["Location"]).headers["Location"])
    victim = Client()
    victim.get(back.path, dict(back.params))
    assert "_auth_user_id" not in victim.session
    client.get(back.path, dict(back.params))
    assert is_in(client, kim)
    client.logout()
    client.get(back.path, dict(back.params))
    assert "_auth_user_id" not in client.session


def test_it_leads_on_to_where_one_wanted_to_go_but_never_off_the_site(
    school: School, kim: User, client: Client
) -> None:
    assert go(client, "/courses/voice/boards/")["Location"] == "/courses/voice/boards/"
    assert go(Client(), "https://evil.example/")["Location"] == reverse("home")
    assert 'next=%2Faudit%2F"' in client_page("/audit/")


def client_page(wanted: str) -> str:
    return Client().get(reverse("login"), {"next": wanted}).content.decode()


def test_nothing_of_the_request_goes_into_what_is_asked_of_the_school(school: School, client: Client) -> None:
    begun = client.get(
        reverse("school-login"),
        {"process": "connect", "auth_params": "redirect_uri=https://evil.example", "scope": "x"},
    )
    asked = dict(httpx.URL(begun["Location"]).params)
    assert asked["redirect_uri"] == "http://testserver/login/school/back/"
    assert set(asked["scope"].split()) == {"openid", "email"}
    assert asked["code_challenge_method"] == "S256"


def test_the_policy_stays_strict_and_the_password_stays(school: School, kim: User, client: Client) -> None:
    answer = client.get(reverse("login"))
    assert "form-action 'self'" in answer["Content-Security-Policy"]
    assert school.issuer not in answer["Content-Security-Policy"]
    kim.set_password("a-password-of-kim")
    kim.save()
    client.post(reverse("login"), {"username": "kim", "password": "a-password-of-kim"})
    assert is_in(client, kim)


def test_a_school_that_is_away_leaves_a_sentence(school: School, client: Client, settings: Settings) -> None:
    settings.SCHOOL = Wanted("http://127.0.0.1:9", CLIENT_ID, SECRET)
    assert client.get(reverse("school-login"))["Location"] == reverse("login")
    assert "did not work" in said(client)


@pytest.mark.parametrize(
    "wrong",
    [
        {"LABHUB_OIDC_ISSUER": "http://login.school.example"},
        {"LABHUB_OIDC_SECRET": ""},
        {"LABHUB_OIDC_CLIENT_ID": ""},
    ],
)
def test_half_a_setting_stops_the_start(wrong: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {
        "LABHUB_OIDC_ISSUER": "https://login.school.example",
        "LABHUB_OIDC_CLIENT_ID": "lab",
        "LABHUB_OIDC_SECRET": "s",
    }
    for name, value in (whole | wrong).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured):
        school_login(may_be_plain=False)


def test_the_secret_comes_from_a_file_and_is_not_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("from-a-file\n")
    monkeypatch.setenv("LABHUB_OIDC_ISSUER", "https://login.school.example")
    monkeypatch.setenv("LABHUB_OIDC_CLIENT_ID", "lab")
    monkeypatch.setenv("LABHUB_OIDC_SECRET_FILE", str(tmp_path / "secret"))
    found = school_login(may_be_plain=False)
    assert found is not None and found.secret == "from-a-file"
    assert "from-a-file" not in repr(found)


OFF = """
import sys
import django
from django.conf import settings
settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
django.setup()
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory
from labs.views.login import Login
for where in ("/login/school/", "/login/school/back/", "/accounts/login/"):
    assert Client().get(where).status_code == 404, where
request = RequestFactory().get("/login/")
request.user, request.session = AnonymousUser(), {}
page = Login.as_view()(request).render().content.decode()
assert "school" not in page
assert settings.SCHOOL is None and not any("allauth" in app for app in settings.INSTALLED_APPS)
assert not any(name.startswith("allauth") for name in sys.modules)
"""


def test_off_is_the_default_and_then_it_does_not_exist() -> None:
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "labhub_voice.settings", "LABHUB_HOSTS": "testserver"}
    done = subprocess.run([sys.executable, "-c", OFF], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
