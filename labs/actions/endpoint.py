"""What must follow when an endpoint's address changes."""

from __future__ import annotations

from django.conf import settings

from labs.llama.address import check_address
from labs.models import Endpoint


def checked_address(url: str) -> str:
    """The normalised address, by this site's rule on local ones. Raises BadAddress."""
    return check_address(url, allow_local=settings.LABHUB_ALLOW_LOCAL_ENDPOINTS)


def forget_findings(endpoint: Endpoint) -> None:
    """Without saving: at another address is another server, to be probed before anything is sent there."""
    endpoint.state, endpoint.detail = Endpoint.State.UNKNOWN, ""
    endpoint.facts, endpoint.fingerprint, endpoint.probed_at = {}, "", None
    endpoint.canaries, endpoint.canaries_of, endpoint.has_red_canary = {}, "", False
    endpoint.canaries_at = endpoint.canaries_tried_at = endpoint.rest_until = None
    endpoint.failures, endpoint.canaries_wanted = 0, False
