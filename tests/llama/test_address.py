"""G10: which addresses may be entered, and which may be called."""

import socket

import pytest

from labs.llama.address import check_address, normalise_address
from labs.llama.client import LlamaClient
from labs.llama.errors import BadAddress
from labs.llama.stream import Limits
from tests.llama.byte_server import ByteServer, answer


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("HTTP://LocalHost:8080", "http://127.0.0.1:8080"),
        ("http://localhost.:8080", "http://127.0.0.1:8080"),
        ("http://2130706433:8080", "http://127.0.0.1:8080"),
        ("http://0x7f.1:8080", "http://127.0.0.1:8080"),
        ("http://[::ffff:127.0.0.1]:8080", "http://127.0.0.1:8080"),
        ("http://[0:0:0:0:0:0:0:1]:8080", "http://[::1]:8080"),
        ("http://LLM.example.org:80/", "http://llm.example.org"),
        ("https://llm.example.org:443/v2/", "https://llm.example.org/v2"),
        ("http://llm.example.org.", "http://llm.example.org"),
        ("http://음성.example", "http://xn--oj4br5i.example"),
    ],
)
def test_one_spelling_for_one_server(url: str, normal: str) -> None:
    assert normalise_address(url) == normal
    assert normalise_address(normal) == normal


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/hosts", "scheme"),
        ("ftp://example.org", "scheme"),
        ("127.0.0.1:8080", "scheme"),
        ("", "scheme"),
        ("//example.org", "scheme"),
        ("http://user:pw@host/", "userinfo"),
        ("http://user@host/", "userinfo"),
        ("http://@host/", "userinfo"),
        ("http://host/?a=1", "query"),
        ("http://host/#x", "query"),
        ("http://host?", "query"),
        ("http://", "host"),
        ("http://[fe80::1%25eth0]/", "host"),
        ("http://999.1.1.1/", "url"),
        ("http://0177.0.0.1/", "url"),
        ("http://99999999999/", "host"),
        ("http://host:99999/", "url"),
        ("http://host:0/", "url"),
        ("http://ho st/", "url"),
        ("http://host\r\nX: y/", "url"),
        ("http://evil.example\\@good.example/", "url"),
        (" http://host/", "url"),
    ],
)
def test_refused_as_written(url: str, reason: str) -> None:
    with pytest.raises(BadAddress) as caught:
        normalise_address(url)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://169.254.169.254/", "metadata"),
        ("http://169.254.170.2/", "link_local"),
        ("http://[fe80::1]/", "link_local"),
        ("http://[::ffff:169.254.169.254]/", "metadata"),
        ("http://[::ffff:a9fe:a9fe]/", "metadata"),
        ("http://[::169.254.169.254]/", "metadata"),
        ("http://[64:ff9b::a9fe:a9fe]/", "metadata"),
        ("http://[2002:a9fe:a9fe::]/", "metadata"),
        ("http://2852039166/", "metadata"),
        ("http://0xA9FEA9FE/", "metadata"),
        ("http://[fd00:ec2::254]/", "metadata"),
        ("http://100.100.100.200/", "metadata"),
        ("http://0.0.0.0/", "not_a_host"),
        ("http://[::]/", "not_a_host"),
        ("http://224.0.0.1/", "not_a_host"),
        ("http://255.255.255.255/", "not_a_host"),
    ],
)
@pytest.mark.parametrize("allow_local", [True, False])
def test_never_called(url: str, reason: str, allow_local: bool) -> None:
    with pytest.raises(BadAddress) as caught:
        check_address(url, allow_local)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080",
        "http://localhost:8080",
        "http://[::1]:1",
        "http://10.0.0.7",
        "http://192.168.1.2",
    ],
)
def test_local_only_by_the_setting(url: str) -> None:
    assert check_address(url, allow_local=True) == normalise_address(url)
    with pytest.raises(BadAddress) as caught:
        check_address(url, allow_local=False)
    assert caught.value.reason == "local"


def test_a_public_address_needs_no_setting() -> None:
    assert check_address("http://1.1.1.1:8080", allow_local=False) == "http://1.1.1.1:8080"


def resolving_to(*numbers: str) -> object:
    def getaddrinfo(host: str, port: int, **_: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port)) for number in numbers]

    return getaddrinfo


@pytest.mark.parametrize("numbers", [["169.254.169.254"], ["1.1.1.1", "169.254.169.254"]])
def test_a_name_that_resolves_to_link_local(monkeypatch: pytest.MonkeyPatch, numbers: list[str]) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving_to(*numbers))
    with pytest.raises(BadAddress) as caught:
        check_address("http://innocent.example/", allow_local=True)
    assert caught.value.reason == "metadata"


def test_an_unknown_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(BadAddress) as caught:
        check_address("http://nobody.example/", allow_local=True)
    assert caught.value.reason == "unknown_host"


def test_checked_again_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that was fine when saved and changes afterwards is refused before a byte leaves."""
    with ByteServer(lambda peer: peer.send(answer("200 OK", b'{"status":"ok"}'))) as server:
        port = server.url.rpartition(":")[2]
        with LlamaClient(f"http://innocent.example:{port}", "key") as client:
            monkeypatch.setattr(socket, "getaddrinfo", resolving_to("169.254.169.254"))
            with pytest.raises(BadAddress):
                client.props()
            with pytest.raises(BadAddress), client.chat({}, Limits(1, 1, 1)):
                pass
            with pytest.raises(BadAddress):
                client.health()
        with LlamaClient(server.url, "key", allow_local=False) as client, pytest.raises(BadAddress):
            client.props()
        assert server.peers == []


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with ByteServer(lambda peer: peer.send(answer("200 OK", b"{}"))) as foreign:
        to = f"Location: {foreign.url}/props"
        with (
            ByteServer(lambda peer: peer.send(answer("302 Found", b"", "text/html", to))) as server,
            LlamaClient(server.url, "key") as client,
        ):
            assert client.health().state == "not_llama_server"
        assert foreign.peers == []


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        ByteServer(lambda peer: peer.send(answer("200 OK", b"{}"))) as proxy,
        ByteServer(lambda peer: peer.send(answer("200 OK", b"[]"))) as server,
    ):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        with LlamaClient(server.url) as client:
            assert client.slots() == []
        assert proxy.peers == []
