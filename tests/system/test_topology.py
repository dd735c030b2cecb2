"""The topology behind its proxy: a student's whole way, and a small class under which processes are restarted."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from scripts.cluster.places import Size
from tests.drills.page import panel_of
from tests.live.sockets import Socket
from tests.system.cluster import Cluster
from tests.system.site import ROOT, Visitor, wait_for

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("LABHUB_SKIP_POSTGRES") == "1", reason="LABHUB_SKIP_POSTGRES=1"),
]

STEP = "/courses/demo/steps/first-token/"
# The class works for about 10 s, and longer on a busy machine.
LIMIT_S = 240


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two web processes, three workers, two fake endpoints at three times their speed."""
    quick = {"LABHUB_SWEEP_S": "1"}
    running = Cluster(tmp_path_factory.mktemp("topology"), Size(scale=0.3), quick)
    try:
        running.start()
        yield running
    finally:
        running.stop()


def followed(cluster: Cluster, student: Visitor, panel: dict[str, str]) -> list[dict[str, Any]]:
    """What the page's socket is told through the proxy, to the end of the run."""
    address = f"{cluster.url.replace('http', 'ws')}{panel['socket']}?after={panel['after']}"
    cookie = {"Cookie": f"sessionid={student.http.cookies['sessionid']}"}
    with connect(
        address, additional_headers=cookie, origin=Origin(cluster.url), compression=None
    ) as connection:
        socket = Socket(connection)
        socket.until(lambda said: said["kind"] == "finished" or said.get("state") == "open", 60)
        return socket.seen


@pytest.fixture
def answers(cluster: Cluster) -> Iterator[subprocess.Popen[str]]:
    """Lines of `name step` in, right answers out."""
    words = [sys.executable, "-m", "tests.system.model_answers"]
    environ = {**os.environ, **cluster.environ()}
    with subprocess.Popen(
        words, cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process


def test_a_student_runs_to_the_verdict_and_sees_tokens_through_the_proxy(
    cluster: Cluster, answers: subprocess.Popen[str]
) -> None:
    student = cluster.log_in("kim")
    assert answers.stdin is not None and answers.stdout is not None
    wait_for(lambda: 'name="round"' in student.get(STEP).text, 60)  # the canaries go first
    kinds: list[str] = []
    for _ in range(3):
        answers.stdin.write("kim first-token\n")
        answers.stdin.flush()
        given = json.loads(answers.stdout.readline())
        attempt = student.submit("first-token", given["round"], given["post"])
        panel = panel_of(student.get(STEP).text)
        if panel["live"] == "yes":
            kinds += [said["kind"] for said in followed(cluster, student, panel)]
    assert kinds.count("tokens") > 5
    page = student.get(f"/attempts/{attempt}/")
    assert panel_of(page.text)["state"] == "graded", page.text[:2000]
    answers.stdin.close()


def test_both_web_processes_serve_and_know_who_comes(cluster: Cluster) -> None:
    """The address that the sites know is the visitor's, not the proxy's; a claimed one is not believed."""
    claimed = {"X-Forwarded-For": "203.0.113.9, 127.0.0.1"}
    student = cluster.log_in("lee")
    for _ in range(20):
        assert student.http.get("/", headers=claimed).status_code == 200
    logs = [(cluster.folder / "log" / f"access-{number}.log").read_text() for number in (1, 2)]
    assert all("GET /" in log for log in logs)
    assert not any("203.0.113.9" in log for log in logs)


def test_static_files_come_from_the_proxy_and_are_the_same(cluster: Cluster) -> None:
    student = cluster.log_in("park")
    found = re.search(r'href="(/static/[^"]+\.css)"', student.get("/").text)
    assert found
    first, again = (student.http.get(found[1]) for _ in range(2))
    assert first.status_code == 200 and first.content == again.content
    assert "immutable" in again.headers["cache-control"]


# Both web processes, one after the other: what the proxy remembers of the first tells with the second.
RESTARTED = ("web-1", "web-2", "drive-1", "valkey", "postgres")


def test_nothing_is_lost_while_everything_is_restarted_and_the_database_crashes_under_a_class(
    cluster: Cluster,
) -> None:
    words = ["--on", str(cluster.folder), "--students", "12", "--minutes", "0.1", "--logins", "1"]
    words += ["--think-s", "0.5", "1.5", "--restart", *RESTARTED]
    # A process of its own: there Django is the topology's, here it is the tests'.
    environ = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.drills.load", *words],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    said = done.stdout + done.stderr[-3000:]
    # Its times are the machine's; what must hold anywhere:
    for what in (
        "attempts and pages lost",
        "events lost in silence",
        "right answers that failed",
        "sockets that were refused",
    ):
        assert re.search(rf"\| {what}[^|]*\| 0 \| PASS \|", done.stdout), said
    for name in RESTARTED:
        assert f"| {name} | " in done.stdout, said
