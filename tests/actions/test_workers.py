"""Real worker processes, as the local topology starts them: two drivers, a background worker, the sweep.

A wake-up may come twice, or never; a worker may be killed; the broker may forget everything (cases E1, E2, E5).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from labs.models import Attempt, Course, Endpoint, Enrolment, Run, State
from scripts.supervisor.state import StateDir
from scripts.supervisor.topology import choose_places, commands
from tests.actions.conftest import Submit
from tests.actions.rows import charged, fresh
from tests.live.conftest import database_url
from tests.live.servers import ROOT, Valkey
from tests.measure.driving import wait_until
from tests.measure.scripted import ScriptedLlama

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PATIENCE_S = 90  # an upper bound only: four processes start on a busy machine
TIMES = {"LABHUB_LEASE_S": "3", "LABHUB_BEAT_S": "0.3", "LABHUB_SWEEP_S": "0.2"}


class Workers:
    """The product's own command lines, but for the toy step; each as often as `names` says."""

    def __init__(self, folder: Path, environ: dict[str, str], names: list[str]) -> None:
        places = choose_places("http://127.0.0.1:1")
        with places.web_socket:
            words = {command.name: command.words for command in commands(StateDir(folder), places, environ)}
        self.log = folder / "workers.log"
        self._log = self.log.open("wb")
        self.processes = [self._start(words[name], f"{name}{n}", environ) for n, name in enumerate(names)]

    def _start(self, words: list[str], node: str, environ: dict[str, str]) -> subprocess.Popen[bytes]:
        toy = {"labhub_voice": "tests.actions.toy_worker", "drive@%h": f"{node}@%h", "--quiet": "--quiet"}
        return subprocess.Popen(
            [toy.get(word, word) for word in words], cwd=ROOT, env=environ, stdout=self._log, stderr=self._log
        )

    def kill(self, pid: int) -> None:
        """Only one of ours, and so that it cannot say good-bye."""
        process = next(process for process in self.processes if process.pid == pid)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self._log.close()


@pytest.fixture(scope="module")
def workers(
    django_db_setup: None, valkey_server: Valkey, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workers]:
    folder = tmp_path_factory.mktemp("workers")
    environ = {
        **os.environ,
        **TIMES,
        "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        "DATABASE_URL": database_url(),
        "REDIS_URL": valkey_server.url,
    }
    started = Workers(folder, environ, ["drive", "drive", "background", "sweep"])
    yield started
    started.stop()


@pytest.fixture
def endpoint(llama: ScriptedLlama, valkey: Valkey, workers: Workers) -> Endpoint:
    """Probed just now, so that nobody probes it during the test."""
    return Endpoint.objects.create(
        name="a", base_url=llama.url, state=Endpoint.State.UP, probed_at=timezone.now()
    )


def outcomes(attempt: Attempt) -> list[str]:
    return list(attempt.runs.values_list("outcome", flat=True))


def is_over(attempt: Attempt) -> bool:
    return fresh(attempt).state not in {State.QUEUED, State.RUNNING}


def test_wake_ups_that_come_again_and_short_jobs_beside_a_long_stream(
    kim: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama, valkey: Valkey
) -> None:
    """E1: a run longer than its lease, a wake-up five times a second, two drivers: one stream, one run.

    E5: eight servers are probed before the stream has ended: short jobs have a queue and a worker of their own.
    """
    llama.token_s = 0.8
    attempt = post(kim)
    wait_until(lambda: len(llama.chats) == 1, PATIENCE_S)
    Endpoint.objects.bulk_create(
        Endpoint(name=f"e{n}", base_url=f"http://127.0.0.1:{n}", state=Endpoint.State.PAUSED)
        for n in range(1, 9)
    )
    wait_until(lambda: not Endpoint.objects.filter(probed_at=None).exists(), PATIENCE_S)
    assert fresh(attempt).state == State.RUNNING, "the stream still runs"
    wait_until(lambda: is_over(attempt), PATIENCE_S)
    assert (fresh(attempt).state, outcomes(attempt)) == (State.OPEN, ["recorded"])
    assert (len(llama.chats), charged(kim)) == (1, 1)
    with valkey.client() as redis:
        assert not redis.keys("celery-task-meta-*"), "no state of a task is kept, so none is believed"


def test_a_killed_worker_gives_its_run_to_the_other_one(
    kim: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama, workers: Workers
) -> None:
    """E2: by its lease in our own table, within the sweep's period; the attempt is charged once."""
    llama.token_s = 60
    attempt = post(kim)
    wait_until(lambda: len(llama.chats) == 1, PATIENCE_S)
    _host, pid, _mark = Run.objects.get().worker.split(":")
    llama.token_s = 0.01
    workers.kill(int(pid))
    wait_until(lambda: outcomes(attempt) == ["lost"], PATIENCE_S)
    assert (fresh(attempt).state, fresh(attempt).returned) == (State.QUEUED, True)
    Attempt.objects.update(not_before=None)
    wait_until(lambda: is_over(attempt), PATIENCE_S)
    assert (fresh(attempt).state, outcomes(attempt)) == (State.OPEN, ["lost", "recorded"])
    assert Run.objects.order_by("number")[1].worker != Run.objects.order_by("number")[0].worker
    assert charged(kim) == 1


def test_a_broker_that_forgot_everything_loses_no_run(
    kim: User,
    lee: User,
    course: Course,
    post: Submit,
    endpoint: Endpoint,
    llama: ScriptedLlama,
    valkey: Valkey,
) -> None:
    """E2: flushed with three runs in the queue, again and again while they are run."""
    park = User.objects.create_user("park")
    Enrolment.objects.create(user=park, course=course)
    Endpoint.objects.update(state=Endpoint.State.DOWN)
    attempts = [post(user) for user in (kim, lee, park)]
    with valkey.client() as redis:
        redis.flushall()
        Endpoint.objects.update(state=Endpoint.State.UP)

        def all_over() -> bool:
            redis.flushall()
            time.sleep(0.3)  # the pace of the flushes is the input
            return all(is_over(attempt) for attempt in attempts)

        wait_until(all_over, PATIENCE_S)
    assert [outcomes(attempt) for attempt in attempts] == [["recorded"]] * 3
