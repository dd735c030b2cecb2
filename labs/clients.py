"""How to speak to an endpoint, as its row says: address, key, and whose certificate it may show."""

from __future__ import annotations

from django.conf import settings

from labs.llama.client import LlamaClient
from labs.models import Endpoint

# What makes two clients the same; also the key of those that a worker keeps.
Reach = tuple[str, str, bool, str]


def reach_of(endpoint: Endpoint) -> Reach:
    return endpoint.base_url, endpoint.api_key, endpoint.verify_tls, endpoint.ca_pem


def client_for(reach: Reach) -> LlamaClient:
    """To be closed by whoever asks. Raises BadAddress where the address can be none."""
    base_url, api_key, verify_tls, ca_pem = reach
    return LlamaClient(
        base_url,
        api_key or None,
        allow_local=settings.LABHUB_ALLOW_LOCAL_ENDPOINTS,
        verify_tls=verify_tls,
        ca_pem=ca_pem,
    )


def client_of(endpoint: Endpoint) -> LlamaClient:
    return client_for(reach_of(endpoint))
