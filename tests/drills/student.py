"""A student who goes on for the whole drill: submits, repeats a POST now and then, and believes the open page alone."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import httpx

from tests.drills.page import OpenPage, panel_of
from tests.drills.player import Played, Player, problem_of, wrong_ways
from tests.steps.wrong_answers import Wrong

POST_LIMIT_S = 120.0
ROUND_LIMIT_S = 240.0
# What a page may need once the database has the end: two silent spells of a socket.
PAGE_LIMIT_S = 60.0
REPEATS = 0.3
STATE_CHANGES = ("open", "graded", "errored", "cancelled")

Found = TypeVar("Found")


class Student(Player):
    """Runs in a thread of its own between `go` and `rest`. What it saw is read while it rests."""

    def __init__(
        self, name: str, url: str, cookie: str, steps: Sequence[str], seed: int, no_socket: bool = False
    ) -> None:
        super().__init__(name, url, cookie)
        self.url = url
        self.no_socket = no_socket
        self.played: list[Played] = []
        self.submitted: dict[uuid.UUID, uuid.UUID] = {}  # submit key -> attempt
        self.pages: list[OpenPage] = []
        self.problems: list[str] = []
        self.repeated = 0
        self.unanswered = 0
        self.refused = 0
        self._steps = steps
        self._rng = random.Random(seed)
        self._going: tuple[str, Wrong | None] | None = None
        self._rest = threading.Event()
        self._thread: threading.Thread | None = None

    def go(self) -> None:
        self._rest.clear()
        self._thread = threading.Thread(target=self._play, name=self.name, daemon=True)
        self._thread.start()

    def rest(self) -> None:
        """After the round that is on its way."""
        self._rest.set()

    def is_following(self) -> bool:
        return not self.is_resting() and bool(self.pages) and self.pages[-1].is_open

    def is_resting(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def _play(self) -> None:
        from django.db import connections

        try:
            while not self._rest.is_set():
                if self._going is None:
                    step = self._rng.choice(self._steps)
                    self._going = step, self._rng.choice([None, self._rng.choice([None, *wrong_ways(step)])])
                self._one_round(*self._going)
        except Exception as error:
            self.problems.append(f"{self.name} gave up: {error!r}"[:800])
            self._going = None
        finally:
            connections.close_all()

    def _one_round(self, step: str, wrong: Wrong | None) -> None:
        key = uuid.uuid4()
        self._submit(key, step, wrong)
        attempt = patiently(lambda: _attempt_of(key))
        if attempt is None:
            self.problems.append(f"{self.name}: round {key} was accepted and is not there")
            return
        self.submitted[key] = attempt
        began = time.monotonic()
        state = self._follow(step, attempt)
        if state != "open":
            self._going = None
            self.played.append(self._seen(attempt, step, wrong, time.monotonic() - began))

    def _submit(self, key: uuid.UUID, step: str, wrong: Wrong | None) -> None:
        """Until it is accepted: a button is pressed again after an error, and the form has the same key."""
        until = time.monotonic() + POST_LIMIT_S
        said: httpx.Response | None = None
        filled: dict[str, Any] | None = None
        while time.monotonic() < until:
            filled = filled or patiently(lambda: self._fill(step, wrong))
            try:
                said = self.http.post(f"/courses/demo/steps/{step}/", data={**filled, "submit_key": str(key)})
            except httpx.TransportError:
                self.unanswered += 1
            else:
                if said.status_code == 302:
                    break
                if said.status_code >= 500:
                    self.unanswered += 1
                else:  # a sentence why not: the form is filled anew
                    self.refused += 1
                    filled = None
            time.sleep(0.5)
        else:
            raise AssertionError(
                f"{step} was not accepted: {said and (said.status_code, problem_of(said.text))}"
            )
        if self._rng.random() < REPEATS:
            self.repeated += 1
            again = self._patient_post(step, {**filled, "submit_key": str(key)})
            if again.status_code != 302:
                self.problems.append(f"{self.name}: the repeated POST {key} got {again.status_code}")

    def _patient_post(self, step: str, fields: dict[str, Any]) -> httpx.Response:
        until = time.monotonic() + POST_LIMIT_S
        while True:
            try:
                said = self.http.post(f"/courses/demo/steps/{step}/", data=fields)
            except httpx.TransportError:
                assert time.monotonic() < until, "no answer to a repeated POST"
            else:
                if said.status_code < 500 or time.monotonic() > until:
                    return said
            time.sleep(0.5)

    def _fill(self, step_key: str, wrong: Wrong | None) -> dict[str, Any]:
        """The form's fields. Raises AssertionError while no server can cut the prompt into tokens."""
        from django.contrib.auth.models import User

        from labs.models import Course
        from labs.sheets import sheet_for
        from labs.steps import all_steps

        self._let_an_hour_pass()
        user = User.objects.get(username=self.name)
        sheet = sheet_for(user, Course.objects.get(), all_steps()[step_key])
        assert sheet.round is not None, f"{self.name} has no round of {step_key} to answer"
        missing = set(sheet.round.tokenise(sheet.challenge)) - set(sheet.tokens)
        assert not missing, f"no tokens of {missing}"
        post = dict(sheet.round.sample(sheet.challenge, sheet.seen, sheet.tokens))
        if wrong is not None and wrong.round == sheet.round.key:
            for name, change in wrong.changes.items():
                post[name] = change(post.get(name), sheet.challenge) if callable(change) else change
        return {"round": sheet.round.key, **post}

    def _follow(self, step: str, attempt: uuid.UUID) -> str:
        """Opens the page as the redirect does, and waits for what it shows."""
        page = OpenPage(self.url, self.http.headers["Cookie"], self._opened(step), self.no_socket)
        self.pages.append(page)
        until = time.monotonic() + ROUND_LIMIT_S
        ended_at: float | None = None
        while not (state := page.wait(0.5)):
            if page.problems:
                break
            is_over = patiently(lambda: _state(attempt)) in STATE_CHANGES
            ended_at = (ended_at or time.monotonic()) if is_over else None
            if ended_at is not None and time.monotonic() - ended_at > PAGE_LIMIT_S:
                self.problems.append(f"{self.name}: the page of {attempt} does not see its end")
                break
            assert time.monotonic() < until, f"attempt {attempt} does not end"
        page.close()
        truth = patiently(lambda: _state(attempt))
        if state and state != truth:
            self.problems.append(f"{self.name}: the page of {attempt} shows {state}, it is {truth}")
        return truth

    def _opened(self, step: str) -> dict[str, str]:
        until = time.monotonic() + POST_LIMIT_S
        while True:
            try:
                said = self.http.get(f"/courses/demo/steps/{step}/")
            except httpx.TransportError:
                self.unanswered += 1
            else:
                if said.status_code == 200:
                    return panel_of(said.text)
                self.unanswered += 1
            assert time.monotonic() < until, "the page does not open"
            time.sleep(0.5)


def patiently(ask: Callable[[], Found], limit_s: float = POST_LIMIT_S) -> Found:
    """The drill's own questions come through the faults as well."""
    from django.db import DatabaseError, close_old_connections

    until = time.monotonic() + limit_s
    while True:
        try:
            return ask()
        except (DatabaseError, AssertionError):
            if time.monotonic() > until:
                raise
            close_old_connections()
            time.sleep(0.5)


def _attempt_of(key: uuid.UUID) -> uuid.UUID | None:
    from labs.models import Round

    return Round.objects.filter(submit_key=key).values_list("attempt_id", flat=True).first()


def _state(attempt: uuid.UUID) -> str:
    from labs.models import Attempt

    return str(Attempt.objects.values_list("state", flat=True).get(pk=attempt))
