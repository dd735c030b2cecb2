"""What the bench stands on: a llama-server, a Valkey, the relay, and the driver as the worker builds it."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from labs.live.topics import Publisher
from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.llama.stream import Limits
from labs.measure.control import Control
from labs.measure.drive import Driver
from labs.measure.plan import Ask, Hold, Plan
from labs.measure.recording import Recording, ServerFacts
from tests.live.servers import Server, Valkey

# About 60 tokens: a prefill long enough to be one, short enough to see a millisecond beside it.
TEXT = "The harbour of Port Main was opened in 1887. It has four piers of granite and one of oak. "
MAX_TOKENS = 16
LONG_TOKENS = 96  # more than three prefills take
SLOTS = 4
LIMITS = Limits(60, 30, 120)
_SERIAL = itertools.count(1)


class Relay(Server):
    def __init__(self, folder: Path, upstream_port: int) -> None:
        super().__init__(folder / "relay.log")
        self.out = folder / "relay.jsonl"
        self._upstream_port = upstream_port

    def command(self) -> list[str]:
        here = [sys.executable, "-m", "tests.measure.bench.relay"]
        return [*here, str(self.port), str(self._upstream_port), str(self.out)]

    def count(self) -> int:
        return len(self.out.read_bytes().splitlines()) if self.out.exists() else 0

    def lines(self, tags: Sequence[str]) -> dict[str, dict[str, float]]:
        """By tag; waits until all are written (a line is written after its stream's last byte)."""
        until_s = time.monotonic() + 5
        while True:
            text = self.out.read_text() if self.out.exists() else ""
            found = {line["tag"]: line for line in map(json.loads, text.splitlines())}
            if all(tag in found for tag in tags) or time.monotonic() > until_s:
                return {tag: found[tag] for tag in tags if tag in found}
            time.sleep(0.02)


@dataclass
class Rig:
    """SLOTS slots, so that as many streams can run at once."""

    folder: Path
    llama: EmbeddedServer
    valkey: Valkey
    relay: Relay
    publisher: Publisher = field(init=False)
    direct: LlamaClient = field(init=False)
    relayed: LlamaClient = field(init=False)

    def __post_init__(self) -> None:
        self.publisher = Publisher(self.valkey.url)
        self.direct = LlamaClient(self.llama.base_url)
        self.relayed = LlamaClient(f"http://127.0.0.1:{self.relay.port}")

    @property
    def port(self) -> int:
        return int(self.llama.base_url.rpartition(":")[2])

    def drive(
        self, client: LlamaClient, count: int, *, slot: int = 0, control: Control | None = None
    ) -> dict[str, Recording]:
        """`count` asks, one after another."""
        return self.drive_plan(client, Plan(tuple(tagged(slot) for _ in range(count))), control)

    def drive_plan(
        self, client: LlamaClient, plan: Plan, control: Control | None = None
    ) -> dict[str, Recording]:
        """As the worker runs it: the real publisher takes the events."""
        topic = self.publisher.topic(uuid.uuid4(), 1)
        driver = Driver(
            client,
            emit=topic.put,
            control=control or Control(),
            limits=LIMITS,
            facts=ServerFacts(batch=128, prompt_ms_per_token=4.5),
        )
        drive = driver.run(plan, random.Random(1))
        # With several drivers on one server each is a stranger to the others.
        if drive.outcome not in ("recorded", "disturbed"):
            raise RuntimeError(f"{drive.outcome} {drive.reason}: {drive.detail}")
        return dict(drive.record.recordings)


def tagged(slot: int) -> Ask:
    """An ask that the relay can name, and that finds nothing in the cache."""
    tag = f"tag-{next(_SERIAL)}-{uuid.uuid4().hex[:6]}"
    message = {"role": "user", "content": f"{TEXT}How many piers are there? ({tag})"}
    return Ask(tag, (message,), MAX_TOKENS, slot=slot, cache=False, ignore_eos=True)


def overlapping(count: int) -> Plan:
    """One ask a slot, all at once: the last is read to its end, the others stay open meanwhile and are read too."""
    *others, last = (replace(tagged(slot), max_tokens=LONG_TOKENS) for slot in range(count))
    return Plan((*(replace(ask, end=Hold(until=last.key, read=True)) for ask in others), last))


@contextmanager
def rig() -> Iterator[Rig]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-measure-")))
        llama = stack.enter_context(EmbeddedServer(folder / "llama", "--slots", str(SLOTS)))
        valkey = stack.enter_context(Valkey(folder))
        relay = stack.enter_context(Relay(folder, int(llama.base_url.rpartition(":")[2])))
        yield Rig(folder, llama, valkey, relay)
