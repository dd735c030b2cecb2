"""Which lab line an endpoint saw last: the next one must differ from its first letter on."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from labs.actions.claim import Claim, claim_next
from labs.actions.execute import last_lab_line
from labs.models import Endpoint, Run
from tests.actions.conftest import Submit


def claimed(post: Submit, kim: User) -> Claim:
    post(kim, "one")
    claim = claim_next("w")
    assert claim is not None
    return claim


def ran(claim: Claim, line: str, minutes_ago: int, endpoint: Endpoint | None = None) -> None:
    Run.objects.create(
        attempt=claim.attempt,
        round=claim.round,
        number=100 + minutes_ago,
        endpoint=endpoint or claim.endpoint,
        token=1,
        worker="w",
        facts={"lab_line": line},
        started_at=timezone.now() - timedelta(minutes=minutes_ago),
    )


def test_a_run_without_a_lab_line_hides_no_earlier_one(post: Submit, kim: User, endpoint: Endpoint) -> None:
    claim = claimed(post, kim)
    assert last_lab_line(claim) == ""
    ran(claim, "abc def\n", 3)
    ran(claim, "xyz uvw\n", 2)
    ran(claim, "", 1)
    assert last_lab_line(claim) == "xyz uvw\n"


def test_another_endpoint_has_lines_of_its_own(post: Submit, kim: User, endpoint: Endpoint) -> None:
    claim = claimed(post, kim)
    other = Endpoint.objects.create(name="b", base_url="http://127.0.0.1:2", state=Endpoint.State.DOWN)
    ran(claim, "abc def\n", 1, other)
    assert last_lab_line(claim) == ""
