"""The topology of `scripts/topology` as tests and the load script use it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scripts.cluster.places import Size
from tests.system.site import Site


class Cluster(Site):
    """`times` are environment variables for all of its processes."""

    def __init__(
        self, folder: Path, size: Size | None = None, times: Mapping[str, str] | None = None
    ) -> None:
        size = size or Size()
        words = ["-m", "scripts.cluster", "--state", str(folder), "--web", str(size.web)]
        words += [
            "--workers",
            str(size.workers),
            "--endpoints",
            str(size.endpoints),
            "--scale",
            str(size.scale),
        ]
        super().__init__(folder, times or {}, [*words, *(["--real"] if size.real else [])])

    def environ(self) -> dict[str, str]:
        """What a process needs to be one of the topology's own."""
        files: dict[str, str] = self.state["environ"]
        own = {
            "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
            "LABHUB_DEMO": "1",
            "LABHUB_BEHIND_PROXY": "1",
        }
        return {**own, **files, "LABHUB_STATE_DIR": str(self.folder), "LABHUB_LOG_LEVEL": "ERROR"}
