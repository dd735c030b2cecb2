"""Headers of static files. The sealed worker is sealed by its own response: a worker takes its policy from there."""

from __future__ import annotations

from wsgiref.headers import Headers

# No network, no origin of scripts, no eval; WebAssembly compiles. The worker itself refuses to start without this.
SEALED = "default-src 'none'; script-src 'wasm-unsafe-eval'"


def add_headers(headers: Headers, path: str, url: str) -> None:
    if url.rpartition("/")[2].startswith("sandbox.") and "/build/" in url:
        headers["Content-Security-Policy"] = SEALED
