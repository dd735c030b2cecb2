"""Why an attempt ended by a fault, in plain words: what happened, what it cost, what comes next."""

from __future__ import annotations

from collections.abc import Mapping

from labs.models import Attempt, Reason, State
from labs.text import N_, Text
from labs.views.words import say

ADMIN = N_("An admin ended it, because it did not come to an end by itself.")

WHAT_HAPPENED: Mapping[str, Text] = {
    Reason.ENDPOINT_DOWN: N_("The model server could not be reached."),
    Reason.FIRST_TOKEN_TIMEOUT: N_("The model server took your request but wrote no first token in time."),
    Reason.IDLE_TIMEOUT: N_("The model server fell silent in the middle of an answer."),
    Reason.TIME_LIMIT: N_("The run took longer than a run may take."),
    Reason.WORKER_LOST: N_("The worker that drove your run went away."),
    Reason.BAD_STREAM: N_("The model server sent something that is not a readable stream."),
    Reason.SLOT_DISTURBED: N_(
        "Other work on the model server, or its CPU limit, disturbed the measurement each time."
    ),
    Reason.STEP_PAUSED: N_(
        "This step was paused while you waited: the model server cannot show what it teaches."
    ),
    Reason.REJECTED_BY_SERVER: N_("The model server refused a request of this run."),
    Reason.GRADER_ERROR: N_("Grading stopped on a fault of ours. Your recordings are kept."),
    Reason.ENDED_BY_ADMIN: ADMIN,
}

# What can be done about it, where it is not simply 'run again'.
WHAT_NEXT: Mapping[str, Text] = {
    Reason.ENDPOINT_DOWN: N_("Run again in a minute; if it goes on, tell your instructor."),
    Reason.REJECTED_BY_SERVER: N_("A shorter prompt may help; if not, tell your instructor."),
    Reason.STEP_PAUSED: N_("Go on with another step; this one opens again by itself."),
    Reason.GRADER_ERROR: N_("Your instructor can grade it again; you need not repeat it."),
}
FAULT = N_("The run ended by a fault.")
RUN_AGAIN = N_("You can run again with the same inputs.")
NOT_CHARGED = N_("No attempt was used.")
CHARGED = N_("This counts as one attempt.")

STOPPED = N_("You stopped this run.")
TIMED_OUT = N_("This attempt was left open too long and was closed.")


PRACTICE_TIMED_OUT = N_("This practice waited too long and was closed.")
STOPPED_BY: Mapping[str, Text] = {Reason.TIME_LIMIT: TIMED_OUT, Reason.ENDED_BY_ADMIN: ADMIN}
PRACTICE_STOPPED_BY: Mapping[str, Text] = {
    Reason.TIME_LIMIT: PRACTICE_TIMED_OUT,
    Reason.ENDED_BY_ADMIN: ADMIN,
}
# As labs.practice counts it.
PRACTICE_STOPPED = N_("The time it ran counts towards your practice time; no attempt was used.")
PRACTICE_SPOILT = N_(
    "It took nothing of your practice time, and no attempt was used. You can practise again."
)

GRADED_SINCE = N_("Grading first stopped on a fault of ours. It has been graded since.")


def sentences(attempt: Attempt, *, graded_since: bool = False) -> list[str]:
    """What to say about an attempt that was not graded; empty when there is nothing to explain.

    `graded_since`: a regrade gave it the grade that a fault of ours had kept from it.
    """
    if attempt.practice:
        return _of_practice(attempt)
    cost = CHARGED if attempt.charged else NOT_CHARGED
    if attempt.state == State.CANCELLED:
        return [say(STOPPED_BY.get(attempt.reason, STOPPED)), say(cost)]
    if attempt.state != State.ERRORED:
        return []
    if attempt.reason == Reason.GRADER_ERROR and graded_since:
        return [say(GRADED_SINCE), say(cost)]
    happened = WHAT_HAPPENED.get(attempt.reason, FAULT)
    return [say(happened), say(cost), say(WHAT_NEXT.get(attempt.reason, RUN_AGAIN))]


def _of_practice(attempt: Attempt) -> list[str]:
    if attempt.state == State.CANCELLED:
        return [
            say(PRACTICE_STOPPED_BY.get(attempt.reason, STOPPED)),
            say(PRACTICE_STOPPED),
        ]
    if attempt.state != State.ERRORED:
        return []
    return [say(WHAT_HAPPENED.get(attempt.reason, FAULT)), say(PRACTICE_SPOILT)]
