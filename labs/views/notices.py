"""A person's notices in words, and how many are new. What is held back now is not in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from labs.access import only_course
from labs.models import Extension, Notice, RegradeSet
from labs.rules.clock import written
from labs.steps import all_steps
from labs.terms import Key, Terms
from labs.views import reasons
from labs.views.words import person, say

Kind = Notice.Kind


@dataclass(frozen=True, slots=True)
class ShownNotice:
    """`why` is what a person wrote, `link` leads to what it is about."""

    notice: Notice
    title: str
    text: str
    why: str = ""
    link: str = ""


def notices_of(user: User) -> QuerySet[Notice]:
    """Newest first. Whoever looks at this person's pages sees those of the course alone."""
    only = only_course(user)
    found = Notice.objects.filter(user=user)
    return found if only is None else found.filter(course=only)


def new_notices(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the number is asked for only by pages that show it."""
    return {"new_notices": SimpleLazyObject(partial(_count_new, request.user))}


def _count_new(user: Any) -> int:
    return 0 if user.is_anonymous else notices_of(user).filter(read_at=None).count()


def shown_notices(notices: Sequence[Notice], terms: Mapping[Key, Terms]) -> list[ShownNotice]:
    """With `course`, `by` and `attempt` read along. Two queries more, however many."""
    known = _Known(notices, terms)
    return [known.shown(notice) for notice in notices]


class _Known:
    """What the sentences need, read at once."""

    def __init__(self, notices: Sequence[Notice], terms: Mapping[Key, Terms]) -> None:
        self._terms, self._now = terms, timezone.now()
        self._regrades = RegradeSet.objects.in_bulk(_ids(notices, "regrade"))
        self._extensions = Extension.objects.in_bulk(_ids(notices, "extension"))

    def shown(self, notice: Notice) -> ShownNotice:
        step = all_steps().get(notice.step)
        title = say(step.title) if step else str(notice.step)
        text, why = self._said(notice)
        link = ""
        if notice.attempt_id is not None:
            link = reverse("attempt", args=[notice.attempt_id])
        elif step is not None:
            link = reverse("step", args=[notice.course.slug, step.key])
        return ShownNotice(notice, title, text, why, link)

    def _said(self, notice: Notice) -> tuple[str, str]:
        details, is_held = notice.details, self._is_held(notice)
        match notice.kind:
            case Kind.VERDICT if is_held:
                return _("It has been graded. Points and verdicts are shown once they are released."), ""
            case Kind.VERDICT:
                return _("It has been graded."), ""
            case Kind.REGRADED:
                regrade = self._regrades.get(details.get("regrade"))
                return self._regraded(details, is_held), "" if is_held or regrade is None else regrade.why
            case Kind.POINTS if is_held:
                return _("Points and verdicts are shown once they are released."), ""
            case Kind.POINTS if details["ended"]:
                return _("%(name)s took back the points given by hand.") % {"name": _who(notice)}, ""
            case Kind.POINTS:
                given = {"name": _who(notice), "points": details["points"]}
                return _("%(name)s gave the points by hand: %(points)s.") % given, ""
            case Kind.RELEASED:
                return _("Points and verdicts are released."), ""
            case Kind.EXTENDED:
                return self._extended(notice)
            case Kind.RETURNED:
                happened = say(reasons.WHAT_HAPPENED.get(details["reason"]))
                back = _("Your run is back at the head of the queue. No attempt was used.")
                return f"{happened} {back}".strip(), ""
            case Kind.TROUBLE:
                return " ".join(reasons.sentences(notice.attempt)) if notice.attempt else "", ""
            case Kind.VIEWED:
                return _("%(name)s looked at your pages in this course as you see them.") % {
                    "name": _who(notice)
                }, ""
        return "", ""

    def _regraded(self, details: Mapping[str, Any], is_held: bool) -> str:
        before, after = details.get("before"), details.get("after")
        if is_held:
            return _("Graded again by changed rules.")
        if before == after:
            return _("An attempt was graded again by changed rules. What counts stays %(points)s.") % {
                "points": after
            }
        return _("Graded again by changed rules: %(before)s → %(after)s.") % {
            "before": "–" if before is None else before,
            "after": after,
        }

    def _extended(self, notice: Notice) -> tuple[str, str]:
        row = self._extensions.get(notice.details.get("extension"))
        if row is None:
            return "", ""
        return f"{_who(notice)}: {given(row)}", row.why

    def _is_held(self, notice: Notice) -> bool:
        """Also where the person is in the course no more: nobody says there what is released."""
        terms = self._terms.get((notice.course_id, notice.step))
        return bool(notice.step) and (terms is None or terms.hides_scores(self._now))


def given(row: Extension) -> str:
    """What an extension gives, in a sentence."""
    said = []
    if row.due_at is not None:
        said.append(_("due %(time)s") % {"time": written(row.due_at, row.zone)})
    elif row.days is not None:
        said.append(_("%(days)s days after the class's due time") % {"days": row.days})
    if row.extra_attempts is not None:
        said.append(_("%(count)s extra attempts") % {"count": row.extra_attempts})
    return ", ".join(said)


def _who(notice: Notice) -> str:
    return person(notice.by) if notice.by else _("An instructor")


def _ids(notices: Iterable[Notice], key: str) -> list[int]:
    return [notice.details[key] for notice in notices if key in notice.details]
