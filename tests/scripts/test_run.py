"""scripts/run for real: all processes, a login, a dead worker, a killed supervisor, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.scripts.running import ROOT, STOP_LIMIT_S, Running, outside_environment, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.server]

NAMES = {"valkey", "llama", "drive", "background", "sweep", "web"}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_start_kill_start_again_and_stop(state: Path) -> None:
    with Running(state) as first:
        log_in_as_kim(first, first.wait_until_ready())
        children = first.recorded()
        assert set(children) == NAMES
        password = first.password("kim")

        wait_for_a_new_sweep_after_its_death(first)

        children = first.recorded()
        first.process.kill()
        first.process.wait()
        wait_for("children die with it", lambda: not any(c.is_alive() for c in children.values()), 10)

    with Running(state) as second:
        address = second.wait_until_ready()
        assert second.password("kim") == password
        log_in_as_kim(second, address)
        assert_another_start_only_says_where(second, address)

        children = second.recorded()
        second.process.send_signal(signal.SIGINT)
        assert second.process.wait(STOP_LIMIT_S) == 0
        assert not [name for name, child in children.items() if child.is_alive()]


def log_in_as_kim(running: Running, address: str) -> None:
    with httpx.Client(base_url=address, follow_redirects=True) as browser:
        browser.get("login/").raise_for_status()
        form = {
            "username": "kim",
            "password": running.password("kim"),
            "csrfmiddlewaretoken": browser.cookies["csrftoken"],
        }
        page = browser.post("login/", data=form, headers={"Origin": address.rstrip("/")})
        assert (page.status_code, page.url.path) == (200, "/")


def wait_for_a_new_sweep_after_its_death(running: Running) -> None:
    before = running.recorded()["sweep"]
    os.kill(before.pid, signal.SIGKILL)
    wait_for("the sweep is started again", lambda: running.recorded()["sweep"] != before, 20)
    assert "ended unexpectedly (-9)" in running.said()
    assert running.recorded()["web"].is_alive()


def assert_another_start_only_says_where(running: Running, address: str) -> None:
    other = subprocess.run(
        [ROOT / "scripts" / "run"],
        env=outside_environment(running.state),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert other.returncode == 0
    assert address in other.stdout
    assert not running.is_over()
