"""manage.py demo: as often as one likes, and never outside demo mode."""

from __future__ import annotations

import re
import stat
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import RequestFactory
from pytest_django import Settings

from labs.models import Course, Endpoint, Enrolment, Role

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def state(settings: Settings, tmp_path: Path) -> Path:
    settings.STATE_DIR = tmp_path
    return tmp_path


def demo(url: str = "http://127.0.0.1:8080", log: str = "") -> dict[str, str]:
    """Runs it and gives the printed passwords by name."""
    out = StringIO()
    call_command("demo", endpoint=url, log=log, stdout=out)
    return dict(re.findall(r"^  (\w+) +(\w+)", out.getvalue(), re.MULTILINE))


def test_the_printed_logins_work() -> None:
    logins = demo()
    assert set(logins) == {"kim", "lee", "park", "choi", "admin"}
    for name, password in logins.items():
        assert authenticate(RequestFactory().post("/login/"), username=name, password=password) is not None


def test_roles_and_course() -> None:
    demo()
    course = Course.objects.get()
    roles = dict(Enrolment.objects.filter(course=course).values_list("user__username", "role"))
    student = Role.STUDENT.value
    assert roles == {"kim": student, "lee": student, "park": student, "choi": Role.INSTRUCTOR.value}
    assert course.zone == "Asia/Seoul"
    assert User.objects.get(is_superuser=True).username == "admin"


def test_a_second_run_changes_nothing_and_keeps_a_changed_password() -> None:
    first = demo()
    kim = User.objects.get(username="kim")
    kim.set_password("her own")
    kim.save()
    assert demo() == first
    assert User.objects.count() == 5
    kim.refresh_from_db()
    assert kim.check_password("her own")


def test_passwords_differ_between_installations_and_are_private(state: Path, settings: Settings) -> None:
    first = demo()
    assert stat.S_IMODE((state / "demo-logins.json").stat().st_mode) == 0o600
    settings.STATE_DIR = state / "other"
    settings.STATE_DIR.mkdir()
    assert demo()["kim"] != first["kim"]


def test_a_new_port_is_the_same_endpoint_not_yet_probed() -> None:
    demo("http://localhost:8080", log="/tmp/llama.log")
    before = Endpoint.objects.get()
    assert (before.base_url, before.log_path) == ("http://127.0.0.1:8080", "/tmp/llama.log")
    Endpoint.objects.update(state=Endpoint.State.UP, facts={"build": "b1"})
    demo("http://127.0.0.1:8080")
    assert Endpoint.objects.get().state == Endpoint.State.UP
    demo("http://127.0.0.1:8081")
    after = Endpoint.objects.get()
    assert (after.pk, after.base_url, after.state) == (
        before.pk,
        "http://127.0.0.1:8081",
        Endpoint.State.UNKNOWN,
    )
    assert after.facts == {}
    assert after.lease.token == 0


def test_it_is_refused_outside_demo_mode(settings: Settings) -> None:
    settings.DEMO = False
    with pytest.raises(CommandError, match="demo mode only"):
        demo()
    assert not User.objects.exists()
