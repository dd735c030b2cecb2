"""How a run can end, and why: the closed list of DESIGN 4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from labs.llama.errors import BadFrame, LlamaError, Loading, Rejected, Unauthorised
from labs.measure.recording import RunRecord, StreamEnd

Outcome = Literal["recorded", "disturbed", "cancelled", "lost", "errored"]
Reason = Literal[
    "",
    "endpoint_down",
    "first_token_timeout",
    "idle_timeout",
    "time_limit",
    "worker_lost",
    "bad_stream",
    "slot_disturbed",
    "rejected_by_server",
]

ABOUT_THE_REQUEST = {400, 413, 422}


@dataclass(frozen=True, slots=True)
class Drive:
    """One execution of a plan. `record` holds what there is, whatever the outcome.

    `detail` is a plain English line for the log and the run's note; "" where all went well. `server_broke`: the
    server refused with an error that is none of the request's (`broke`).
    """

    record: RunRecord
    outcome: Outcome
    reason: Reason
    detail: str = ""
    server_broke: bool = False


class RunFailed(Exception):
    """Ends the run as `errored` with one of the closed list's reasons."""

    def __init__(self, reason: Reason, detail: str = "", *, server_broke: bool = False) -> None:
        super().__init__(detail or reason)
        self.reason: Reason = reason
        self.detail = detail
        self.server_broke = server_broke


def reason_of(error: LlamaError) -> Reason:
    """The reason for an exception of the client."""
    match error:
        case Loading() | Unauthorised():  # a wrong key is the endpoint's trouble, not the prompt's
            return "endpoint_down"
        case Rejected():
            return "rejected_by_server"
        case BadFrame():
            return "bad_stream"
        case _:
            return "endpoint_down"


def broke(error: LlamaError) -> bool:
    """An HTTP error that says nothing of what was asked: the server's own doing, its key, or no llama-server."""
    return isinstance(error, Rejected) and error.status not in ABOUT_THE_REQUEST


def reason_of_end(end: StreamEnd) -> Reason:
    """The reason for a stream that ended as it should not have; "" for the ends that are as planned."""
    match end:
        case "first_token_timeout" | "idle_timeout" | "time_limit":
            return end
        case "truncated" | "error":
            return "bad_stream"
        case "rejected":
            return "rejected_by_server"
        case "done" | "cut" | "held":
            return ""
