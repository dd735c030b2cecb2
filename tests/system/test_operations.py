"""What an admin has of the whole product while it runs: figures of every process, one story in the logs, a copy."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.system.site import ROOT, Site, Visitor, wait_for
from tests.system.test_faults import is_over, leave

pytestmark = [pytest.mark.server, pytest.mark.slow]

REQUEST = "told-by-the-test-1"


def figures(admin: Visitor) -> dict[str, list[tuple[dict[str, str], float]]]:
    answer = admin.get("/metrics")
    assert answer.status_code == 200
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_figures_logs_and_a_copy_of_a_run(site: Site, tmp_path: Path) -> None:
    student, admin = site.log_in("park"), site.log_in("admin")
    student.http.headers["X-Request-ID"] = REQUEST
    attempt = student.submit("cache-reuse", "again", {"repeat_prompt_n": "1"})
    del student.http.headers["X-Request-ID"]
    assert student.wait_for(attempt, is_over)["state"]["state"] == "open"

    def counted() -> bool:
        found = figures(admin)
        roles = {labels["role"] for labels, _ in found["labhub_process_seen_timestamp_seconds"]}
        asks = sum(value for _, value in found.get("labhub_ttft_seconds_count", []))
        return roles == {"web", "drive", "background", "sweep"} and asks >= 2

    wait_for(counted, 20, lambda: admin.get("/metrics").text[:3000])
    found = figures(admin)
    assert {"labhub_queue_age_seconds", "labhub_lease_wait_seconds_count", "labhub_disturbed_ratio"} <= set(
        found
    )
    [(_, swept_at)] = found["labhub_sweep_last_pass_timestamp_seconds"]
    assert swept_at > 0
    assert student.get("/metrics").status_code == 404

    web, drive = ((site.folder / "log" / f"{name}.log").read_text() for name in ("web", "drive"))
    assert [line for line in web.splitlines() if f"request={REQUEST} attempt={attempt}" in line]
    ran = [line for line in drive.splitlines() if f"attempt={attempt} run=1 worker=" in line]
    assert "run begins" in ran[0]
    assert "run ends: recorded" in ran[-1]

    environ = {**os.environ, "LABHUB_STATE_DIR": str(site.folder)}
    environ.pop("DATABASE_URL", None)

    def script(*words: str) -> str:
        done = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    script("scripts/backup", str(tmp_path))
    [copy] = tmp_path.glob("labhub-*.sqlite3")
    assert "restored and compared" in script(
        "scripts/restore", str(copy), "--into", f"sqlite://{tmp_path}/empty/labhub.sqlite3"
    )
    leave(student, attempt)
