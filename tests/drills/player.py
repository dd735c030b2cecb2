"""One student of a drill: posts the rounds of a step, right or wrong in one known way, and waits for the verdict."""

from __future__ import annotations

import re
import secrets
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx

from tests.steps.wrong_answers import WRONG, Wrong

CSRF = "c" * 32


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one step. `wrong` is the one thing that was answered wrongly; None where all was right."""

    student: str
    step: str
    wrong: Wrong | None
    state: str
    reason: str
    charged: bool
    runs: int
    waited_s: float
    checks: dict[str, str]

    @property
    def mistakes(self) -> list[str]:
        """Verdicts that are not what is known to be right. An inconclusive one is no mistake."""
        found = []
        for key, verdict in self.checks.items():
            if self.wrong is None and verdict == "fail":
                found.append(f"{self.student} {self.step}: {key} failed a right answer")
        if self.wrong is not None and self.checks.get(self.wrong.check) == "pass":
            found.append(f"{self.student} {self.step}: {self.wrong.check} passed a wrong answer")
        return found

    @property
    def inconclusive(self) -> bool:
        return "inconclusive" in self.checks.values()


class Player:
    def __init__(self, name: str, url: str, cookie: str) -> None:
        self.name = name
        self.http = httpx.Client(
            base_url=url,
            timeout=60,
            headers={
                "Cookie": f"{cookie}; csrftoken={CSRF}",
                "X-CSRFToken": CSRF,
                "Origin": url,
                "Referer": url,
            },
        )

    def play(self, step_key: str, wrong: Wrong | None, limit_s: float) -> Played:
        """All rounds of the step. Raises AssertionError where it does not end in time."""
        until = time.monotonic() + limit_s
        waited_s = 0.0
        while True:
            posted = self._round(step_key, wrong)
            if posted is None:
                return Played(self.name, step_key, wrong, "paused", "", False, 0, waited_s, {})
            attempt, step_is_over = posted
            began = time.monotonic()
            if not step_is_over:
                self._wait(attempt, until)
            waited_s += time.monotonic() - began
            played = self._seen(attempt, step_key, wrong, waited_s)
            if played.state != "open":
                return played

    def _round(self, step_key: str, wrong: Wrong | None) -> tuple[uuid.UUID, bool] | None:
        """The attempt, and whether it has ended already. None: the step is paused."""
        from django.contrib.auth.models import User
        from django.db import close_old_connections

        from labs.models import Attempt, Course
        from labs.sheets import sheet_for
        from labs.steps import all_steps

        self._let_an_hour_pass()
        user = User.objects.get(username=self.name)
        sheet = sheet_for(user, Course.objects.get(), all_steps()[step_key])
        assert sheet.round is not None, f"{self.name} has no round of {step_key} to answer"
        post = dict(sheet.round.sample(sheet.challenge, sheet.seen, sheet.tokens))
        if wrong is not None and wrong.round == sheet.round.key:
            for name, change in wrong.changes.items():
                post[name] = change(post.get(name), sheet.challenge) if callable(change) else change
        answer = self.post(step_key, sheet.round.key, post)
        if answer.status_code == 409 and 'class="notice paused"' in answer.text:
            return None
        assert answer.status_code == 302, (
            f"{self.name} {step_key}: {answer.status_code} {problem_of(answer.text)}"
        )
        found = Attempt.objects.filter(user=user, step=step_key).latest("created_at")
        close_old_connections()
        return found.pk, found.is_terminal

    def _let_an_hour_pass(self) -> None:
        """Three free repeats an hour are the product's rule; a drill has more faults in an hour than a class."""
        from django.utils import timezone

        from labs.models import Attempt

        Attempt.objects.filter(user__username=self.name, charged=False, finished_at__isnull=False).update(
            finished_at=timezone.now() - timedelta(hours=2)
        )

    def post(self, step_key: str, round_key: str, post: dict[str, Any]) -> httpx.Response:
        fields = {"submit_key": str(uuid.UUID(bytes=secrets.token_bytes(16))), "round": round_key, **post}
        return self.http.post(f"/courses/demo/steps/{step_key}/", data=fields)

    def _wait(self, attempt: uuid.UUID, until: float) -> None:
        from django.db import close_old_connections

        from labs.models import Attempt, State

        while Attempt.objects.filter(pk=attempt, state__in=[State.QUEUED, State.RUNNING]).exists():
            assert time.monotonic() < until, f"{self.name}: attempt {attempt} does not end"
            time.sleep(0.3)
        close_old_connections()

    def _seen(self, attempt_id: uuid.UUID, step: str, wrong: Wrong | None, waited_s: float) -> Played:
        from labs.models import Attempt

        attempt = Attempt.objects.get(pk=attempt_id)
        event = attempt.grade_events.last()
        return Played(
            student=self.name,
            step=step,
            wrong=wrong,
            state=attempt.state,
            reason=attempt.reason,
            charged=attempt.charged,
            runs=attempt.runs.count(),
            waited_s=waited_s,
            checks={check["key"]: check["verdict"] for check in event.checks} if event else {},
        )


def wrong_ways(step: str) -> Sequence[Wrong]:
    return [wrong for wrong in WRONG if wrong.step == step]


def problem_of(html: str) -> str:
    """The page's sentence why not, or else how the page begins."""
    found = re.search(r'role="alert"[^>]*>(.{0,400})', html, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split()) if found else html[:300]
