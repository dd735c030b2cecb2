"""manage.py regrade: prints old by new and who would lose; applies or drops what it showed."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from labs.models import Course, Grade, RegradeSet, State
from tests.views.rows import attempt_in


@pytest.fixture
def attempt(owner: User, course: Course) -> Any:
    """All points of a step whose checks tell each their own."""
    return attempt_in(State.GRADED, owner, course, kind="pass")


def regrade(**options: Any) -> str:
    out = StringIO()
    call_command("regrade", stdout=out, **options)
    return out.getvalue()


@pytest.mark.usefixtures("attempt")
def test_preview_then_apply(course: Course) -> None:
    said = regrade(course=course.slug, step="cache-break", limit=["points:break=1"])
    assert "1 attempts, 1 lower, 0 higher, 0 kept" in said
    assert "owner loses: 15 -> 11" in said
    assert Grade.objects.get().event.points == 15
    with pytest.raises(CommandError, match="open already"):
        regrade(course=course.slug, step="cache-break")
    pk = RegradeSet.objects.get().pk
    assert "is applied" in regrade(apply=pk)
    assert Grade.objects.get().event.points == 11
    with pytest.raises(CommandError, match="nothing was changed"):
        regrade(apply=pk)


@pytest.mark.usefixtures("attempt")
def test_preview_as_lines_then_cancel(course: Course) -> None:
    lines = regrade(course=course.slug, step="cache-break", json=True)
    assert json.loads(lines)["new"] == 15
    assert "is cancelled" in regrade(cancel=RegradeSet.objects.get().pk)
    assert regrade(course=course.slug, step="cache-break", json=True) == lines


@pytest.mark.usefixtures("course")
@pytest.mark.parametrize(
    "options",
    [
        {"course": "voice", "step": "no-such-step"},
        {"course": "no-such-course", "step": "cache-break"},
        {"course": "voice", "step": "cache-break", "limit": ["no-such-limit=3"]},
        {"course": "voice", "step": "cache-break", "limit": ["points:break=many"]},
        {"apply": 4711},
    ],
)
def test_what_does_not_exist_is_said_plainly(options: dict[str, Any]) -> None:
    with pytest.raises(CommandError):
        regrade(**options)
    assert not RegradeSet.objects.exists()
