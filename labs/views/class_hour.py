"""Does the class fit its hour? The instructor's headcount and minutes against what the steps take here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.live.step_times import open_to, step_times
from labs.measure.hour import Need, Spread, StepTime, need, pairs_of, spread
from labs.models import Course, Enrolment, Role
from labs.steps import all_steps
from labs.steps.base import Step
from labs.text import N_, Text
from labs.views.guard import course_of_instructor_or_404
from labs.views.words import say

MOST_PEOPLE, MOST_MINUTES, MOST_TRIES = 1000, 600, 10

VERDICTS: Mapping[str, Text] = {
    "fine": N_("fine"),
    "tight": N_("enough only if the runs are as quick as usual"),
    "short": N_("not enough"),
}


class HourForm(forms.Form):
    headcount = forms.IntegerField(label=gettext_lazy("Students"), min_value=1, max_value=MOST_PEOPLE)
    minutes = forms.IntegerField(label=gettext_lazy("Minutes of class"), min_value=5, max_value=MOST_MINUTES)
    tries = forms.IntegerField(
        label=gettext_lazy("Attempts that each makes at a step"), min_value=1, max_value=MOST_TRIES
    )
    groups = forms.IntegerField(
        label=gettext_lazy("Groups that begin at different steps"), min_value=1, max_value=9
    )

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        choices = [(key, say(step.title)) for key, step in all_steps().items()]
        self.fields["steps"] = forms.MultipleChoiceField(
            label=_("Steps"), widget=forms.CheckboxSelectMultiple, choices=choices
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One step with what it takes; seconds of one endpoint."""

    step: Step
    usual_s: float
    slow_s: float
    runs: int


@dataclass(frozen=True, slots=True)
class Start:
    size: int
    titles: Sequence[Text]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page reads out."""

    alone: Need
    pairs: Need
    spread: Spread
    endpoints: int
    lines: Sequence[Line]
    missing: Sequence[tuple[Text, Sequence[Text]]]

    @property
    def word(self) -> Text:
        return VERDICTS[self.alone.verdict]

    @property
    def sentence(self) -> str:
        """'Needs 27 machine-minutes, one endpoint gives 51: fine.'"""
        gives = ngettext(
            "Needs %(need).0f machine-minutes, %(count)s endpoint gives %(gives).0f: %(verdict)s.",
            "Needs %(need).0f machine-minutes, %(count)s endpoints give %(gives).0f: %(verdict)s.",
            self.endpoints,
        )
        return gives % {
            "need": self.alone.usual_min,
            "count": self.endpoints,
            "gives": self.alone.given_min,
            "verdict": say(self.word),
        }

    @property
    def advice(self) -> str:
        """What to do about it; '' where all is well."""
        if self.alone.verdict == "fine":
            return ""
        more = self.alone.endpoints_needed - self.endpoints
        add = ngettext("add %(n)s endpoint", "add %(n)s endpoints", more) % {"n": more}
        if self.pairs.verdict == "fine":
            return _("Use pairs, or %(add)s.") % {"add": add}
        if self.pairs.verdict == "tight":
            return _("With pairs it is tight; to be sure, %(add)s.") % {"add": add}
        return _("Pairs alone are not enough: %(add)s, or leave steps out.") % {"add": add}

    @property
    def rows(self) -> list[tuple[Text, Need]]:
        return [(N_("Each alone"), self.alone), (N_("In pairs"), self.pairs)]

    @property
    def starts(self) -> list[Start]:
        titles = {key: step.title for key, step in all_steps().items()}
        return [Start(group.size, [titles[key] for key in group.order]) for group in self.spread.groups]

    @property
    def busiest_min(self) -> float:
        return self.spread.busiest_ms / 60_000

    @property
    def together_min(self) -> float:
        return self.spread.together_ms / 60_000


@login_required
@never_cache
@require_safe
def class_hour(request: HttpRequest, course_slug: str) -> HttpResponse:
    """All of it is in the address: nothing is saved."""
    course = course_of_instructor_or_404(request, course_slug)
    form = HourForm(request.GET if "headcount" in request.GET else _usual(course))
    answer = _answer(course, form.cleaned_data) if form.is_valid() else None
    status = 200 if answer is not None else 422
    return render(
        request, "labs/class_hour.html", {"course": course, "form": form, "answer": answer}, status=status
    )


def _usual(course: Course) -> dict[str, Any]:
    """Where one begins: everybody who is enrolled, one hour, the whole lab once."""
    students = Enrolment.objects.active().filter(course=course, role=Role.STUDENT).count()
    return {
        "headcount": min(max(students, 1), MOST_PEOPLE),
        "minutes": 60,
        "tries": 1,
        "groups": 3,
        "steps": list(all_steps()),
    }


def _answer(course: Course, asked: Mapping[str, Any]) -> Answer:
    times = step_times()
    chosen = [times[key] for key in all_steps() if key in asked["steps"]]
    endpoints, people, tries = open_to(course), asked["headcount"], asked["tries"]
    return Answer(
        need(chosen, people * tries, asked["minutes"], endpoints),
        need(chosen, pairs_of(people) * tries, asked["minutes"], endpoints),
        spread(chosen, people, asked["groups"]),
        endpoints,
        [_line(one) for one in chosen],
        _missing(chosen),
    )


def _line(one: StepTime) -> Line:
    return Line(all_steps()[one.key], one.usual_ms / 1000, one.slow_ms / 1000, one.runs)


def _missing(chosen: Sequence[StepTime]) -> list[tuple[Text, Sequence[Text]]]:
    """Steps that ask for others which this hour leaves out: those must have been tried before."""
    here, steps = {one.key for one in chosen}, all_steps()
    return [
        (steps[one.key].title, [steps[key].title for key in steps if key in one.after - here])
        for one in chosen
        if one.after - here
    ]
