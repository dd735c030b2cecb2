"""What a server's log says about how it was started. Its wording changes between builds: what is not found is not
known, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from labs.llama.log import readable_ends

_FLAG = re.compile(r" --([a-z-]+)(?: (\S+))?")
_OWN = re.compile(r"^llama-server (--.*)$")
_HOST_CACHE = re.compile(r"prompt cache is enabled, size limit: (\d+) MiB")
_THREADS = re.compile(r"\bn_threads = (\d+)")
_UNIFIED = re.compile(r"kv_unified = '?(true|false)")
_NUMBERS = {
    "threads": "threads",
    "batch-size": "batch",
    "cache-ram": "cache_ram_mib",
    "cache-reuse": "cache_reuse",
}


@dataclass(frozen=True, slots=True)
class Startup:
    """None: the log does not say."""

    threads: int | None = None
    batch: int | None = None
    cache_ram_mib: int | None = None
    cache_reuse: int | None = None
    is_unified: bool | None = None


def read_startup(path: Path) -> Startup:
    """Of the newest start that can be seen in the log's first and last part."""
    found: dict[str, int | bool] = {}
    for line in readable_ends(path):
        if own := _OWN.match(line):
            found = {
                _NUMBERS[name]: int(value)
                for name, value in _FLAG.findall(f" {own[1]}")
                if name in _NUMBERS and value.lstrip("-").isdecimal()
            }
        elif cache := _HOST_CACHE.search(line):
            found["cache_ram_mib"] = int(cache[1])
        elif threads := _THREADS.search(line):
            found["threads"] = int(threads[1])
        elif unified := _UNIFIED.search(line):
            found["is_unified"] = unified[1] == "true"
    return Startup(**found)  # type: ignore[arg-type]  # the names are the fields', the values of their kind
