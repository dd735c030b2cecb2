"""An httpx transport over httpcore with the stamping backend: a fresh connection for every request, no
proxies, no redirects, no shared pool that could leak (llama-server closes after each stream anyway)."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import cast

import certifi
import httpcore
import httpx

from labs.llama.backend import StampedBackend, Wire


class StampedTransport(httpx.BaseTransport):
    """The request's `wire` extension (a `Wire`) takes the stamps and gives the deadlines."""

    def __init__(self, *, allow_local: bool, verify_tls: bool = True, ca_pem: str = "") -> None:
        self._allow_local = allow_local
        self._verify_tls = verify_tls
        self._ca_pem = ca_pem

    @cached_property
    def ssl_context(self) -> ssl.SSLContext:
        """Costs some 26 ms, so it is made once and only for https. The system's authorities (and those of
        SSL_CERT_FILE, for a school's own), and certifi's for images that bring none. Raises ssl.SSLError for a
        `ca_pem` that is none."""
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        if self._ca_pem:
            context.load_verify_locations(cadata=self._ca_pem)
        if not self._verify_tls:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        wire = cast(Wire, request.extensions["wire"])
        pool = httpcore.ConnectionPool(
            ssl_context=self.ssl_context if request.url.scheme == "https" else None,
            max_connections=1,
            max_keepalive_connections=0,
            network_backend=StampedBackend(wire, self._allow_local),
        )
        with ExitStack() as on_failure, _mapped_exceptions():
            on_failure.callback(pool.close)
            response = pool.handle_request(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(
                        scheme=request.url.raw_scheme,
                        host=request.url.raw_host,
                        port=request.url.port,
                        target=request.url.raw_path,
                    ),
                    headers=request.headers.raw,
                    content=cast(httpx.SyncByteStream, request.stream),
                )
            )
            on_failure.pop_all()
        return httpx.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response, pool),
            request=request,
        )


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response, pool: httpcore.ConnectionPool) -> None:
        self._response = response
        self._pool = pool

    def __iter__(self) -> Iterator[bytes]:
        with _mapped_exceptions():
            yield from self._response.iter_stream()

    def close(self) -> None:
        self._response.close()
        self._pool.close()


_EXCEPTIONS: dict[type[Exception], type[httpx.TransportError]] = {
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.PoolTimeout: httpx.PoolTimeout,
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
}


@contextmanager
def _mapped_exceptions() -> Iterator[None]:
    try:
        yield
    except tuple(_EXCEPTIONS) as exc:
        raise _EXCEPTIONS[type(exc)](str(exc)) from exc
