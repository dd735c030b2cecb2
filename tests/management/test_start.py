"""Settings that would fail in silence stop every process at its start, with a sentence (cases D9, E1 and E6)."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from labs.start import START
from tests.live.servers import ROOT

PROCESSES = {
    "web": ["-c", "import labhub_voice.asgi"],
    "worker": [
        "-m",
        "celery",
        "--quiet",
        "--skip-checks",
        "-A",
        "labhub_voice",
        "worker",
        "-P",
        "threads",
        "-c",
        "1",
    ],
    "sweep": ["manage.py", "sweep"],
}
BAD = """
from labhub_voice.settings import *
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
LABHUB_RUN_S = None
CELERY_TASK_ACKS_LATE = True
"""


def test_no_process_starts_with_settings_that_cannot_work(tmp_path: Path) -> None:
    (tmp_path / "bad_settings.py").write_text(BAD)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "bad_settings", "PYTHONPATH": path}
    environ["CELERY_BROKER_URL"] = "memory://"
    started = {
        name: subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=environ, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        for name, words in PROCESSES.items()
    }
    try:
        for name, process in started.items():
            said = process.communicate(timeout=60)[1].decode()
            assert process.returncode == 1, name
            for sentence in (
                "CHANNEL_LAYERS is set",
                "LABHUB_RUN_S is no limit",
                "acknowledge wake-ups late",
            ):
                assert sentence in said, name
    finally:
        for process in started.values():
            process.kill()
            process.communicate()


def found() -> list[str]:
    return [message.msg for message in run_checks(tags=[START])]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LABHUB_RUN_S", None),
        ("LABHUB_RUN_S", math.inf),
        ("LABHUB_TOTAL_S", math.nan),
        ("LABHUB_IDLE_S", 0),
        ("LABHUB_FIRST_TOKEN_S", -1),
        ("LABHUB_LEASE_S", "30"),
    ],
)
def test_no_run_is_without_its_own_limits(settings: Settings, name: str, value: object) -> None:
    setattr(settings, name, value)
    assert found() == [f"{name} is no limit: {value}."]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("LABHUB_FIRST_TOKEN_S", "LABHUB_TOTAL_S"),
        ("LABHUB_IDLE_S", "LABHUB_TOTAL_S"),
        ("LABHUB_TOTAL_S", "LABHUB_RUN_S"),
        ("LABHUB_BEAT_S", "LABHUB_LEASE_S"),
    ],
)
def test_the_inner_limit_is_shorter_than_the_outer(settings: Settings, short: str, long: str) -> None:
    assert found() == []
    setattr(settings, short, getattr(settings, long))
    assert any(short in sentence and long in sentence for sentence in found()), "equal is not shorter"


@pytest.mark.parametrize("name", ["CELERY_TASK_ACKS_LATE", "CELERY_TASK_REJECT_ON_WORKER_LOST"])
def test_late_acknowledgement_is_refused(settings: Settings, name: str) -> None:
    setattr(settings, name, True)
    assert len(found()) == 1
