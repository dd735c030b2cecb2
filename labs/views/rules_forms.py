"""The forms by which an instructor sets a step's rules and gives a student more time or attempts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from labs.actions.practice import LONGEST_S
from labs.actions.rules import LONGEST_WHY, Given
from labs.models import Course, Enrolment, Role, StepRule
from labs.rules.clock import SkippedTime, instant, local_of
from labs.rules.window import Late
from labs.steps import all_steps
from labs.steps.base import Step
from labs.views.words import person, say

ENTERED = "%Y-%m-%dT%H:%M"
YEARS = range(2000, 2200)
MOST_ATTEMPTS, MOST_POINTS, MOST_DAYS = 100, 1000, 365
TIMES = ("opens_at", "due_at", "ends_at", "release_at")


class MinuteField(forms.Field):
    """A local date and minute in the course's zone; its value is the instant."""

    def __init__(self, zone: str, **kwargs: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=ENTERED)
        super().__init__(widget=widget, required=False, **kwargs)
        self.zone = zone

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        try:
            local = datetime.strptime(str(value).replace(" ", "T")[:16], ENTERED)
            if local.year not in YEARS:
                raise ValueError(local)
            return instant(local, self.zone)
        except SkippedTime as error:
            raise ValidationError(say(error.text), code="skipped") from error
        except ValueError as error:
            raise ValidationError(
                _("Write a date and a time, like 2026-11-30 23:59."), code="invalid"
            ) from error

    def prepare_value(self, value: Any) -> Any:
        return local_of(value, self.zone) if isinstance(value, datetime) else value


class RuleForm(forms.Form):
    """All of a step's rules. Times are entered and shown in the course's zone."""

    late = forms.ChoiceField(
        label=_("After the due minute"),
        choices=[
            (Late.REFUSED.value, _("nothing is taken")),
            (Late.REDUCED.value, _("an attempt loses points for every day begun")),
            (Late.ACCEPTED.value, _("work counts in full until the end below")),
        ],
    )
    late_percent_a_day = forms.IntegerField(
        label=_("Percent lost for every day begun"), min_value=0, max_value=100, required=False
    )
    late_floor_percent = forms.IntegerField(
        label=_("Percent that always stay"), min_value=0, max_value=100, required=False
    )
    attempts = forms.IntegerField(label=_("Attempts"), min_value=1, max_value=MOST_ATTEMPTS, required=False)
    points = forms.IntegerField(
        label=_("Points in this course"), min_value=0, max_value=MOST_POINTS, required=False
    )
    holds_scores = forms.BooleanField(
        label=_("Hold back points and verdicts until they are released"), required=False
    )

    def __init__(self, course: Course, step: Step, rule: StepRule | None, data: Any = None) -> None:
        names = (*TIMES, *self.base_fields)
        initial = {name: getattr(rule, name) for name in names} if rule is not None else None
        super().__init__(data, initial=initial)
        self.course, self.step = course, step
        labels = {
            "opens_at": _("Opens"),
            "due_at": _("Due; the whole minute counts"),
            "ends_at": _("Last minute at which late work is taken"),
            "release_at": _("Release by itself at"),
        }
        for name, label in labels.items():
            self.fields[name] = MinuteField(course.zone, label=label)
        self.fields["attempts"].help_text = _("Empty: the course's %(n)s.") % {"n": course.attempts_per_step}
        self.fields["points"].help_text = _("Empty: the step's own %(n)s.") % {"n": step.points}
        self.order_fields(
            ["opens_at", "due_at", "late", "late_percent_a_day", "late_floor_percent", "ends_at"]
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        opens, due, ends = (cleaned.get(name) for name in ("opens_at", "due_at", "ends_at"))
        late = cleaned.get("late")
        if opens and due and opens > due:
            self.add_error("due_at", _("It must not be due before it opens."))
        if late != Late.REFUSED.value and not due and "due_at" not in self.errors:
            self.add_error("due_at", _("Without a due time nothing is late."))
        if late == Late.ACCEPTED.value and not ends and "ends_at" not in self.errors:
            self.add_error("ends_at", _("Say until when late work is taken."))
        if due and ends and ends < due:
            self.add_error("ends_at", _("The end must not come before the due time."))
        if late == Late.REDUCED.value and not cleaned.get("late_percent_a_day"):
            self.add_error("late_percent_a_day", _("Say how much every day begun costs."))
        return cleaned

    def row(self, by: User) -> StepRule:
        """What is no part of the chosen policy is left out. Only after `is_valid()`."""
        given, late = self.cleaned_data, self.cleaned_data["late"]
        is_reduced = late == Late.REDUCED.value
        return StepRule(
            course=self.course,
            step=self.step.key,
            zone=self.course.zone,
            opens_at=given["opens_at"],
            due_at=given["due_at"],
            late=late,
            late_percent_a_day=given["late_percent_a_day"] or 0 if is_reduced else 0,
            late_floor_percent=given["late_floor_percent"] or 0 if is_reduced else 0,
            ends_at=None if late == Late.REFUSED.value else given["ends_at"],
            attempts=given["attempts"],
            points=given["points"],
            holds_scores=given["holds_scores"],
            release_at=given["release_at"] if given["holds_scores"] else None,
            by=by,
        )


class QuotaForm(forms.Form):
    """Of the whole course."""

    practice_s = forms.IntegerField(
        min_value=0,
        max_value=LONGEST_S,
        label=_("Machine-seconds of practice for each student"),
        help_text=_("Of all steps together. 0: nobody may practise. What was used before counts."),
    )

    def __init__(self, course: Course, data: Any = None) -> None:
        super().__init__(data, initial={"practice_s": course.practice_s})


class StudentField(forms.ModelChoiceField):  # type: ignore[type-arg]  # Django has no such subscript
    def label_from_instance(self, user: User) -> str:
        return f"{person(user)} ({user.get_username()})"


class ExtensionForm(forms.Form):
    days = forms.IntegerField(
        label=_("Days more"),
        min_value=0,
        max_value=MOST_DAYS,
        required=False,
        help_text=_("On the wall clock, from the class's due time. 0: the class's due time again."),
    )
    extra_attempts = forms.IntegerField(
        label=_("Extra attempts"),
        min_value=0,
        max_value=MOST_ATTEMPTS,
        required=False,
        help_text=_("In all, on top of the class's. 0: none any more. Empty: as before."),
    )
    why = forms.CharField(
        max_length=LONGEST_WHY,
        label=_("Why?"),
        help_text=_("The student reads it."),
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": _("Write why: the student reads it.")},
    )

    def __init__(self, course: Course, data: Any = None) -> None:
        super().__init__(data)
        students = Enrolment.objects.active().filter(course=course, role=Role.STUDENT)
        people = User.objects.filter(pk__in=students.values("user"))
        self.fields["student"] = StudentField(
            people.order_by("last_name", "first_name", "username"),
            label=_("Student"),
            empty_label=_("Choose a student"),
        )
        steps = [(step.key, say(step.title)) for step in all_steps().values()]
        self.fields["step"] = forms.ChoiceField(
            label=_("Step"), choices=[("", _("All steps")), *steps], required=False
        )
        self.fields["due_at"] = MinuteField(
            course.zone, label=_("Or due at"), help_text=_("Never takes time away.")
        )
        self.order_fields(["student", "step", "days", "due_at", "extra_attempts", "why"])

    def given(self) -> Given:
        return Given(*(self.cleaned_data[name] for name in ("days", "due_at", "extra_attempts")))

    @property
    def step(self) -> Step | None:
        return all_steps().get(self.cleaned_data["step"])
