"""An open page: what `static/labs/link.js` and `run.js` do with a live attempt, without drawing it.

A websocket that resumes by its last event id, polling of the same events beside it after two failures, and at the end
the fragment with the verdict. Nothing here reloads; what a reload would have been needed for is a problem.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import httpx
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from labs.live.events import START, EventId, gap_before

SILENCE_S = 25.0
POLL_S = 2.0
LONGEST_WAIT_S = 15.0
FAILURES_BEFORE_POLLING = 2
FETCH_TRIES = 6
FINAL_CODES = {4401, 4403, 4404}
WAITING = {"queued", "running"}

PANEL = re.compile(r'<aside class="run" id="run"[^>]*>', re.DOTALL)
FIELD = re.compile(r'data-([a-z-]+)="([^"]*)"')


def panel_of(html: str) -> dict[str, str]:
    """The run panel's `data-` fields; {} where the page has none."""
    found = PANEL.search(html)
    return dict(FIELD.findall(found[0])) if found else {}


class OpenPage:
    """`cookie` is the session. `wait` gives the state that the page showed at its end.

    `no_socket`: behind a proxy that lets no websocket through; such a page only ever polls.
    """

    def __init__(self, url: str, cookie: str, panel: Mapping[str, str], no_socket: bool = False) -> None:
        self.attempt = UUID(panel["attempt"])
        self.problems: list[str] = []
        self.reconnects = 0
        self.polls = 0
        self.resets = 0
        self.was_live = panel["live"] == "yes"
        self._url, self._panel, self._no_socket = url, panel, no_socket
        self._headers = {"Cookie": cookie}
        self._http = httpx.Client(base_url=url, timeout=SILENCE_S, headers=self._headers)
        self._lock = threading.Lock()
        self._last = EventId.parse(panel["after"])
        self._version = int(panel["version"])
        self._failures = 0
        self._polling = threading.Event()
        self._over = threading.Event()
        self._final = threading.Event()
        self._state = "" if self.was_live else panel["state"]
        if self._state:
            self._over.set()
            self._final.set()
        else:
            for loop in (self._hold_socket, self._poll, self._end):
                threading.Thread(target=loop, daemon=True).start()

    @property
    def is_open(self) -> bool:
        """It follows an attempt."""
        return not self._over.is_set()

    def wait(self, limit_s: float) -> str:
        """ "" where it did not come to an end in time."""
        self._final.wait(limit_s)
        return self._state

    def close(self) -> None:
        self._over.set()
        self._http.close()

    def _hold_socket(self) -> None:
        while not self._over.is_set():
            try:
                code = self._one_socket()
            except (OSError, TimeoutError, WebSocketException):
                code = 0
            if self._over.is_set():
                return
            if code in FINAL_CODES:
                self.problems.append(f"the socket of {self.attempt} was closed with {code}")
                self._over.set()
                return
            self.reconnects += 1
            self._failures += 1
            if self._failures >= FAILURES_BEFORE_POLLING:
                self._polling.set()
            self._over.wait(random.random() * min(LONGEST_WAIT_S, 0.5 * 2**self._failures))

    def _one_socket(self) -> int:
        """The close code, 0 where there was none."""
        if self._no_socket:
            raise ConnectionRefusedError
        after = self._last
        address = self._url.replace("http", "ws", 1) + f"{self._panel['socket']}?after={after}"
        socket = connect(
            address,
            additional_headers=self._headers,
            origin=Origin(self._url),
            compression=None,
            open_timeout=SILENCE_S,
            close_timeout=1,
            ping_interval=None,
        )
        closer = threading.Thread(target=self._close_when_over, args=(socket,), daemon=True)
        closer.start()
        with socket:
            try:
                while not self._over.is_set():
                    message = json.loads(socket.recv(timeout=SILENCE_S))
                    self._failures = 0
                    self._polling.clear()
                    after = self._check_order("socket", after, message)
                    self._take(message)
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd is not None else 0
        return 0

    def _close_when_over(self, socket: ClientConnection) -> None:
        self._over.wait()
        socket.close()

    def _poll(self) -> None:
        while not self._over.is_set():
            if not self._polling.wait(0.2):
                continue
            after = self._last
            try:
                said = self._http.get(f"{self._panel['events']}?after={after}")
            except (httpx.HTTPError, RuntimeError):  # no network, or we were closed
                said = None
            if said is not None and said.status_code in {302, 401, 403, 404}:
                self.problems.append(f"polling {self.attempt} was answered {said.status_code}")
                self._over.set()
                return
            if said is not None and said.status_code == 200 and self._polling.is_set():
                self._take_polled(after, said.json())
            self._over.wait(POLL_S)

    def _take_polled(self, after: EventId, said: Mapping[str, Any]) -> None:
        self.polls += 1
        for event in said["events"]:
            after = self._check_order("poll", after, event)
            self._take(event)
        with self._lock:
            self._last = max(self._last, EventId.parse(said["after"]))
        self._take({**said["state"], "kind": "state"})

    def _check_order(self, where: str, before: EventId, message: Mapping[str, Any]) -> EventId:
        """What one source says must come once, in order, and with its gaps announced. Returns where it is now."""
        if message["kind"] == "reset":
            self.resets += 1
            return max(before, EventId.parse(message["to"]))
        event_id = EventId.parse(message.get("id"))
        if message["kind"] in {"state", "finished", "ping"} or event_id == START:
            return before
        if event_id <= before:
            self.problems.append(f"{where} of {self.attempt}: {event_id} came after {before}")
        elif gap := gap_before(before, event_id):
            self.problems.append(
                f"{where} of {self.attempt}: {gap.first} to {gap.last} missing, not announced"
            )
        return max(before, event_id)

    def _take(self, message: Mapping[str, Any]) -> None:
        with self._lock:
            match message["kind"]:
                case "state":
                    if message["version"] >= self._version and message["state"] not in WAITING:
                        self._over.set()
                    self._version = max(self._version, message["version"])
                case "finished":
                    self._over.set()
                case "reset":
                    self._last = max(self._last, EventId.parse(message["to"]))
                case _:
                    self._last = max(self._last, EventId.parse(message.get("id")))

    def _end(self) -> None:
        """As run.js: the server's own fragment, tried six times."""
        self._over.wait()
        for tries in range(1, FETCH_TRIES + 1):
            try:
                said = self._http.get(self._panel["panel"].replace("&amp;", "&"))
            except (httpx.HTTPError, RuntimeError):
                said = None
            if said is not None and said.status_code == 200:
                self._state = panel_of(said.text).get("state", "")
                if self._state in WAITING:
                    self.problems.append(f"the page of {self.attempt} ended while it was {self._state}")
                self._final.set()
                self._http.close()
                return
            time.sleep(random.random() * 0.5 * 2**tries)
        self.problems.append(f"the page of {self.attempt} could not fetch its verdict in {FETCH_TRIES} tries")
        self._final.set()
