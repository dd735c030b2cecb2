"""manage.py sweep as a process: it goes on after a failing database, and ends when told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from labs.models import Attempt
from tests.scripts.running import ROOT, wait_for


@pytest.mark.django_db
def test_once_ends_by_itself() -> None:
    call_command("sweep", once=True)
    assert not Attempt.objects.exists()


@pytest.mark.slow
def test_it_outlives_a_database_without_tables_and_ends_on_sigterm(tmp_path: Path) -> None:
    environ = os.environ | {
        "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        "LABHUB_STATE_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite://{tmp_path}/empty.sqlite3",
        "LABHUB_SWEEP_S": "0.1",
    }
    log = tmp_path / "log"
    with log.open("wb") as output:
        sweep = subprocess.Popen(
            [sys.executable, "manage.py", "sweep"], cwd=ROOT, env=environ, stdout=output, stderr=output
        )
    try:
        wait_for("two failed sweeps", lambda: log.read_text().count("this sweep failed") >= 2, 60)
        sweep.send_signal(signal.SIGTERM)
        assert sweep.wait(10) == 0
    finally:
        sweep.kill()
        sweep.wait()
