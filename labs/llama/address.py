"""Which addresses an endpoint may have. Checked when saved and again at every connect, on the numbers a
name resolves to, and then exactly those numbers are called (a name cannot change in between)."""

import ipaddress
import re
import socket

import httpx

from labs.llama.errors import BadAddress, Unreachable

_NUMERIC_V4 = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}", re.IGNORECASE)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_DEFAULT_PORT = {"http": 80, "https": 443}

# Instance metadata and host agents of the clouds that do not use a link-local address.
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
)

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def normalise_address(url: str) -> str:
    """One spelling for one server: `scheme://host[:port][/prefix]`, no trailing slash.

    `localhost` becomes 127.0.0.1 and numeric hosts their plain form, so that a server cannot be entered
    twice and leased twice. Raises BadAddress with reason `url`, `scheme`, `userinfo`, `host` or `query`.
    """
    if url != url.strip() or any(ch.isspace() or ord(ch) < 32 or ch == "\\" for ch in url):
        raise BadAddress("url", "the address contains blanks or control characters")
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as exc:
        raise BadAddress("url", "this is not an address") from exc
    if parsed.scheme not in _DEFAULT_PORT:
        raise BadAddress("scheme", "the address must begin with http:// or https://")
    if parsed.userinfo or "@" in url.partition("://")[2].partition("/")[0]:
        raise BadAddress("userinfo", "the address must not contain a user name or password")
    if parsed.query or parsed.fragment or "?" in url or "#" in url:
        raise BadAddress("query", "the address must not contain ? or #")
    host = _normal_host(parsed.raw_host.decode("ascii").lower())
    if parsed.port is not None and not 0 < parsed.port < 65536:
        raise BadAddress("url", "a port is a number from 1 to 65535")
    default = parsed.port in (None, _DEFAULT_PORT[parsed.scheme])
    port = "" if default else f":{parsed.port}"
    path = parsed.raw_path.decode("ascii").rstrip("/")
    return f"{parsed.scheme}://{host}{port}{path}"


def _normal_host(host: str) -> str:
    host = host.strip("[]").removesuffix(".")
    if not host or "%" in host:
        raise BadAddress("host", "the address has no usable host")
    if host == "localhost":
        return "127.0.0.1"
    if ":" in host:
        try:
            ip = _unwrap(ipaddress.ip_address(host))
        except ValueError as exc:
            raise BadAddress("host", "this is not an IPv6 address") from exc
        return f"[{ip}]" if ip.version == 6 else str(ip)
    if _NUMERIC_V4.fullmatch(host):
        # 2130706433, 0x7f.1 and 127.1 are all 127.0.0.1 to the system's resolver.
        try:
            return socket.inet_ntoa(socket.inet_aton(host))
        except OSError as exc:
            raise BadAddress("host", "this is not an IPv4 address") from exc
    return host


def check_address(url: str, allow_local: bool) -> str:
    """The normalised address, or BadAddress. Resolves the name; blocks as long as the resolver does.

    Further reasons: `unknown_host`, `metadata`, `link_local`, `not_a_host` (multicast, broadcast,
    unspecified, reserved) and, without `allow_local`, `local` (loopback and private networks).
    """
    address = normalise_address(url)
    parsed = httpx.URL(address)
    try:
        resolve(parsed.host, parsed.port or _DEFAULT_PORT[parsed.scheme], allow_local)
    except Unreachable as exc:
        raise BadAddress("unknown_host", f"no host is called {parsed.host}") from exc
    return address


def resolve(host: str, port: int, allow_local: bool) -> list[str]:
    """The numeric addresses of a host, in the resolver's order, all of them allowed.

    Raises BadAddress where one of them is not, Unreachable where the name is unknown.
    """
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        raise Unreachable(f"no host is called {host}") from exc
    found = list(dict.fromkeys(str(info[4][0]) for info in infos))
    for text in found:
        _check_ip(text, allow_local)
    return found


def _check_ip(text: str, allow_local: bool) -> None:
    outer = ipaddress.ip_address(text.partition("%")[0])
    ip = _unwrap(outer)
    if outer in _METADATA or ip in _METADATA or str(ip) == "169.254.169.254":
        raise BadAddress("metadata", "this is a cloud's metadata address")
    if ip.is_link_local:
        raise BadAddress("link_local", "link-local addresses are not called")
    if ip.is_multicast or ip.is_unspecified or (ip.is_reserved and not ip.is_loopback):
        raise BadAddress("not_a_host", "this address does not belong to one host")
    if not allow_local and not ip.is_global:
        raise BadAddress("local", "local and private addresses are switched off in the settings")


def _unwrap(ip: IpAddress) -> IpAddress:
    """The IPv4 address inside a mapped, compatible, 6to4, Teredo or NAT64 one."""
    if ip.version == 4:
        return ip
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip.sixtofour is not None:
        return ip.sixtofour
    if ip.teredo is not None:
        return ip.teredo[1]
    low = int(ip) & 0xFFFFFFFF
    if ip in _NAT64 or (int(ip) >> 32 == 0 and low > 1):
        return ipaddress.IPv4Address(low)
    return ip
