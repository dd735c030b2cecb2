"""`python -m tests.fakellama --port P`: runs until a signal ends it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Sequence

from tests.fakellama.app import App
from tests.fakellama.connection import Connection
from tests.fakellama.settings import Settings, from_arguments, parser

_PR_SET_PDEATHSIG = 1


async def serve(settings: Sequence[Settings]) -> None:
    """Every server in this process has its own slots, counters and faults."""
    loop = asyncio.get_running_loop()
    apps = [App(each) for each in settings]
    engines = [loop.create_task(app.engine.run()) for app in apps]
    for app in reversed(apps):  # the first port last: whoever finds it open finds all of them
        await loop.create_server(
            lambda app=app: Connection(app.handle),  # type: ignore[misc]
            app.settings.host,
            app.settings.port,
            backlog=256,
        )
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    ended = loop.create_task(stopped.wait())
    done, _ = await asyncio.wait([ended, *engines], return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()  # an engine ends only by an error


def main(argv: list[str] | None = None) -> int:
    got = parser().parse_args(argv)
    if got.die_with_parent is not None and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != got.die_with_parent:
            return 1
    if got.log is not None:
        got.log.parent.mkdir(parents=True, exist_ok=True)
    asyncio.run(serve([from_arguments(got, number) for number in range(got.count)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
