"""What stands on a course's boards, by whom, and whether a board is frozen."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from labs.models.attempt import Attempt
from labs.models.course import Course


class BoardEntry(models.Model):
    """One attempt on one board. `comparable` names the class of entries that may stand side by side: what the server
    was (its fingerprint) and the step's version.

    `counts`: of the student's entries in that class the one that stands on the board. Kept here, because a board must
    not take longer with every attempt that was ever made.
    """

    course = models.ForeignKey(Course, models.CASCADE, related_name="board_entries")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="board_entries")
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="board_entries")
    board = models.SlugField()
    comparable = models.CharField(max_length=40)
    value = models.FloatField()
    detail = models.JSONField()
    is_first = models.BooleanField(help_text="The student's first charged attempt of the step.")
    counts = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt", "board"], name="one_entry_a_board"),
            # Boards are read by it too.
            models.UniqueConstraint(
                fields=["course", "board", "comparable", "user"],
                condition=models.Q(counts=True),
                name="one_entry_counts",
            ),
        ]
        indexes = [models.Index(fields=["course", "board", "comparable", "user"])]
        ordering = ["pk"]


class BoardState(models.Model):
    """`version` grows with everything that changes what the board shows. `frozen` is what the class sees while it is
    frozen, as it was built at that moment; instructors go on seeing the present."""

    course = models.ForeignKey(Course, models.CASCADE, related_name="board_states")
    board = models.SlugField()
    version = models.PositiveIntegerField(default=0)
    frozen_at = models.DateTimeField(null=True, blank=True)
    frozen = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["course", "board"], name="one_state_a_board")]


class BoardName(models.Model):
    """How a student stands on a course's boards: under a name of their own choice, or not at all (`is_hidden`)."""

    course = models.ForeignKey(Course, models.CASCADE, related_name="board_names")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="board_names")
    name = models.CharField(max_length=24, blank=True)
    is_hidden = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["course", "user"], name="one_board_name_a_student"),
            models.UniqueConstraint(
                fields=["course", "name"], condition=~models.Q(name=""), name="one_student_a_board_name"
            ),
        ]
