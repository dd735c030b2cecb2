"""Two students who measure together: one run for both, and each with answers and a grade of their own."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from labs.models.course import Course


class Pair(models.Model):
    """An invitation while `began_at` is None: `by` asks `invites`. An instructor's begins at once.

    It ends by any of the three; what was begun together then goes on for each alone.
    """

    course = models.ForeignKey(Course, models.CASCADE, related_name="pairs")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    invites = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="pair_invitations"
    )
    made_at = models.DateTimeField(auto_now_add=True)
    began_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["course", "by"],
                condition=Q(began_at=None, ended_at=None),
                name="one_open_invitation_a_student",
            )
        ]


class PairMember(models.Model):
    """One of the two, from the pair's beginning until `ended_at`; in a course nobody is in two pairs at once."""

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="members")
    course = models.ForeignKey(Course, models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="pair_parts")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["course", "user"], condition=Q(ended_at=None), name="one_pair_a_student"
            ),
            models.UniqueConstraint(fields=["pair", "user"], name="one_part_in_a_pair"),
        ]
