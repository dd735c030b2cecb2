"""Who changed a grade, an endpoint or somebody's part in a course: when, as whom, from where. Only grows."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from labs.models.course import Course


class Verb(models.TextChoices):
    ENROLLED = "enrolled"
    JOINED = "joined"
    LEFT = "left"
    CAME_BACK = "came_back"
    CORRECTED = "corrected"
    CODE_DRAWN = "code_drawn"
    CODE_ENDED = "code_ended"
    LOGIN_LINK = "login_link"
    PASSWORD_SET = "password_set"
    POINTS_GIVEN = "points_given"
    POINTS_ENDED = "points_ended"
    REGRADED = "regraded"
    RULES_SET = "rules_set"
    RELEASED = "released"
    EXTENDED = "extended"
    SHOWN = "shown"
    WITHDRAWN = "withdrawn"
    PAIRED = "paired"
    UNPAIRED = "unpaired"
    SCHOOL_LINKED = "school_linked"
    VIEW_BEGAN = "view_began"
    VIEW_ENDED = "view_ended"
    ERASED = "erased"
    ADDED = "added"
    CHANGED = "changed"
    DELETED = "deleted"
    DONE = "done"


class AuditRow(models.Model):
    """`by` did `verb` to `whom` or to `what`, from `address`; `as_user` is whose pages they were looking at, if any.

    The logins are written down too: accounts go, and what they did stays. `details` never holds a secret.
    """

    at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_login = models.CharField(max_length=150, blank=True)
    as_user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    address = models.GenericIPAddressField(null=True)
    verb = models.CharField(max_length=20)  # a Verb; without choices, so that a new one needs no migration
    course = models.ForeignKey(Course, models.SET_NULL, null=True, related_name="+")
    whom = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    whom_login = models.CharField(max_length=150, blank=True)
    what = models.CharField(max_length=300, blank=True)
    details = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["whom", "-id"]), models.Index(fields=["course", "-id"])]
        ordering = ["-pk"]
