"""Only pages of this site may open a socket: a foreign page would come with the visitor's cookie.

| Origin                                        | answer  |
|-----------------------------------------------|---------|
| scheme, host and port of the request itself   | go on   |
| one of CSRF_TRUSTED_ORIGINS                   | go on   |
| the same host with another port or scheme     | refused |
| another host, `null`, none at all             | refused |

The request's host must be one of ALLOWED_HOSTS, as for a page. Refused means HTTP 403 before any data.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

Application = Callable[[dict[str, Any], Any, Any], Awaitable[Any]]
DEFAULT_PORTS = {"http": 80, "https": 443}


class SameOrigin:
    """ASGI middleware, outermost. Leaves the server's own `send` in the scope for the outbox."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        if not is_same_origin(scope):
            return await WebsocketDenier()(scope, receive, send)
        return await self._application({**scope, "labhub.send": send}, receive, send)


def is_same_origin(scope: dict[str, Any]) -> bool:
    origins = [value for name, value in scope["headers"] if name == b"origin"]
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(origins) != 1 or len(hosts) != 1:
        return False
    origin, host = origins[0].decode("latin1").lower(), hosts[0].decode("latin1").lower()
    domain, _port = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    own = _parts(f"{_scheme(scope)}://{host}")
    allowed = {_parts(trusted.lower()) for trusted in settings.CSRF_TRUSTED_ORIGINS} | {own}
    return (parts := _parts(origin)) is not None and parts in allowed


def _scheme(scope: dict[str, Any]) -> str:
    """http or https. Behind a proxy that settings trust, the proxy says it."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        header = name.removeprefix("HTTP_").replace("_", "-").lower().encode()
        values = [value.decode("latin1") for key, value in scope["headers"] if key == header]
        return "https" if values == [secure] else "http"
    return "https" if scope.get("scheme") == "wss" else "http"


def _parts(origin: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(origin)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or port is None or parts.path or parts.query or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port
