"""Thirty streams at the speed of a real server, from one process, on a part of one core."""

from __future__ import annotations

import os
import random
import re
import selectors
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from labs.llama.process import free_port
from tests.fakellama.process import FakeServer
from tests.fakellama.raw import send

STREAMS, TOKENS = 30, 120
OUTPUT_MS = 9.0
PIECE = re.compile(rb'"predicted_n":(\d+)')


def free_ports(count: int) -> int:
    """The first of so many neighbours that nobody listens on, below those that the system hands out."""
    for first in random.sample(range(20_000, 32_000, count), 50):
        try:
            return min([free_port(port=first + i) for i in range(count)])
        except OSError:
            continue
    raise AssertionError("no free ports")


def cpu_s(pid: int) -> float:
    """Processor time of a process; Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_all(urls: list[str]) -> list[bytes]:
    """What every stream said; they run at once."""
    asked = {
        "messages": [{"role": "user", "content": "Tell me a story."}],
        "max_tokens": TOKENS,
        "ignore_eos": True,
        "stream": True,
        "timings_per_token": True,
    }
    socks = [send(url, "POST", "/v1/chat/completions", asked) for url in urls]
    found = [b""] * len(socks)
    with selectors.DefaultSelector() as waiting:
        for number, sock in enumerate(socks):
            waiting.register(sock, selectors.EVENT_READ, number)
        while waiting.get_map():
            for key, _ in waiting.select(10):
                data = socks[key.data].recv(65536)
                found[key.data] += data
                if not data:
                    waiting.unregister(key.fileobj)
                    socks[key.data].close()
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time is read from /proc")
@pytest.mark.parametrize("as_servers", [False, True], ids=["slots of one server", "servers of one process"])
def test_thirty_streams(tmp_path: Path, as_servers: bool) -> None:
    many = ("--count", str(STREAMS)) if as_servers else ("--slots", str(STREAMS), "--ctx", str(STREAMS * 512))
    flags = (*many, "--prompt-ms", "0.5", "--output-ms", str(OUTPUT_MS))
    first = free_ports(STREAMS) if as_servers else free_port()
    with FakeServer(tmp_path, *flags, port=first) as server:
        host = urlsplit(server.base_url).hostname
        urls = [f"http://{host}:{first + i if as_servers else first}" for i in range(STREAMS)]
        before_s, began_s = cpu_s(server.pid), time.perf_counter()
        said = read_all(urls)
        wall_s, used_s = time.perf_counter() - began_s, cpu_s(server.pid) - before_s
    for data in said:
        assert int(PIECE.findall(data)[-1]) == TOKENS
        assert data.endswith(b"0\r\n\r\n")
    least_s = (TOKENS - 1) * OUTPUT_MS / 1000
    assert wall_s > least_s, "faster than it says"
    assert used_s < 0.75 * wall_s, f"{used_s:.2f} s of a core in {wall_s:.2f} s"
