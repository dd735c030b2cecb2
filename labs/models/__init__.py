"""Tables, one file an aggregate."""

from labs.models.attempt import (
    LIVE,
    TERMINAL,
    Attempt,
    AttemptCount,
    FrameStore,
    Reason,
    Round,
    Run,
    State,
    StoredRecording,
)
from labs.models.course import Course, Enrolment, Role
from labs.models.endpoint import Endpoint, Lease
from labs.models.grade import Grade, GradeEvent

__all__ = [
    "LIVE",
    "TERMINAL",
    "Attempt",
    "AttemptCount",
    "Course",
    "Endpoint",
    "Enrolment",
    "FrameStore",
    "Grade",
    "GradeEvent",
    "Lease",
    "Reason",
    "Role",
    "Round",
    "Run",
    "State",
    "StoredRecording",
]
