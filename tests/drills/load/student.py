"""One student among hundreds, on one event loop: looks, thinks, submits, follows, reads the verdict, and again."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Origin

from labs.live.events import START, EventId, gap_before
from tests.drills.load.people import Person
from tests.drills.load.tally import Tally
from tests.drills.page import FINAL_CODES, LONGEST_WAIT_S, SILENCE_S, WAITING, panel_of

CSRF = "c" * 32
AGAIN_S = 1.0
# A button is pressed again, and a page loaded again, for so long.
PATIENCE_S = 60.0
ASSET = re.compile(r'(?:src|href)="(/static/[^"]+)"')
Ask = Callable[..., Awaitable[Any]]


class Student:
    """`ask(function, *arguments)` runs a function of `people` in the process that makes the answers. `think_s` is a
    range that the thinking at a round is drawn from, half of it before and half after the run. `steps` are drawn from;
    a step that was begun is brought to its end."""

    def __init__(
        self,
        person: Person,
        url: str,
        http: httpx.AsyncClient,
        ask: Ask,
        tally: Tally,
        *,
        steps: Sequence[str],
        think_s: tuple[float, float],
        seed: int,
    ) -> None:
        self.person = person
        self.submitted: dict[uuid.UUID, uuid.UUID] = {}
        self._url, self._http, self._ask, self._tally = url, http, ask, tally
        self._steps, self._think_s = steps, think_s
        self._rng = random.Random(seed)
        self._session = person.cookie
        self._resting = asyncio.Event()
        self._waits_with: uuid.UUID | None = None
        self._found_its_end = False
        self.stopped: set[uuid.UUID] = set()

    async def stop_waiting(self, within_s: float) -> None:
        """Presses Stop where the attempt still waits in the queue: else the last one would rest after minutes."""
        await asyncio.sleep(self._rng.uniform(0, within_s))
        if (attempt := self._waits_with) is not None:
            self.stopped.add(attempt)
            await self._page("stop", f"/attempts/{attempt}/cancel", {})

    def rest(self) -> None:
        """After the round that is on its way."""
        self._resting.set()

    async def live(self, begins_in_s: float) -> None:
        from tests.drills.load import people

        try:
            await self._pause(begins_in_s)
            if self._resting.is_set():
                return
            if not self._session:
                await self._log_in()
            home = await self._page("home", "/")
            await self._assets(home.text)
            step: str | None = None
            while not self._resting.is_set():
                if step is None:  # else the panel brought the next round's form
                    step = self._rng.choice(self._steps)
                    await self._page("step", f"/courses/demo/steps/{step}/")
                think_s = self._rng.uniform(*self._think_s)
                await self._pause(think_s / 2)
                given = await self._ask(people.answers, self.person.name, step)
                if self._resting.is_set() or given is None:
                    step = None
                    continue
                state = await self._one_round(step, *given)
                step = step if state == "open" else None
                await self._pause(think_s / 2)
        except Exception as error:
            self._tally.problems.append(f"{self.person.name} gave up: {error!r}"[:600])

    async def _pause(self, seconds: float) -> None:
        """Ends early when it is time to rest."""
        try:
            await asyncio.wait_for(self._resting.wait(), seconds)
        except TimeoutError:
            return

    async def _log_in(self) -> None:
        await self._page("log-in form", "/login/")
        fields = {"username": self.person.name, "password": self.person.password}
        said = await self._page("log in", "/login/", fields)
        found = re.search(r"(sessionid=[^;]+)", said.headers.get("set-cookie", ""))
        assert said.status_code == 302 and found, f"log in: {said.status_code}"
        self._session = found[1]

    async def _assets(self, html: str) -> None:
        """What a browser fetches with its first page and keeps."""
        for path in sorted(set(ASSET.findall(html))):
            await self._page("static file", path)

    async def _one_round(self, step: str, round_key: str, post: Mapping[str, Any]) -> str:
        """The attempt's state as the student sees it in the end."""
        key = uuid.uuid4()
        path = f"/courses/demo/steps/{step}/"
        said = await self._page("submit", path, {"submit_key": str(key), "round": round_key, **post})
        if said.status_code == 409 and 'class="notice paused"' in said.text:
            self._tally.paused += 1  # a canary is red on every server: said before anything was sent
            await self._pause(5)
            return ""
        if said.status_code != 302:
            self._tally.problems.append(f"{self.person.name} {step}: {said.status_code} {_reason(said.text)}")
            await self._pause(5)
            return ""
        panel = panel_of((await self._page("step", path)).text)
        attempt = uuid.UUID(panel["attempt"])
        self.submitted[key] = attempt
        if panel["live"] == "yes":
            await self._follow(attempt, panel)
            fragment = await self._page("panel", panel["panel"].replace("&amp;", "&"))
            panel = panel_of(fragment.text)
        self._tally.ended += 1
        if panel.get("state") in WAITING:
            self._tally.problems.append(f"the page of {attempt} ended while it was {panel['state']}")
        return panel.get("state", "")

    async def _page(self, kind: str, path: str, post: Mapping[str, Any] | None = None) -> httpx.Response:
        """Again after no answer or a 5xx, as a person would; each of those is counted."""
        cookies = f"{self._session}; csrftoken={CSRF}" if self._session else f"csrftoken={CSRF}"
        headers = {"Cookie": cookies, "X-CSRFToken": CSRF, "Origin": self._url, "Referer": self._url}
        headers["Accept-Encoding"] = "gzip"
        until = time.monotonic() + PATIENCE_S
        while True:
            began = time.perf_counter()
            try:
                if post is None:
                    said = await self._http.get(path, headers=headers)
                else:
                    said = await self._http.post(path, headers=headers, data=dict(post))
            except httpx.TransportError as error:
                what = type(error).__name__
            else:
                if said.status_code < 500:
                    self._tally.pages_ms[kind].append((time.perf_counter() - began) * 1000)
                    if said.status_code >= 400 and kind != "submit":
                        self._tally.problems.append(f"{self.person.name} {kind} {path}: {said.status_code}")
                    return said
                what = str(said.status_code)
            self._tally.unanswered[f"{kind}: {what}"] += 1
            if time.monotonic() > until:
                raise AssertionError(f"{kind} {path} was not answered: {what}")
            await asyncio.sleep(AGAIN_S)

    async def _follow(self, attempt: uuid.UUID, panel: Mapping[str, str]) -> None:
        """As link.js: a socket that resumes by its last event, with waits that grow, until the run is over."""
        from tests.drills.load import people

        last, failures = EventId.parse(panel["after"]), 0
        self._found_its_end = False
        while True:
            is_over, last, failures = await self._one_socket(attempt, panel, last, failures)
            if is_over:
                break
            self._waits_with = None
            self._tally.reconnects += 1
            failures += 1
            await asyncio.sleep(self._rng.random() * min(LONGEST_WAIT_S, 0.5 * 2**failures))
        self._waits_with = None
        if self._found_its_end:  # said by the page: it was away
            self._tally.ended_away += 1
            return
        end = await self._ask(people.last_event, attempt)
        if end is not None and EventId(*end) > last:
            self._tally.tail_lost += 1

    async def _one_socket(
        self, attempt: uuid.UUID, panel: Mapping[str, str], last: EventId, failures: int
    ) -> tuple[bool, EventId, int]:
        """(the run is over, the last event, failures in a row)."""
        address = f"{self._url.replace('http', 'ws', 1)}{panel['socket']}?after={last}"
        options: dict[str, Any] = {"compression": None, "ping_interval": None, "open_timeout": SILENCE_S}
        headers = {"Cookie": self._session}
        try:
            async with connect(
                address, additional_headers=headers, origin=Origin(self._url), close_timeout=1, **options
            ) as socket:
                self._tally.sockets += 1
                opened_ms = time.time() * 1000
                for is_first in itertools.chain([True], itertools.repeat(False)):
                    text = await asyncio.wait_for(socket.recv(), SILENCE_S)
                    now_ms = time.time() * 1000
                    message = json.loads(text)
                    failures = 0
                    match message["kind"]:
                        case "state":
                            self._waits_with = attempt if message["state"] == "queued" else None
                            if (
                                message["version"] >= int(panel["version"])
                                and message["state"] not in WAITING
                            ):
                                self._found_its_end = is_first
                                return True, last, 0
                        case "finished":
                            return True, last, 0
                        case "reset":
                            self._tally.announced_gaps += 1
                            last = max(last, EventId.parse(message["to"]))
                        case _:
                            last = self._event(message, last, opened_ms, now_ms)
        except ConnectionClosed as closed:
            code = closed.rcvd.code if closed.rcvd is not None else 0
            self._tally.close_codes[code] += 1
            assert code not in FINAL_CODES, f"the socket was closed with {code}"
        except TimeoutError:
            self._tally.silences += 1
        except (OSError, WebSocketException):
            self._tally.refused += 1
        return False, last, failures

    def _event(self, message: Mapping[str, Any], last: EventId, opened_ms: float, now_ms: float) -> EventId:
        event_id = EventId.parse(message.get("id"))
        if event_id == START:
            return last
        if event_id <= last:
            self._tally.doubled += 1
            return last
        if gap_before(last, event_id):
            self._tally.silent_gaps += 1
        if message["kind"] == "tokens":
            self._tally.tokens += 1
            if message["put_at_ms"] >= opened_ms:
                self._tally.lags_ms.append(now_ms - message["put_at_ms"])
        return event_id


def _reason(html: str) -> str:
    found = re.search(r'role="alert"[^>]*>(.{0,400})', html, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split()) if found else html[:200]
