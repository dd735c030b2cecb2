"""The Python texts of the step, kept as text: nothing here is imported or run by the server."""

from __future__ import annotations

from pathlib import Path


def source(name: str) -> str:
    """`starter`, `terminal` (what a download adds to the starter) or `solution`."""
    return (Path(__file__).parent / f"{name}.py.txt").read_text(encoding="utf-8")
