"""docker-compose.yml says the same as scripts/run, with no secret in it and nothing open to the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from labs.llama.flags import Flags
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


def test_the_same_processes(compose: Json, local: dict[str, Command]) -> None:
    assert set(compose["services"]) == set(local) | {"postgres", "migrate"}


@pytest.mark.parametrize("queue", ["drive", "background"])
def test_the_same_workers(compose: Json, local: dict[str, Command], queue: str) -> None:
    words = local[queue].words
    ours = words[words.index("worker") :]
    assert compose["services"][queue]["command"].split()[3:] == ours


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
    assert (service["cpus"], service["mem_limit"]) == (2, "2g")


def test_only_the_web_port_is_published_and_on_loopback(compose: Json) -> None:
    published = {
        name: service["ports"] for name, service in compose["services"].items() if "ports" in service
    }
    assert list(published) == ["web"]
    assert all(port.startswith("127.0.0.1:") for port in published["web"])


def test_secrets_come_from_files(compose: Json) -> None:
    for service in compose["services"].values():
        for name in service.get("environment", {}):
            if re.search("KEY|PASSWORD|DATABASE_URL", name):
                assert name.endswith("_FILE"), name
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())


def test_everything_that_answers_is_asked_for_its_health(compose: Json) -> None:
    for name, service in compose["services"].items():
        assert name == "migrate" or "healthcheck" in service
