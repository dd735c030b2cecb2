"""deploy/kubernetes/ holds to Kubernetes' own schemas, says the same as docker-compose.yml, and holds no secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.scripts.running import ROOT

Json = dict[str, Any]
FILES = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
# The oldest that is still cared for, and the newest that is known here.
VERSIONS = ("1.34", "1.37")


def objects(path: Path) -> list[Json]:
    return list(yaml.safe_load_all(path.read_text()))


ALL = [found for path in FILES for found in objects(path)]


def by_name(kind: str) -> dict[str, Json]:
    return {found["metadata"]["name"]: found for found in ALL if found["kind"] == kind}


def pods() -> Iterator[tuple[str, Json]]:
    for found in ALL:
        if found["kind"] in {"Deployment", "StatefulSet", "Job"}:
            yield found["metadata"]["name"], found["spec"]["template"]["spec"]


PODS = dict(pods())


@pytest.fixture(scope="module")
def compose() -> Json:
    found: Json = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_take_it(path: Path, version: str) -> None:
    for found in objects(path):
        kubernetes_validate.validate(found, version, strict=True)


def test_the_schemas_would_refuse_what_is_wrong() -> None:
    wrong = {**by_name("Deployment")["web"], "spec": {"replicas": "two"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_everything_that_compose_starts_but_the_proxy(compose: Json) -> None:
    assert set(PODS) == set(compose["services"]) - {"proxy"}


@pytest.mark.parametrize("name", ["web", "drive", "background", "sweep", "migrate"])
def test_the_same_commands(compose: Json, name: str) -> None:
    assert PODS[name]["containers"][0]["command"] == compose["services"][name]["command"].split()


def test_the_same_llama_server(compose: Json) -> None:
    words = [word for word in compose["services"]["llama"]["command"] if "LABHUB_MODEL_FILE" not in word]
    ours = [word for word in PODS["llama"]["containers"][0]["args"] if not word.endswith(".gguf")]
    assert ours == words


def test_the_same_images(compose: Json) -> None:
    for name in ("postgres", "valkey", "llama"):
        assert PODS[name]["containers"][0]["image"] == compose["services"][name]["image"]


def test_the_llama_server_has_its_processors_and_its_memory_alone() -> None:
    resources = PODS["llama"]["containers"][0]["resources"]
    assert resources["requests"] == resources["limits"] == {"cpu": "2", "memory": "2Gi"}


def test_everybody_is_bounded_and_has_no_right_that_is_not_needed() -> None:
    for name, pod in PODS.items():
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        for container in pod["containers"]:
            own = container["securityContext"]
            assert own["readOnlyRootFilesystem"] is True and own["allowPrivilegeEscalation"] is False, name
            assert own["capabilities"] == {"drop": ["ALL"]}, name
            assert "memory" in container["resources"]["limits"], name


def test_who_answers_is_asked() -> None:
    for name, pod in PODS.items():
        probes = {"readinessProbe", "livenessProbe"} & set(pod["containers"][0])
        expected = {"sweep": 0, "migrate": 0, "drive": 1, "background": 1}.get(name, 2)
        assert len(probes) == expected, name


def test_there_is_time_to_end() -> None:
    graces = {name: pod.get("terminationGracePeriodSeconds", 30) for name, pod in PODS.items()}
    assert graces["web"] >= 6 + 10 + 5  # its pause before, its own limit, a little more
    assert graces["drive"] >= 120


def test_secrets_are_named_and_not_held() -> None:
    assert "Secret" not in {found["kind"] for found in ALL}
    drawn = {"secret_key", "database_url", "redis_url", "valkey_conf", "valkey_password", "postgres_password"}
    drawn |= {"metrics_token", "oidc_secret"}
    for name, pod in PODS.items():
        for volume in pod.get("volumes", []):
            for item in volume.get("secret", {}).get("items", []):
                assert item["key"] in drawn, name
    for value in by_name("ConfigMap")["labhub"]["data"].items():
        assert not value[0].endswith(("KEY", "URL", "PASSWORD")), value[0]


def test_who_may_speak_with_whom_is_said_of_everybody() -> None:
    policies = by_name("NetworkPolicy")
    assert policies["nobody"]["spec"]["podSelector"] == {}
    for name in ("postgres", "valkey", "llama"):
        assert policies[name]["spec"]["egress"] == []
        assert policies[name]["spec"]["ingress"][0]["from"] == [
            {"podSelector": {"matchLabels": {"part": "app"}}}
        ]


def test_a_service_finds_its_pods_and_a_volume_its_claim() -> None:
    labels = {
        found["metadata"]["name"]: found["spec"]["template"]["metadata"]["labels"]
        for found in ALL
        if "template" in found.get("spec", {})
    }
    for name, service in by_name("Service").items():
        assert service["spec"]["selector"].items() <= labels[name].items()
    claims = set(by_name("PersistentVolumeClaim"))
    for pod in PODS.values():
        for volume in pod.get("volumes", []):
            if claim := volume.get("persistentVolumeClaim"):
                assert claim["claimName"] in claims
