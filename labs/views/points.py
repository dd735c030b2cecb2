"""The form by which an instructor gives a student's points for a step, or ends that; on the attempt's page."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.actions.override import LONGEST_COMMENT
from labs.models import Attempt, Grade
from labs.steps.base import Step
from labs.terms import counted_points, rules_in_force, worth_of
from labs.text import Text


class PointsForm(forms.Form):
    """On the step's own scale. `clear` ends what an instructor gave before; then `points` say nothing."""

    points = forms.IntegerField(min_value=0, required=False, label=_("Points"))
    comment = forms.CharField(
        max_length=LONGEST_COMMENT,
        label=_("Why?"),
        help_text=_("The student reads it."),
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": _("Write why: the student reads it.")},
    )

    def __init__(self, step: Step, data: Any = None) -> None:
        super().__init__(data)
        most = step.points + step.bonus
        self.fields["points"].widget.attrs["max"] = most
        self.is_clear = data is not None and "clear" in data

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.is_clear and "points" not in self.errors and cleaned.get("points") is None:
            self.add_error("points", _("Write a number of points."))
        return cleaned


def points_context(
    found: Attempt, step: Step, form: PointsForm | None = None, problem: Text | None = None
) -> dict[str, Any]:
    grade = (
        Grade.objects.filter(course=found.course_id, user=found.user_id, step=found.step)
        .select_related("event__attempt", "automatic")
        .first()
    )
    rule = rules_in_force([found.course]).get((found.course_id, step.key))
    worth = worth_of(step, rule)
    counts = counted_points(grade.event, grade.event.attempt, step, worth) if grade else None
    is_plain = grade is None or (counts == grade.event.points and worth == step.points)
    return {
        "grade": grade,
        # Where they differ: after a lateness, and where the course counts the step on another scale.
        "counts": None if is_plain else counts,
        "worth": worth,
        "points_form": form or PointsForm(step),
        "points_problem": problem,
    }
