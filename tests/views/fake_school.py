"""A small OpenID provider on loopback: discovery, authorise, token with a signed id_token, keys, userinfo."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, SECRET = "lab", "lab-secret"


@cache
def key(name: str) -> rsa.RSAPrivateKey:
    """`name` 'school' is the one that is published; any other is a forger's."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class School(ThreadingHTTPServer):
    """`person` is who logs in; `claims` goes over what the id_token says, None takes a claim out."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.person: dict[str, Any] = {"sub": "s-1", "email": "kim@school.example", "email_verified": True}
        self.claims: dict[str, Any] = {}
        self.userinfo: dict[str, Any] | None = None
        self.signed_by = "school"
        self.config: dict[str, Any] = {}
        self.asked: dict[str, Mapping[str, str]] = {}
        self.seen: list[str] = []

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def id_token(self) -> str:
        now = int(time.time())
        said = {
            **self.person,
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 60,
            "jti": uuid.uuid4().hex,
            **self.claims,
        }
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(said, key(self.signed_by), "RS256", headers={"kid": "k1"})


class _Handler(BaseHTTPRequestHandler):
    server: School

    def log_message(self, *_args: object) -> None:
        pass

    def do_GET(self) -> None:
        at, query = urlsplit(self.path), dict(parse_qsl(urlsplit(self.path).query))
        self.server.seen.append(at.path)
        here = self.server.issuer
        if at.path == "/.well-known/openid-configuration":
            self._json(
                {
                    "issuer": here,
                    "authorization_endpoint": f"{here}/authorise",
                    "token_endpoint": f"{here}/token",
                    "jwks_uri": f"{here}/keys",
                    "userinfo_endpoint": f"{here}/userinfo",
                    "token_endpoint_auth_methods_supported": ["client_secret_post"],
                    **self.server.config,
                }
            )
        elif at.path == "/authorise":
            code = uuid.uuid4().hex
            self.server.asked[code] = query
            self.send_response(302)
            self.send_header(
                "Location", f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
            )
            self.end_headers()
        elif at.path == "/keys":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key("school").public_key()))
            self._json({"keys": [{**public, "kid": "k1", "alg": "RS256", "use": "sig"}]})
        elif at.path == "/userinfo" and self.server.userinfo is not None:
            self._json(self.server.userinfo)
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        """/token, once a code, to whoever knows the secret and the verifier that the code was asked with."""
        form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        asked = self.server.asked.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, SECRET)
            or asked.get("code_challenge") != challenge
            or asked["redirect_uri"] != form.get("redirect_uri")
        ):
            self._json({"error": "invalid_grant"}, 400)
            return
        self._json({"access_token": "a", "token_type": "Bearer", "id_token": self.server.id_token()})

    def _json(self, data: object, status: int = 200) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def running() -> Iterator[School]:
    school = School()
    thread = threading.Thread(target=school.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield school
    finally:
        school.shutdown()
        school.server_close()
        thread.join()
