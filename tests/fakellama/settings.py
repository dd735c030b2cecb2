"""How a fake server is started: the embedded server's flags, and its speed."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

PROMPT_MS, OUTPUT_MS = 4.5, 9.0  # of the lab's small model on two quiet cores


@dataclass(frozen=True, slots=True)
class Settings:
    """`ctx` is shared out among the slots. `scale` makes computing faster (0.1: ten times) and nothing else."""

    port: int
    host: str = "127.0.0.1"
    prompt_ms: float = PROMPT_MS
    output_ms: float = OUTPUT_MS
    scale: float = 1.0
    slots: int = 2
    ctx: int = 8192
    batch: int = 128
    cache_ram_mib: int = 0
    show_slots: bool = True
    show_metrics: bool = True
    can_erase: bool = True
    api_key: str | None = None
    answer: str = ""
    log: Path | None = None

    @property
    def n_ctx(self) -> int:
        return self.ctx // self.slots

    def step_s(self, prompt_tokens: int, writes: bool) -> float:
        """How long one pass through the model takes: the prompt tokens in it, and one token for each that writes.
        A pass is never shorter than that one token."""
        prompt_ms = prompt_tokens * self.prompt_ms
        ms = prompt_ms + self.output_ms if writes else max(prompt_ms, self.output_ms)
        return ms * self.scale / 1000


def parser() -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(prog="python -m tests.fakellama", description=__doc__)
    own.add_argument("--port", type=int, required=True)
    own.add_argument("--count", type=int, default=1, help="servers in this process, on ports P, P+1, ...")
    own.add_argument("--host", default="127.0.0.1")
    own.add_argument("--prompt-ms", type=float, default=PROMPT_MS, help="reading one prompt token")
    own.add_argument("--output-ms", type=float, default=OUTPUT_MS, help="writing one token")
    own.add_argument("--scale", type=float, default=1.0, help="multiplies both")
    own.add_argument("--slots", type=int, default=2)
    own.add_argument("--ctx", type=int, default=8192)
    own.add_argument("--batch", type=int, default=128)
    own.add_argument(
        "--cache-ram", type=int, default=0, metavar="MIB", help="more than 0: old prompts come back"
    )
    own.add_argument("--slot-save-path", type=Path, help="slots can be emptied only with it")
    own.add_argument("--api-key", help="better in the environment, as LLAMA_API_KEY")
    own.add_argument("--answer", default="", help="what it says, instead of sentences of its own")
    own.add_argument("--no-slots", action="store_true")
    own.add_argument("--no-metrics", action="store_true")
    own.add_argument("--log", type=Path)
    own.add_argument("--die-with-parent", type=int, metavar="PID")
    return own


def from_arguments(got: argparse.Namespace, number: int = 0) -> Settings:
    """The settings of the `number`th server of the process."""
    return Settings(
        port=got.port + number,
        host=got.host,
        prompt_ms=got.prompt_ms,
        output_ms=got.output_ms,
        scale=got.scale,
        slots=got.slots,
        ctx=got.ctx,
        batch=got.batch,
        cache_ram_mib=got.cache_ram,
        show_slots=not got.no_slots,
        show_metrics=not got.no_metrics,
        can_erase=got.slot_save_path is not None,
        api_key=got.api_key or os.environ.get("LLAMA_API_KEY") or None,
        answer=got.answer,
        log=got.log,
    )
