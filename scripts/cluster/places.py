"""How many of what, and where each of them listens."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from scripts.supervisor.topology import HOST, free_port


@dataclass(frozen=True, slots=True)
class Size:
    """`scale` is of the fake servers' time a token; `real`: embedded servers instead of fake ones."""

    web: int = 2
    workers: int = 3
    endpoints: int = 2
    real: bool = False
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Places:
    """Ports on loopback. They are chosen by asking for a free one: for a rehearsal, where nobody takes them between."""

    proxy: int
    postgres: int
    valkey: int
    web: list[int]
    llama: list[int]

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.proxy}/"

    @property
    def web_urls(self) -> list[str]:
        return [f"http://{HOST}:{port}/" for port in self.web]

    @property
    def llama_urls(self) -> list[str]:
        return [f"http://{HOST}:{port}" for port in self.llama]


def choose(size: Size) -> Places:
    return Places(
        proxy=free_port(),
        postgres=free_port(),
        valkey=free_port(),
        web=[free_port() for _ in range(size.web)],
        llama=[free_port() for _ in range(size.endpoints)],
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--web", type=int, default=2, help="web processes")
    parser.add_argument("--workers", type=int, default=3, help="drive workers, four threads each")
    parser.add_argument("--endpoints", type=int, default=2, help="llama-servers")
    parser.add_argument("--real", action="store_true", help="embedded llama-servers instead of fake ones")
    parser.add_argument("--scale", type=float, default=1.0, help="of a fake's time a token (4.5 and 9 ms)")


def size_of(got: argparse.Namespace) -> Size:
    return Size(got.web, got.workers, got.endpoints, got.real, got.scale)
