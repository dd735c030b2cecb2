"""`python -m labhub_voice.web ...`: daphne with its own options, and an end that leaves nobody in the middle.

Told to end (SIGTERM), it takes no new connection, tells its sockets to come back (they resume elsewhere by their last
event), answers the requests that it has begun, and ends: within a moment, after END_LIMIT_S at the latest. daphne by
itself breaks off all of them, and a student's POST that was committed would be answered by the proxy's 502.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from select import select
from typing import Any

from daphne.cli import CommandLineInterface
from daphne.http_protocol import WebRequest
from daphne.server import Server
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor as _reactor
from twisted.internet.defer import Deferred

from labs.live.outbox import TransportOutbox
from labs.start import settle

log = logging.getLogger(__name__)
reactor: Any = _reactor  # a module to the type checker, the installed reactor in truth

END_LIMIT_S = 10.0
LOOK_EVERY_S = 0.02
# A connection that was accepted in the last moment has yet to say what it wants.
LEAST_S = 0.25
COME_BACK = 4013
READINGS = 100
# The loop gives the interpreter away with every read and write, and gets it back from a thread that draws a page only
# after this time. With Python's own 5 ms a few pages at once made tokens seconds late (docs/load.md).
SWITCH_S = 0.0005


class GracefulServer(Server):
    """Twisted waits for what its 'before shutdown' triggers give back, and goes on serving meanwhile."""

    def run(self) -> None:
        self._ports: list[Any] = []
        settle()
        sys.setswitchinterval(SWITCH_S)
        super().run()

    def listen_success(self, port: Any) -> None:
        self._ports.append(port)
        super().listen_success(port)

    def kill_all_applications(self) -> Deferred[Any]:
        """daphne's trigger for the end: what it would break off is let finish first."""
        ending: Deferred[Any] = Deferred.fromFuture(asyncio.ensure_future(self._finish()))
        return ending.addBoth(lambda _: self._kill_the_rest())

    async def _finish(self) -> None:
        began_s = time.monotonic()
        for port in self._ports:
            for _ in range(READINGS):
                if not select([port.fileno()], [], [], 0)[0]:
                    break
                port.doRead()  # who waits in the system's queue would be reset; one reading takes only some of them
            port.stopListening()
        sockets = self._open(WebSocketProtocol)
        for socket in sockets:
            if socket.state == socket.STATE_OPEN:
                TransportOutbox(socket).close(COME_BACK)
        while (spent_s := time.monotonic() - began_s) < END_LIMIT_S:
            if spent_s > LEAST_S and not self._open(WebRequest) and not _unsent():
                break
            await asyncio.sleep(LOOK_EVERY_S)
        left = len(self._open(WebRequest))
        log.info("web: told %d sockets to come back; %d requests broken off", len(sockets), left)

    def _open(self, kind: type[Any]) -> list[Any]:
        return [
            one
            for one, about in self.connections.items()
            if isinstance(one, kind) and "disconnected" not in about
        ]

    def _kill_the_rest(self) -> Deferred[Any]:
        running = [about.get("application_instance") for about in self.connections.values()]
        tasks = [task for task in running if task is not None and not task.done()]
        for task in tasks:
            task.cancel()
        return Deferred.fromFuture(
            asyncio.ensure_future(asyncio.wait(tasks, timeout=1) if tasks else _nothing())
        )


async def _nothing() -> None: ...


def _unsent() -> bool:
    """Somebody still has bytes of ours to take."""
    return bool(reactor.getWriters())


class Web(CommandLineInterface):
    server_class = GracefulServer

    def __init__(self) -> None:
        super().__init__()
        # No access log of daphne's: it would write login links down. labs.views.request_id writes a line a request.
        self.parser.set_defaults(verbosity=0)


if __name__ == "__main__":
    Web.entrypoint()
