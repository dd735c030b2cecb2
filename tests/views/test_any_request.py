"""Whatever is sent to an address by who may send it, the answer is a page or a refusal, never a crash of ours.

The test client raises what a view raises; so an example fails where a view would have answered 500.
"""

from __future__ import annotations

import re

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labs.models import Attempt, FrameStore, StoredRecording
from tests.views.routes import ALL, ROUTES, address

QUERY_NAMES = ("after", "on", "q", "page", "sort", "filter", "step", "run", "next", "who", "until", "version")
# What a field holds that was not typed into it: everything a browser can send, and what programs trip over.
ODD = (
    "",
    "0",
    "-1",
    "1e999",
    "9" * 30,
    "NaN",
    "null",
    "\x00",
    "\ud7ff",
    "'\"<b>",
    "2026-02-30T25:00",
    "../..",
    "\u0627\u200f\u0663",
    "😀" * 9,
)
word = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
names = st.sampled_from(QUERY_NAMES)
many = settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Its answer is 200 for who is logged in and it changes nothing: Django's own.
OURS = sorted(set(ROUTES) - {"logout", "set-password"})


@pytest.mark.parametrize("name", OURS)
@many
@given(data=st.data())
def test_any_form(
    name: str, data: st.DataObject, everyone: dict[str, Client], address_parts: dict[str, object]
) -> None:
    """The fields are those of the form that the page shows, where it shows one."""
    client = everyone["owner" if ROUTES[name] in {"student", "owner"} else "admin"]
    where = address(name, address_parts)
    page = client.get(where)
    fields = re.findall(rb'name="([^"]+)"', page.content) if "html" in page.get("Content-Type", "") else []
    choices = sorted({field.decode() for field in fields} - {"csrfmiddlewaretoken"}) or ["value", "text"]
    form = data.draw(
        st.dictionaries(st.sampled_from(choices), st.lists(word, min_size=1, max_size=2), max_size=6)
    )
    assert client.post(where, form).status_code < 500


@pytest.mark.parametrize("name", OURS)
@many
@given(data=st.data())
def test_any_address(
    name: str, data: st.DataObject, everyone: dict[str, Client], address_parts: dict[str, object]
) -> None:
    """Each part of it may be wrong in a way that its pattern lets through, and what stands behind it anyhow."""
    slug = st.from_regex(r"[-a-zA-Z0-9_]{1,40}", fullmatch=True)
    odd: dict[str, st.SearchStrategy[object]] = {
        "attempt_id": st.uuids(),
        "course_slug": slug,
        "step_key": slug,
        "key": slug,
        "name": st.from_regex(r"[^/\n]{1,40}", fullmatch=True),
        "number": st.sampled_from([0, 2**31, 2**63, 10**30]),
        "run": st.sampled_from([0, 1, 2**31, 2**63, 10**30]),
    }
    wrong = {
        part: data.draw(odd.get(part, st.sampled_from([0, 2**31, 2**63, 10**30])))
        for part in ALL[name]
        if data.draw(st.booleans())
    }
    query = data.draw(st.dictionaries(names, word, max_size=4))
    for parts in (address_parts, address_parts | wrong):
        assert everyone["admin"].get(address(name, parts), query).status_code < 500


def test_the_examples_reach_what_they_are_for(
    everyone: dict[str, Client], address_parts: dict[str, object]
) -> None:
    """The addresses above stand for a page with rows behind it."""
    assert Attempt.objects.count() == 1 and StoredRecording.objects.exists() and FrameStore.objects.exists()
    assert everyone["owner"].get(address("attempt-replay", address_parts)).status_code == 200
