"""Which lab line an endpoint saw last: the next one must differ from its first letter on."""

from __future__ import annotations

from dataclasses import replace

from django.contrib.auth.models import User

from labs.actions.claim import Claim, claim_next
from labs.actions.finish import finish
from labs.models import Endpoint
from tests.actions.conftest import Submit
from tests.actions.toy import drive


def claimed(post: Submit, user: User) -> Claim:
    post(user, "one")
    claim = claim_next("w")
    assert claim is not None
    return claim


def ran(claim: Claim, line: str) -> None:
    done = drive()
    assert finish(claim, replace(done, record=replace(done.record, lab_line=line)))


def test_a_run_without_a_lab_line_hides_no_earlier_one(
    post: Submit, kim: User, lee: User, endpoint: Endpoint
) -> None:
    ran(claimed(post, kim), "xyz uvw\n")
    claim = claimed(post, lee)
    assert claim.endpoint.last_lab_line == "xyz uvw\n"
    ran(claim, "")
    endpoint.refresh_from_db()
    assert endpoint.last_lab_line == "xyz uvw\n"


def test_another_endpoint_has_lines_of_its_own(post: Submit, kim: User, endpoint: Endpoint) -> None:
    other = Endpoint.objects.create(name="b", base_url="http://127.0.0.1:2", state=Endpoint.State.DOWN)
    ran(claimed(post, kim), "abc def\n")
    other.refresh_from_db()
    assert other.last_lab_line == ""
