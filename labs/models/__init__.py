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
from labs.models.audit import AuditRow
from labs.models.board import BoardEntry, BoardName, BoardState
from labs.models.booking import Booking
from labs.models.course import Course, Enrolment, JoinTry, Role
from labs.models.demo import DemoRun
from labs.models.endpoint import CanaryRun, Endpoint, Lease, Pool
from labs.models.grade import AUTOMATIC, Grade, GradeEvent
from labs.models.notice import Notice, Viewing
from labs.models.pair import Pair, PairMember
from labs.models.regrade import RegradeRow, RegradeSet, StepLimits
from labs.models.rule import Extension, StepRule
from labs.models.school import SchoolLink

__all__ = [
    "AUTOMATIC",
    "LIVE",
    "TERMINAL",
    "Attempt",
    "AttemptCount",
    "AuditRow",
    "BoardEntry",
    "BoardName",
    "BoardState",
    "Booking",
    "CanaryRun",
    "Course",
    "DemoRun",
    "Endpoint",
    "Enrolment",
    "Extension",
    "FrameStore",
    "Grade",
    "GradeEvent",
    "JoinTry",
    "Lease",
    "Notice",
    "Pair",
    "PairMember",
    "Pool",
    "Reason",
    "RegradeRow",
    "RegradeSet",
    "Role",
    "Round",
    "Run",
    "SchoolLink",
    "State",
    "StepLimits",
    "StepRule",
    "StoredRecording",
    "Viewing",
]
