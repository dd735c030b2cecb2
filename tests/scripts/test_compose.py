"""docker-compose.yml says the same as scripts/run and scripts/topology, with no secret in it, nothing open to the
network, and as little right as possible."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from labs.llama.flags import Flags
from scripts.cluster import proxy
from scripts.cluster.commands import commands as cluster_commands
from scripts.cluster.places import Size, choose
from scripts.supervisor.state import StateDir
from scripts.supervisor.topology import Command, choose_places, commands
from tests.scripts.running import ROOT

Json = dict[str, Any]


@pytest.fixture(scope="module")
def compose() -> Json:
    found: Json = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


@pytest.fixture
def local(tmp_path: Path) -> dict[str, Command]:
    places = choose_places(None)
    with places.web_socket:
        return {command.name: command for command in commands(StateDir(tmp_path), places, {})}


@pytest.fixture
def cluster(tmp_path: Path) -> dict[str, Command]:
    """Of several, the first."""
    found = cluster_commands(StateDir(tmp_path), choose(Size()), Size(), {})
    return {
        command.name.removesuffix("-1"): command
        for command in found
        if not re.search("-[2-9]$", command.name)
    }


@pytest.mark.skipif(
    shutil.which("docker-compose") is None, reason="docker-compose is not installed (.ci/run does)"
)
def test_its_own_program_takes_it(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    shutil.copy(ROOT / "docker-compose.yml", tmp_path)
    done = subprocess.run(
        ["docker-compose", "config"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert set(yaml.safe_load(done.stdout)["services"]) >= {"proxy", "web", "drive", "llama"}


def test_the_same_processes(compose: Json, local: dict[str, Command], cluster: dict[str, Command]) -> None:
    assert set(compose["services"]) == set(local) | {"postgres", "migrate", "proxy"}
    assert set(compose["services"]) == set(cluster) | {"postgres", "migrate"}


@pytest.mark.parametrize("queue", ["drive", "background"])
def test_the_same_workers(compose: Json, local: dict[str, Command], queue: str) -> None:
    words = local[queue].words
    ours = words[words.index("worker") :]
    assert compose["services"][queue]["command"].split()[3:] == ours


def test_the_same_web(compose: Json, local: dict[str, Command], cluster: dict[str, Command]) -> None:
    words = compose["services"]["web"]["command"].split()
    both = {"-m", "labhub_voice.web", "labhub_voice.asgi:application", "--websocket_connect_timeout", "20"}
    assert both <= set(words) & set(local["web"].words) & set(cluster["web"].words)
    assert "--proxy-headers" in words and "--proxy-headers" in cluster["web"].words
    assert "--proxy-headers" not in local["web"].words  # there is none to believe


def test_the_same_llama_server(compose: Json) -> None:
    service = compose["services"]["llama"]
    words = list(service["command"])
    assert words[-2:] == ["--log-file", "/var/log/llama/server.log"]
    model = words[words.index("--model") + 1]
    flags = Flags(port=8080, model=Path(model), threads=2, host="0.0.0.0", slot_save_path=Path("/slots"))
    ours = flags.argv()
    # A compose file cannot cut the suffix off.
    ours[ours.index("--alias") + 1] = model.removeprefix("/models/")
    assert words[:-2] == ours
    assert (service["cpus"], service["mem_limit"], service["memswap_limit"]) == (2, "2g", "2g")


def test_the_proxy_takes_its_file(compose: Json, tmp_path: Path) -> None:
    done = subprocess.run(
        proxy.check_command(tmp_path, choose(Size())), capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "labhub.conf").read_text()
    given = set(re.findall(r"\$\{(\w+)\}", proxy.TEMPLATE.read_text()))
    assert given == set(compose["services"]["proxy"]["environment"])
    assert "${" not in written


def test_only_the_proxy_is_published_and_on_loopback(compose: Json) -> None:
    published = {
        name: service["ports"] for name, service in compose["services"].items() if "ports" in service
    }
    assert list(published) == ["proxy"]
    assert all(port.startswith("127.0.0.1:") for port in published["proxy"])


def test_the_database_the_broker_and_the_model_reach_nobody_outside(compose: Json) -> None:
    inside = {name for name, network in compose["networks"].items() if (network or {}).get("internal")}
    for name in ("postgres", "valkey", "llama"):
        assert set(compose["services"][name]["networks"]) <= inside


def test_secrets_come_from_files(compose: Json) -> None:
    for service in compose["services"].values():
        for name in service.get("environment", {}):
            if re.search("KEY|PASSWORD|DATABASE_URL|REDIS_URL", name):
                assert name.endswith("_FILE"), name
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())


def test_every_secret_it_names_is_drawn(compose: Json, tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "secrets", tmp_path / "scripts")
    subprocess.run([tmp_path / "scripts" / "secrets"], check=True, capture_output=True)
    drawn = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert {Path(secret["file"]).name for secret in compose["secrets"].values()} <= set(drawn)
    assert drawn["valkey_password"] in drawn["redis_url"]
    assert drawn["valkey_password"] in drawn["valkey_conf"]
    assert drawn["postgres_password"] in drawn["database_url"]
    subprocess.run([tmp_path / "scripts" / "secrets"], check=True, capture_output=True)
    assert {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()} == drawn


def test_everything_that_answers_is_asked_for_its_health(compose: Json) -> None:
    for name, service in compose["services"].items():
        assert name == "migrate" or "healthcheck" in service


def test_nobody_has_more_rights_than_needed(compose: Json) -> None:
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name


def test_a_run_that_is_measured_may_end_before_its_worker(compose: Json) -> None:
    patience = {name: service.get("stop_grace_period") for name, service in compose["services"].items()}
    assert (patience["web"], patience["drive"]) == ("20s", "2m")
