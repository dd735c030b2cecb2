"""The way between an instructor's pages of one course: on each of them, with the present one marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.http import HttpRequest
from django.urls import reverse

from labs.models import Course
from labs.text import N_, Text

register = template.Library()

# The section's own address, and those that belong to it.
SECTIONS: Mapping[str, tuple[Text, frozenset[str]]] = {
    "class-now": (N_("The class now"), frozenset()),
    "class-hour": (N_("The class hour"), frozenset()),
    "gradebook": (N_("Gradebook"), frozenset({"attempt"})),
    "boards": (N_("Boards"), frozenset({"board"})),
    "people": (N_("People"), frozenset({"roster", "join-code", "login-links", "pairs"})),
    "rules": (N_("Rules"), frozenset({"rule-step"})),
    "extensions": (N_("Extensions"), frozenset()),
    "regrades": (N_("Limits and regrades"), frozenset({"regrade", "regrade-step", "rerun"})),
}


@register.inclusion_tag("labs/parts/course_nav.html", takes_context=True)
def course_nav(context: Mapping[str, Any]) -> dict[str, Any]:
    """Nothing where the page is not an instructor's."""
    request, course = context.get("request"), context.get("course")
    if (
        not isinstance(request, HttpRequest)
        or not isinstance(course, Course)
        or request.resolver_match is None
    ):
        return {"links": []}
    here = request.resolver_match.url_name or ""
    section = next((name for name, (_text, more) in SECTIONS.items() if here == name or here in more), "")
    is_a_students = (section == "boards" and context.get("audience") != "staff") or (
        here == "attempt" and context.get("is_owner")
    )
    return {"links": _links(course, section) if section and not is_a_students else []}


@register.inclusion_tag("labs/parts/course_nav.html")
def taught_nav(course: Course) -> dict[str, Any]:
    """The same where no page of them is open."""
    return {"links": _links(course, "")}


def _links(course: Course, here: str) -> list[tuple[str, Text, bool]]:
    return [
        (reverse(name, args=[course.slug]), text, name == here) for name, (text, _more) in SECTIONS.items()
    ]
