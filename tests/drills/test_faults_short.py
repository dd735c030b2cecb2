"""The fault drill's short form: some of its faults, once each, on one site under load."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.site import ROOT

pytestmark = pytest.mark.slow  # its servers are fakes

FAULTS = ("driver-kill", "web-kill", "valkey-flush", "server-dies-in-stream")
# It takes about 50 s on two cores.
LIMIT_S = 300


def test_nothing_is_lost_doubled_charged_or_stuck(tmp_path: Path) -> None:
    words = ["--times", "1", "--students", "4", "--keep", str(tmp_path), "--only", *FAULTS]
    # A process of its own: there Django is the site's, here it is the tests'.
    environ = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.drills.faults", *words],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    for name in FAULTS:
        assert f"| {name} | 1 |" in done.stdout
