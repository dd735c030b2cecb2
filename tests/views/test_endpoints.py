"""The endpoints console: what it shows, what may be entered, and how many questions it asks."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from labs.models import Attempt, Booking, Course, Endpoint, Lease, Run, State
from labs.text import N_
from labs.views.ops.warnings import warnings_of
from tests.measure.scripted import ScriptedLlama
from tests.views.conftest import client_of
from tests.views.pages import Page
from tests.views.rows import STEP, attempt_in

EVIL = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    cache.clear()


@pytest.fixture
def at_admin(db: None) -> Client:
    return client_of(User.objects.create_superuser("root"))


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return Endpoint.objects.create(
        name="lab-1",
        base_url="http://127.0.0.1:9",
        state=Endpoint.State.UP,
        facts={"model": "small.gguf", "build": "b1", "n_ctx": 4096, "slots": 2, "batch": 128, "threads": 2},
    )


def entered(**more: str) -> dict[str, str]:
    return {"name": "lab-1", "base_url": "http://127.0.0.1:9", "verify_tls": "on", **more}


def held(endpoint: Endpoint, attempt: Attempt | None) -> None:
    """By a run of the attempt, or by the canaries."""
    run = attempt and Run.objects.create(
        attempt=attempt,
        round=attempt.rounds.get(),
        number=9,
        endpoint=endpoint,
        token=1,
        worker="host:7",
        started_at=timezone.now(),
    )
    soon = timezone.now() + timedelta(seconds=django_settings.LABHUB_LEASE_S - 2)
    Lease.objects.filter(endpoint=endpoint).update(holder="host:7", run=run, token=1, expires_at=soon)


@pytest.mark.parametrize(
    ("holder", "looks"),
    [("nobody", True), ("cache-break", True), ("barge-in", False), ("canaries", False)],
)
def test_a_run_that_closes_connections_is_not_looked_at(
    holder: str, looks: bool, at_admin: Client, endpoint: Endpoint, owner: User, course: Course
) -> None:
    """Each look at `/slots` starts the one second anew that a server waits before it looks who left."""
    if holder == "canaries":
        held(endpoint, None)
    elif holder != "nobody":
        held(endpoint, attempt_in(State.RUNNING, owner, course, step_key=holder, rounds=1))
    with ScriptedLlama() as llama:
        Endpoint.objects.filter(pk=endpoint.pk).update(base_url=llama.url, probed_as="ok")
        answer = at_admin.get(reverse("endpoints"))
    shown = next(row for row in answer.context["rows"] if row.endpoint == endpoint)
    assert [slot.id for slot in shown.slots] == ([0, 1] if looks else [])
    assert ("Not looked at" in answer.content.decode()) is not looks


def test_the_list_says_who_runs_what_where(
    at_admin: Client, endpoint: Endpoint, owner: User, course: Course
) -> None:
    attempt = attempt_in(State.RUNNING, owner, course, rounds=1)
    held(endpoint, attempt)
    attempt_in(State.QUEUED, User.objects.create_user("next"), course, rounds=1)
    Endpoint.objects.filter(pk=endpoint.pk).update(
        canaries={
            "prefix": {"green": False, "reason": N_("It keeps old prompts.").to_json()},
            "slots": {"green": True, "reason": None},
        }
    )
    answer = at_admin.get(reverse("endpoints"))
    shown = next(row for row in answer.context["rows"] if row.endpoint == endpoint)
    assert 2 <= shown.holder.beat_s < 20
    page = answer.content.decode()
    for said in ("lab-1", "small.gguf", "host:7", f"heartbeat {shown.holder.beat_s} s ago"):
        assert said in page
    assert "It keeps old prompts." in page
    assert reverse("attempt", args=[attempt.pk]) in page
    assert "lab-1" in at_admin.get(reverse("endpoints-now")).content.decode()


def test_why_one_rests_is_said_in_the_readers_language_and_what_a_program_said_as_it_is(
    at_admin: Client, endpoint: Endpoint
) -> None:
    Endpoint.objects.update(state="resting", failures=4, detail="Unreachable: <connection reset>")
    page = at_admin.get("/endpoints/", headers={"accept-language": "ko"}).content.decode()
    assert "연속 실패: 4" in page
    assert '<bdi lang="en" translate="no">(Unreachable: &lt;connection reset&gt;)</bdi>' in page


def test_the_last_day_by_hours(at_admin: Client, endpoint: Endpoint, owner: User, course: Course) -> None:
    attempt = attempt_in(State.GRADED, owner, course)
    Run.objects.filter(attempt=attempt).update(endpoint=endpoint)
    last = Run.objects.filter(attempt=attempt).order_by("number")[0]
    Run.objects.filter(pk=last.pk).update(outcome=Run.Outcome.ERRORED)
    answer = at_admin.get(reverse("endpoint", args=[endpoint.pk]))
    day = answer.context["row"].day
    assert (day.runs, day.fault_percent) == (2, 50) and day.p50_ms > 0
    page = Page(answer.content.decode())
    assert page.inline == []
    heights = [float(bar["height"] or 0) for bar in page.having(**{"class": "ttft"})]
    assert heights == [60]  # one hour, its own highest


@pytest.mark.parametrize("more", [1, 4])
def test_the_queries_do_not_grow_with_the_queue(
    more: int,
    at_admin: Client,
    endpoint: Endpoint,
    course: Course,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    at_admin.get(reverse("endpoints"))
    for number in range(more):
        attempt_in(State.QUEUED, User.objects.create_user(f"s{number}"), course, rounds=1)
    with django_assert_num_queries(7):
        at_admin.get(reverse("endpoints-now"))


def test_what_others_write_is_text(
    at_admin: Client, endpoint: Endpoint, tmp_path: Path, settings: Settings
) -> None:
    settings.LABHUB_LOG_FOLDERS = [str(tmp_path)]
    log = tmp_path / "server.log"
    log.write_text(f"line {EVIL}\n")
    Endpoint.objects.filter(pk=endpoint.pk).update(
        name=EVIL, facts={"model": EVIL, "build": EVIL}, pause_note=EVIL, probed_as=EVIL, log_path=str(log)
    )
    for where in (reverse("endpoints"), reverse("endpoint", args=[endpoint.pk])):
        text = at_admin.get(where).content.decode()
        assert EVIL not in text and "&lt;script&gt;" in text
        assert Page(text).inline == []


@pytest.mark.parametrize("path", ["/etc/passwd", "{}/../secret.log", "{}/link.log", "relative.log"])
def test_only_logs_are_shown(
    path: str, at_admin: Client, endpoint: Endpoint, tmp_path: Path, settings: Settings
) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    (tmp_path / "secret.log").write_text("s3cret\n")
    (folder / "link.log").symlink_to(tmp_path / "secret.log")
    settings.LABHUB_LOG_FOLDERS = [str(folder)]
    where = path.format(folder)
    settings_page = reverse("endpoint-settings", args=[endpoint.pk])
    refused = at_admin.post(settings_page, entered(log_path=where))
    assert refused.status_code == 422 and str(folder) in refused.content.decode()
    Endpoint.objects.filter(pk=endpoint.pk).update(log_path=where)  # however it came there
    page = at_admin.get(reverse("endpoint", args=[endpoint.pk])).content.decode()
    assert "s3cret" not in page and "root:" not in page
    assert "lies outside the folders" in page


def test_the_end_of_a_log(at_admin: Client, endpoint: Endpoint, tmp_path: Path, settings: Settings) -> None:
    settings.LABHUB_LOG_FOLDERS = [str(tmp_path)]
    (tmp_path / "a.log").write_text("".join(f"line {number}\n" for number in range(20_000)))
    at_admin.post(reverse("endpoint-settings", args=[endpoint.pk]), entered(log_path=str(tmp_path / "a.log")))
    log = at_admin.get(reverse("endpoint", args=[endpoint.pk])).context["log"].split("\n")
    assert (len(log), log[-1]) == (40, "line 19999")


def test_saving_keeps_what_a_worker_found_meanwhile(
    at_admin: Client, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Endpoint.save

    def a_moment_later(self: Endpoint, *args: Any, **kwargs: Any) -> None:
        Endpoint.objects.filter(pk=self.pk).update(failures=3, rest_until=timezone.now(), state="resting")
        save(self, *args, **kwargs)

    monkeypatch.setattr(Endpoint, "save", a_moment_later)
    at_admin.post(reverse("endpoint-settings", args=[endpoint.pk]), entered(name="lab-2"))
    endpoint.refresh_from_db()
    assert (endpoint.name, endpoint.state, endpoint.failures) == ("lab-2", "resting", 3)


def test_one_that_is_paused_stays_so_at_another_address(at_admin: Client, endpoint: Endpoint) -> None:
    Endpoint.objects.update(state=Endpoint.State.PAUSED, pause_note="Back at three.")
    where = reverse("endpoint-settings", args=[endpoint.pk])
    at_admin.post(where, entered(base_url="http://127.0.0.1:19"))
    endpoint.refresh_from_db()
    assert (endpoint.base_url, endpoint.state) == ("http://127.0.0.1:19", "paused")


def test_a_key_is_kept_changed_or_forgotten(at_admin: Client, endpoint: Endpoint) -> None:
    where = reverse("endpoint-settings", args=[endpoint.pk])

    def key_after(**more: str) -> str:
        at_admin.post(where, entered(**more))
        endpoint.refresh_from_db()
        return endpoint.api_key

    assert key_after(new_key="first") == "first"
    assert key_after() == "first"
    assert key_after(new_key="second") == "second"
    assert "second" not in at_admin.get(where).content.decode()
    assert key_after(forget_key="on") == ""


def test_a_certificate_is_one(at_admin: Client, endpoint: Endpoint) -> None:
    where = reverse("endpoint-settings", args=[endpoint.pk])
    refused = at_admin.post(
        where, entered(ca_pem="-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----")
    )
    assert refused.status_code == 422 and "not a certificate" in refused.content.decode()


def test_a_booking_is_made_refused_and_ended(at_admin: Client, endpoint: Endpoint, course: Course) -> None:
    where = reverse("endpoint-bookings", args=[endpoint.pk])
    times = {"starts_at": "2030-05-01T09:00", "ends_at": "2030-05-01T12:00"}
    assert at_admin.post(where, {"course": course.pk, **times}).status_code == 302
    booking = Booking.objects.get()
    assert booking.starts_at.isoformat() == "2030-05-01T00:00:00+00:00"  # nine o'clock in Seoul
    again = at_admin.post(where, {"course": course.pk, **times})
    assert again.status_code == 422 and "lab-1 is booked for Voice lab" in again.content.decode()
    for nothing in ("999", "9" * 5000):
        assert at_admin.post(where, {"end": nothing}).status_code == 404
    at_admin.post(where, {"end": str(booking.pk)})
    assert not Booking.objects.exists()


def test_a_student_reads_why_before_and_while_waiting(
    at_owner: Client, endpoint: Endpoint, owner: User, course: Course
) -> None:
    Endpoint.objects.update(state=Endpoint.State.PAUSED, pause_note="Back at three.")
    where = reverse("step", args=[course.slug, STEP])
    page = at_owner.get(where).content.decode()
    assert "An admin has paused the model servers." in page and "Back at three." in page
    assert "You can run all the same" in page
    attempt_in(State.QUEUED, owner, course, rounds=1)
    page = at_owner.get(where).content.decode()
    assert "Back at three." in page.partition('id="status-text"')[2].partition("</p>")[0]
    assert "You can run all the same" not in page


@pytest.mark.parametrize(
    ("facts", "abilities", "log", "said"),
    [
        ({"slots": 1}, {}, "", "one slot"),
        ({"slots": 4, "threads": 2}, {}, "", "4 slots on 2 threads"),
        ({"n_ctx": 1024, "slots": 2}, {}, "", "--ctx-size 8192"),
        ({"batch": 2048}, {}, "", "2048 prompt tokens"),
        ({}, {"slots": False}, "", "--slots"),
        ({}, {"metrics": False}, "", "--metrics"),
        ({}, {"erase": False}, "", "--slot-save-path"),
        ({}, {}, "srv load_model: prompt cache is enabled, size limit: 8192 MiB", "8192 MiB"),
        ({}, {}, "llama-server --port 1 --cache-ram 0 --cache-reuse 256 --slots", "--cache-reuse 0"),
        ({}, {}, "srv load_model: initializing, n_slots = 4, kv_unified = 'true'", "--no-kv-unified"),
        ({"slots": 2}, {}, "cmn init: llama threadpool init, n_threads = 1", "2 slots on 1 threads"),
    ],
)
def test_what_blurs_the_lab(
    facts: dict[str, int], abilities: dict[str, bool], log: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "server.log"
    path.write_text(log + "\n")
    found = warnings_of(Endpoint(base_url="http://a", facts=facts, abilities=abilities), path)
    assert len(found) == 1 and said in str(found[0])


def test_how_the_lab_starts_its_own_server_blurs_nothing(endpoint: Endpoint, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(
        "llama-server --threads 2 --parallel 2 --batch-size 128 --cache-ram 0 --cache-reuse 0 --slots\n"
        "srv load_model: initializing, n_slots = 2, n_ctx_slot = 4096, kv_unified = 'false'\n"
    )
    endpoint.abilities = {"slots": True, "metrics": True, "erase": True, "tokens": True}
    assert warnings_of(endpoint, path) == []


def test_a_removed_one_is_nowhere_shown_and_its_runs_stay(
    at_admin: Client, at_member: Client, endpoint: Endpoint, owner: User, course: Course
) -> None:
    attempt = attempt_in(State.GRADED, owner, course)
    Run.objects.update(endpoint=endpoint)
    at_admin.post(reverse("endpoint-remove", args=[endpoint.pk]))
    for where in (reverse("endpoints"), reverse("class-now", args=[course.slug])):
        assert "127.0.0.1:9" not in at_admin.get(where).content.decode()
        assert f"lab-1 #{endpoint.pk}" not in at_admin.get(where).content.decode()
    assert at_member.get(reverse("attempt", args=[attempt.pk])).status_code == 200
    assert at_admin.post(reverse("endpoint-do", args=[endpoint.pk]), {"do": "resume"}).status_code == 404
