"""The same stream over TLS: stamped, cut and closed like a plain one."""

import shutil
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from labs.llama.client import LlamaClient
from labs.llama.errors import Unreachable
from tests.llama import sse_cases as case
from tests.llama.byte_server import LIMIT_S, SSE_HEAD, ByteServer, Peer, answer, chunked
from tests.llama.streaming import BODY, PATIENT, TOKEN

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl makes the certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    make = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    out = ["-keyout", str(path), "-out", str(path.with_name("cert.pem"))]
    subprocess.run([str(OPENSSL), *make.split(), *out], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + path.with_name("cert.pem").read_bytes())
    return path


@pytest.fixture
def context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_stream_and_cut(certificate: Path, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_name("cert.pem")))
    token_sent = threading.Event()

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD + TOKEN)
        token_sent.set()
        if b'"hold"' in peer.request:
            peer.watch_close()
        else:
            peer.send(chunked(case.DONE))

    with ByteServer(script, context) as server, LlamaClient(server.url) as client:
        with client.chat(BODY, PATIENT) as stream:
            text = "".join(chunk.content for read in stream for chunk in read.chunks)
        assert (stream.end, text) == ("done", "A")
        assert stream.connected_ns is not None
        assert stream.sent_ns is not None
        assert stream.connected_ns < stream.sent_ns

        held = client.chat({**BODY, "user": "hold"}, PATIENT)

        def read() -> None:
            with held:
                list(held)

        reader = threading.Thread(target=read)
        reader.start()
        server.peer(1).wait_started()
        held.cut()
        server.peer(1).wait_closed()
        reader.join(LIMIT_S)
        assert held.end == "cut"


def test_an_unknown_certificate_is_not_trusted(context: ssl.SSLContext) -> None:
    with ByteServer(lambda peer: None, context) as server, LlamaClient(server.url) as client:
        with pytest.raises(Unreachable) as refused:
            client.props()
        assert refused.value.untrusted
        assert client.health().detail == "certificate"


def test_a_servers_own_authority_or_none_at_all(certificate: Path, context: ssl.SSLContext) -> None:
    def script(peer: Peer) -> None:
        peer.send(answer("200 OK", b'{"status": "ok"}'))

    own = certificate.with_name("cert.pem").read_text()
    with ByteServer(script, context) as server:
        for client in (LlamaClient(server.url, ca_pem=own), LlamaClient(server.url, verify_tls=False)):
            with client:
                assert client.get_object("/health") == {"status": "ok"}
