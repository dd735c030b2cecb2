"""A step with a bundle: its page's policy, its files for a terminal, and what the next attempt's form begins with."""

from __future__ import annotations

import json
import re
import uuid

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labhub_voice.headers import SEALED, add_headers
from labs.actions import wake
from labs.actions.submit import submit
from labs.models import Course, State
from labs.sheets import sheet_for
from labs.steps import all_steps

STEP = next(step for step in all_steps().values() if step.bundle)


def page_of(course: Course, key: str = STEP.key) -> str:
    return reverse("step", args=[course.slug, key])


def file_of(course: Course, name: str, key: str = STEP.key) -> str:
    return reverse("step-file", args=[course.slug, key, name])


def test_only_its_page_may_compile_webassembly(course: Course, at_owner: Client) -> None:
    for key in all_steps():
        answer = at_owner.get(page_of(course, key))
        policy = answer["Content-Security-Policy"]
        assert ("'wasm-unsafe-eval'" in policy) is (key == STEP.key)
        assert ("worker-src 'self'" in policy) is (key == STEP.key)
        assert "'unsafe-eval'" not in policy.replace("'wasm-unsafe-eval'", "")
        assert (STEP.bundle in answer.content.decode()) is (key == STEP.key)


def test_a_refused_post_has_the_same_policy(course: Course, at_owner: Client) -> None:
    data = {"submit_key": str(uuid.uuid4()), "round": STEP.rounds[0].key, "source": "x"}
    answer = at_owner.post(page_of(course), data)
    assert answer.status_code == 422
    assert "'wasm-unsafe-eval'" in answer["Content-Security-Policy"]


def test_files_are_the_students_own(course: Course, owner: User, at_owner: Client, at_member: Client) -> None:
    answer = at_owner.get(file_of(course, "streams.json"))
    assert answer["Content-Type"].startswith("application/json")
    assert "attachment" in answer["Content-Disposition"]
    mine = json.loads(answer.content)
    challenge = sheet_for(owner, course, STEP).challenge
    assert mine == {"parse": challenge["parse"], "feed": challenge["feed"]}
    shown = re.search(r'id="sse-streams-data"[^>]*>([^<]+)<', at_owner.get(page_of(course)).content.decode())
    assert shown and json.loads(shown[1]) == mine
    assert json.loads(at_member.get(file_of(course, "streams.json")).content) != mine
    assert b"def parse(lines, now)" in at_owner.get(file_of(course, "sse.py")).content


def test_other_files_and_other_people_find_nothing(
    course: Course, at_owner: Client, at_outsider: Client
) -> None:
    assert at_owner.get(file_of(course, "solution.py")).status_code == 404
    other = next(key for key in all_steps() if key != STEP.key)
    assert at_owner.get(file_of(course, "streams.json", other)).status_code == 404
    assert at_outsider.get(file_of(course, "streams.json")).status_code == 404
    assert Client().get(file_of(course, "streams.json")).status_code == 302


def test_the_next_attempt_begins_with_the_last_source(
    course: Course, owner: User, at_owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wake, "wake", lambda _task: True)
    round_ = STEP.rounds[0]
    sheet = sheet_for(owner, course, STEP)
    post = {
        **round_.sample(sheet.challenge, sheet.seen),
        "source": "def parse(lines, now):\n    return {'mine': 1}\n",
    }
    attempt = submit(owner, course, STEP, round_.key, post, uuid.uuid4())
    type(attempt).objects.filter(pk=attempt.pk).update(state=State.GRADED)
    shown = at_owner.get(page_of(course)).content.decode()
    assert "return {&#x27;mine&#x27;: 1}" in shown
    results = re.search(r'<textarea name="results"[^>]*>\s*([^<]*)</textarea>', shown)
    assert results and results[1] == "", "answers belong to the old streams"


@pytest.mark.parametrize(
    ("url", "sealed"),
    [
        ("/static/build/sandbox.mjs", True),
        ("/static/build/sandbox.0123456789ab.mjs", True),
        ("/static/build/read-sse.0123456789ab.mjs", False),
        ("/static/labs/sandbox.js", False),
    ],
)
def test_which_static_file_is_sealed(url: str, sealed: bool) -> None:
    headers: dict[str, str] = {}
    add_headers(headers, "", url)  # type: ignore[arg-type]  # it only sets items
    assert headers == ({"Content-Security-Policy": SEALED} if sealed else {})
