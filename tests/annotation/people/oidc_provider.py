"""A real provider of OpenID Connect for tests, of Authlib: a process of its own on 127.0.0.1.

``python -m tests.annotation.people.oidc_provider REDIRECT_URI`` prints its issuer. A POST of JSON to ``/set`` says
who is logged in there (``claims``), and what is wrong with the next tokens (``fault``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests

from tests.processes import ROOT

CLIENT_ID, CLIENT_SECRET = "reading-room", "a secret: of the client/0123456789"
ANNA: dict[str, Any] = {"sub": "anna-1", "name": "Anna", "email": "anna@example.org", "email_verified": True}
OPEN_ID_PATH = "/.well-known/openid-configuration"
FAULTS = (
    *("issuer", "audience", "party", "no party", "blank party", "nonce", "no nonce", "unsigned", "shared key"),
    *("other key", "expired", "late", "early", "no subject", "no token", "other person", "no JSON"),
)


@dataclass(frozen=True)
class RunningProvider:
    issuer: str

    def says(self, *, fault: str = "", **claims: Any) -> None:
        """Who is logged in there from now on."""
        requests.post(f"{self.issuer}/set", json={"claims": {**ANNA, **claims}, "fault": fault}, timeout=10)


@contextmanager
def running_provider(redirect_uri: str) -> Iterator[RunningProvider]:
    command = [sys.executable, "-m", __name__, redirect_uri]
    environment = {**os.environ, "AUTHLIB_INSECURE_TRANSPORT": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        issuer = process.stdout.readline().strip()
        assert issuer.startswith("http://127.0.0.1:")
        yield RunningProvider(issuer)
        process.terminate()


def serve(redirect_uri: str) -> None:
    from authlib.common.security import generate_token
    from authlib.oauth2.rfc6749 import AuthorizationServer, ClientMixin, OAuth2Request
    from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
    from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
    from authlib.oauth2.rfc6750 import BearerTokenGenerator
    from authlib.oauth2.rfc7636 import CodeChallenge
    from authlib.oidc.core.grants import OpenIDCode
    from joserfc import jwt
    from joserfc.jwk import OctKey, RSAKey

    key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
    other_key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
    state: dict[str, Any] = {"claims": ANNA, "fault": "", "issuer": ""}
    codes: dict[str, Any] = {}
    tokens: dict[str, dict[str, Any]] = {}

    class Client(ClientMixin):  # type: ignore[misc]
        def get_client_id(self) -> str:
            return CLIENT_ID

        def get_default_redirect_uri(self) -> str:
            return redirect_uri

        def get_allowed_scope(self, scope: str) -> str:
            return scope

        def check_redirect_uri(self, uri: str) -> bool:
            return uri == redirect_uri

        def check_client_secret(self, secret: str) -> bool:
            from urllib.parse import unquote  # RFC 6749, 2.3.1: both are encoded in the header

            return unquote(secret) == CLIENT_SECRET

        def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
            return method == "client_secret_basic"

        def check_response_type(self, response_type: str) -> bool:
            return response_type == "code"

        def check_grant_type(self, grant_type: str) -> bool:
            return grant_type == "authorization_code"

    @dataclass
    class Code:
        code: str
        redirect_uri: str
        scope: str
        nonce: str
        code_challenge: str
        code_challenge_method: str
        user: dict[str, Any]

        def get_redirect_uri(self) -> str:
            return self.redirect_uri

        def get_scope(self) -> str:
            return self.scope

        def get_nonce(self) -> str:
            return self.nonce

        def get_auth_time(self) -> int:
            return int(time.time())

        def get_acr(self) -> None:
            return None

        def get_amr(self) -> None:
            return None

    class Grant(AuthorizationCodeGrant):  # type: ignore[misc]
        TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic"]

        def save_authorization_code(self, code: str, request: Any) -> None:
            sent = request.payload.data
            nonce, challenge, method = (sent.get(n, "") for n in ("nonce", "code_challenge", "code_challenge_method"))
            codes[code] = Code(code, sent["redirect_uri"], request.scope, nonce, challenge, method, request.user)

        def query_authorization_code(self, code: str, client: Any) -> Any:
            return codes.get(code)

        def delete_authorization_code(self, authorization_code: Any) -> None:
            del codes[authorization_code.code]

        def authenticate_user(self, authorization_code: Any) -> Any:
            return authorization_code.user

    class Token(OpenIDCode):  # type: ignore[misc]
        def exists_nonce(self, nonce: str, request: Any) -> bool:
            return any(one.nonce == nonce for one in codes.values())

        def resolve_client_private_key(self, client: Any) -> Any:
            return key

        def get_client_algorithm(self, client: Any) -> str:
            return "RS256"

        def get_encode_header(self, client: Any) -> dict[str, str]:
            return {"alg": "RS256", "kid": "one"}

        def get_client_claims(self, client: Any) -> dict[str, Any]:
            return {"iss": state["issuer"], "aud": [CLIENT_ID]}

        def generate_user_info(self, user: dict[str, Any], scope: str) -> dict[str, Any]:
            return {"sub": user["sub"]} if user.get("by_userinfo") else user

        def encode_id_token(self, token: Any, request: Any) -> str:
            good: str = super().encode_id_token(token, request)
            return spoilt(good, state["fault"])

    def spoilt(token: str, fault: str) -> str:
        claims, now = dict(jwt.decode(token, key, algorithms=["RS256"]).claims), int(time.time())
        wrong: dict[str, dict[str, Any]] = {
            "issuer": {"iss": "https://evil.example"},
            "audience": {"aud": ["another client"]},
            "party": {"aud": [CLIENT_ID, "another client"], "azp": "another client"},
            "no party": {"aud": [CLIENT_ID, "another client"]},
            "blank party": {"azp": ""},
            "nonce": {"nonce": "of another log-in"},
            "no nonce": {"nonce": None},
            "expired": {"exp": now - 120},
            "late": {"iat": now - 3600},
            "early": {"iat": now + 3600},
            "no subject": {"sub": None},
        }
        if fault == "unsigned":
            return jwt.encode({"alg": "none"}, claims, key, algorithms=["none"])
        if fault == "shared key":
            return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(CLIENT_SECRET), algorithms=["HS256"])
        claims = {name: value for name, value in {**claims, **wrong.get(fault, {})}.items() if value is not None}
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, other_key if fault == "other key" else key)

    class Asked(OAuth2Request):  # type: ignore[misc]
        def __init__(self, handler: Handler) -> None:
            super().__init__(handler.command, state["issuer"] + handler.path, headers=dict(handler.headers))
            self._query = dict(parse_qsl(urlsplit(handler.path).query))
            self._form = dict(parse_qsl(handler.body.decode()))
            self.payload = BasicOAuth2Payload({**self._query, **self._form})
            self.payload._datalist = defaultdict(list, {k: [v] for k, v in self.payload.data.items()})

        @property
        def args(self) -> dict[str, str]:
            return self._query

        @property
        def form(self) -> dict[str, str]:
            return self._form

    class Server(AuthorizationServer):  # type: ignore[misc]
        def query_client(self, client_id: str) -> Any:
            from urllib.parse import unquote

            return Client() if unquote(client_id) == CLIENT_ID else None

        def save_token(self, token: dict[str, Any], request: Any) -> None:
            tokens[token["access_token"]] = request.user

        def create_oauth2_request(self, request: Any) -> Any:
            return Asked(request)

        def handle_response(self, status: int, body: Any, headers: Any) -> Any:
            return status, body, headers

        def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
            pass

    server = Server()
    server.register_token_generator("default", BearerTokenGenerator(lambda *a, **k: generate_token(42)))
    server.register_grant(Grant, [Token(require_nonce=True), CodeChallenge(required=True)])

    def configuration() -> dict[str, Any]:
        places = {f"{name}_endpoint": f"{state['issuer']}/{name}" for name in ("authorization", "token", "userinfo")}
        methods = {"token_endpoint_auth_methods_supported": ["client_secret_basic"]}
        return {"issuer": state["issuer"], "jwks_uri": f"{state['issuer']}/jwks", **places, **methods}

    class Handler(BaseHTTPRequestHandler):
        body = b""

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path == OPEN_ID_PATH:
                self.answer(200, configuration())
            elif path == "/jwks":
                self.answer(200, {"keys": [key.as_dict(private=False)]})
            elif path == "/authorization":
                grant = server.get_consent_grant(self, end_user=state["claims"])
                self.answer(*server.create_authorization_response(self, grant_user=state["claims"], grant=grant))
            elif path == "/userinfo":
                user = tokens[self.headers["Authorization"].removeprefix("Bearer ")]
                self.answer(200, {**user, **({"sub": "somebody"} if state["fault"] == "other person" else {})})
            else:
                self.answer(404, {})

        def do_POST(self) -> None:
            self.body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/set":
                state.update(json.loads(self.body))
                self.answer(200, {})
            elif self.path == "/token":
                status, told, headers = server.create_token_response(self)
                if state["fault"] == "no token":
                    told.pop("id_token")
                self.answer(status, "<html>" if state["fault"] == "no JSON" else told, headers)

        def answer(self, status: int, body: Any, headers: Any = ()) -> None:
            sent = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            for name, value in dict(headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state["issuer"] = f"http://127.0.0.1:{listening.server_port}"
    print(state["issuer"], flush=True)
    listening.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1])
