"""A claim becomes pass, fail or open, and an open one costs nothing."""

from __future__ import annotations

from labs.grading.checks import Verdict, total
from labs.grading.claim import Claim
from labs.grading.sane import Fault
from labs.text import N_

CLAIM = Claim("key", "round", N_("Title"), 3, (N_("one"), N_("two")))
SICK = Fault(N_("sick"), disturbed=True)


def test_the_server_is_asked_before_the_answer() -> None:
    for right in (True, False):
        check = CLAIM.settle(SICK, right, N_("yes"), N_("no"), {})
        assert (check.verdict, check.reason, check.score) == (Verdict.INCONCLUSIVE, N_("sick"), None)
        assert check.disturbed


def test_with_a_sane_server_the_answer_decides() -> None:
    passed = CLAIM.settle(None, True, N_("yes"), N_("no"), {"saw": 1})
    failed = CLAIM.settle(None, False, N_("yes"), N_("no"), {"saw": 1})
    assert (passed.verdict, passed.score, str(passed.reason)) == (Verdict.PASS, 3, "yes")
    assert (failed.verdict, failed.score, str(failed.reason)) == (Verdict.FAIL, 0, "no")
    assert total([passed, failed, CLAIM.settle(SICK, True, N_("yes"), N_("no"), {})]) == 3
