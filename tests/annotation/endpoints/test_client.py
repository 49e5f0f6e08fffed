"""What the client makes of each thing that a server can do, over a real socket; and that the key is never seen."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
import requests.adapters
from pytest_django import Settings

from annotation.call_enums import CallOutcome, Ending
from annotation.endpoints.client import Exchange, Limits, ModelClient
from annotation.endpoints.kernels.completions import (
    ChatSettings,
    Message,
    chat_request,
    embeddings_request,
    outcome_of,
    read_completion,
)
from annotation.endpoints.kernels.endpoint_list import ApiKey, Endpoint
from rexvqa_site.env import env_certificates
from tests.annotation.endpoints.simulated_models import ALWAYS_A
from tests.annotation.endpoints.stand_in import Reply, StandIn, StandInFault

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "sk-planted/+=<&>9f8e7d6c5b"
REQUEST = chat_request(ALWAYS_A, [Message("user", ("Which?", b"picture"))], ChatSettings(seed=7, max_tokens=10))
AMPLE, SHORT = Limits(), Limits(read_seconds=0.4, total_seconds=0.8)  # short only where the answer never comes
CERTIFICATE = Path(__file__).with_name("self_signed.pem")

Fault = StandInFault
SLOW = (Fault.SLOW_FIRST_BYTE, Fault.SLOW_HEADERS, Fault.SLOW_BODY)
AFTER_FAULTS = {
    Fault.TOO_MANY: (Ending.HTTP_ERROR, 429, CallOutcome.NOT_ASKED),
    Fault.TOO_MANY_RETRY_AFTER: (Ending.HTTP_ERROR, 429, CallOutcome.NOT_ASKED),
    Fault.NO_QUOTA: (Ending.HTTP_ERROR, 429, CallOutcome.NOT_ASKED),
    Fault.REFUSED_FOR_GOOD: (Ending.HTTP_ERROR, 400, CallOutcome.REJECTED),
    Fault.EMPTY_TEXT: (Ending.ANSWERED, 200, CallOutcome.BROKEN),
    Fault.BROKEN: (Ending.HTTP_ERROR, 500, CallOutcome.NOT_ASKED),
    Fault.UNAVAILABLE: (Ending.HTTP_ERROR, 503, CallOutcome.NOT_ASKED),
    Fault.SLOW_FIRST_BYTE: (Ending.TIMED_OUT, None, CallOutcome.NOT_ASKED),
    Fault.SLOW_HEADERS: (Ending.TIMED_OUT, 200, CallOutcome.NOT_ASKED),
    Fault.SLOW_BODY: (Ending.TIMED_OUT, 200, CallOutcome.NOT_ASKED),
    Fault.CUT_BODY: (Ending.CONNECTION_FAILED, 200, CallOutcome.NOT_ASKED),
    Fault.BROKEN_JSON: (Ending.NOT_JSON, 200, CallOutcome.NOT_ASKED),
    Fault.HTML: (Ending.NOT_JSON, 200, CallOutcome.NOT_ASKED),
    Fault.EMPTY_CHOICES: (Ending.ANSWERED, 200, CallOutcome.NOT_ASKED),
    Fault.REFUSAL: (Ending.ANSWERED, 200, CallOutcome.REFUSED),
    Fault.LENGTH: (Ending.ANSWERED, 200, CallOutcome.CUT),
    Fault.NO_USAGE: (Ending.ANSWERED, 200, CallOutcome.ANSWERED),
    Fault.OTHER_MODEL: (Ending.ANSWERED, 200, CallOutcome.ANSWERED),
    Fault.REDIRECT: (Ending.REDIRECT, 307, CallOutcome.NOT_ASKED),
    Fault.KEY_ECHOED: (Ending.HTTP_ERROR, 401, CallOutcome.NOT_ASKED),
    Fault.ENDLESS: (Ending.TOO_LARGE, 200, CallOutcome.NOT_ASKED),
}


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn(seed=1) as server:
        yield server


@contextmanager
def client_of(
    server: StandIn, *, key: ApiKey | None = None, limits: Limits = AMPLE, url: str = ""
) -> Iterator[ModelClient]:
    with ModelClient(Endpoint("stand-in", url or server.url), key, limits=limits) as client:
        yield client


def send(server: StandIn, *faults: StandInFault, key: ApiKey | None = None, limits: Limits = AMPLE) -> Exchange:
    server.faults.extend(faults)
    with client_of(server, key=key, limits=limits) as client:
        return client.send(REQUEST, at=AT)


def test_a_good_answer(server: StandIn) -> None:
    exchange = send(server, key=ApiKey(SECRET))
    assert (exchange.ending, exchange.status, exchange.problem) == (Ending.ANSWERED, 200, "")
    assert (exchange.request_sha256, exchange.started_at) == (REQUEST.sha256, AT)
    assert read_completion(exchange.body).text == "A"
    (entry,) = server.ledger
    assert (entry.sha256, entry.n_images, entry.has_key) == (REQUEST.sha256, 1, True)


def test_both_routes_over_one_connection(server: StandIn) -> None:
    with client_of(server) as client:
        for request in (REQUEST, embeddings_request("stand-in-embedding", ["nodule"])):
            assert client.send(request, at=AT).ending == Ending.ANSWERED
    assert [entry.path for entry in server.ledger] == ["/v1/chat/completions", "/v1/embeddings"]
    assert {entry.has_key for entry in server.ledger} == {False}
    assert server.n_connections == 1


@pytest.mark.parametrize("fault", StandInFault)
def test_each_fault_and_the_next_request(server: StandIn, fault: StandInFault) -> None:
    """Nothing is raised, asking once is asking once, and the client works afterwards."""
    server.faults.append(fault)
    with client_of(server, limits=SHORT if fault in SLOW else AMPLE) as client:
        exchange = client.send(REQUEST, at=AT)
        client.limits = AMPLE
        after = client.send(REQUEST, at=AT)
    outcome = outcome_of(exchange.ending, read_completion(exchange.body), exchange.status)
    assert (exchange.ending, exchange.status, outcome) == AFTER_FAULTS[fault]
    assert after.ending == Ending.ANSWERED
    assert [entry.fault for entry in server.ledger] == [fault, ""]


def test_retry_after_is_kept(server: StandIn) -> None:
    assert send(server, Fault.TOO_MANY_RETRY_AFTER).headers == (("retry-after", "2"),)
    assert send(server, Fault.TOO_MANY).headers == ()


@pytest.mark.parametrize("fault", [Fault.SLOW_HEADERS, Fault.SLOW_BODY])
def test_a_byte_now_and_then_does_not_hold_the_client(server: StandIn, fault: StandInFault) -> None:
    """No single read takes long here: only the limit of the whole exchange ends it."""
    exchange = send(server, fault, limits=Limits(read_seconds=60, total_seconds=0.3))
    assert (exchange.ending, exchange.body) == (Ending.TIMED_OUT, b"")


def test_an_answer_that_ends_with_the_time_is_not_taken_for_whole(server: StandIn) -> None:
    limits = Limits(read_seconds=60, total_seconds=0.3, answer_bytes=2**40)
    assert send(server, Fault.ENDLESS, limits=limits).ending == Ending.TIMED_OUT


def test_an_announced_size_over_the_limit_is_not_read(server: StandIn) -> None:
    exchange = send(server, limits=Limits(answer_bytes=100))
    assert (exchange.ending, exchange.body) == (Ending.TOO_LARGE, b"")


def test_nobody_listens() -> None:
    with StandIn(seed=1) as server:
        url = server.url
    with ModelClient(Endpoint("gone", url), None) as client:
        exchange = client.send(REQUEST, at=AT)
    found = (exchange.ending, exchange.status, exchange.problem)
    assert found == (Ending.CONNECTION_FAILED, None, "NewConnectionError")


def test_a_redirect_is_not_followed(server: StandIn) -> None:
    with StandIn(seed=1, faults=[Fault.REDIRECT], redirect_to=f"{server.url}/chat/completions") as first:
        assert send(first).ending == Ending.REDIRECT
    assert server.ledger == []


def test_the_environment_is_not_read(server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login name password word\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with StandIn(seed=1) as other:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_BASE_URL"):
            monkeypatch.setenv(variable, other.url.removesuffix("/v1"))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
        assert send(server).ending == Ending.ANSWERED
        assert other.ledger == []
    assert [entry.has_key for entry in server.ledger] == [False]


# --- the key ---
def forms_of(secret: str) -> list[str]:
    quoted = quote(secret, safe="")
    in_base64 = [
        encode(before + secret.encode() + b"end").decode()
        for encode in (base64.b64encode, base64.urlsafe_b64encode)
        for before in (b"", b"1", b"12")
    ]
    return [
        *(secret, json.dumps({"a": json.dumps(secret)}), quoted, quoted.lower(), quote(quoted), *in_base64),
        secret.replace("/", "\\/").replace("<", "\\u003C").replace("&", "\\u0026"),
        secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
        "".join(f"\\u{ord(one):04x}" for one in secret),
    ]


@pytest.mark.parametrize("form", forms_of(SECRET))
def test_the_key_is_taken_out_however_it_is_written(form: str) -> None:
    cleaned = ApiKey(SECRET).taken_out(f"before {form} after")
    assert re.fullmatch(r"before .*\[key removed\].* after", cleaned)
    assert [word for word in ("planted", base64.b64encode(b"planted").decode()[:8]) if word in cleaned] == []
    assert len(cleaned) < 50
    assert ApiKey(SECRET).taken_out_of_bytes(f"before {form} after".encode()) == cleaned.encode()


def test_other_text_stays_as_it_is() -> None:
    text = json.dumps({"text": "sk-plante d/ \\ \\\\ [key] é"}, ensure_ascii=False)
    assert ApiKey(SECRET).taken_out(text) == text


def test_what_nearly_is_the_key_costs_no_time() -> None:
    """A pattern with two ways to read a character would try all of them together, and never end."""
    nearly = f"{SECRET * 4}x"
    assert ApiKey(f"{SECRET * 4}y").taken_out(nearly) == nearly


@pytest.mark.parametrize(("fault", "status"), [("", 401), *((fault, 200) for fault in ("", *StandInFault))])
def test_a_planted_key_is_nowhere(fault: str, status: int, caplog: pytest.LogCaptureFixture) -> None:
    """A server that repeats the key in all its forms, whatever else goes wrong."""
    choice = {"message": {"role": "assistant", "content": " ".join(forms_of(SECRET))}}
    body = json.dumps({"choices": [choice], "model": SECRET, "usage": None, "error": quote(SECRET)}).encode()
    echo = Reply(status, body, {"Request-Id": f"of {quote(SECRET)}", "Retry-After": SECRET})
    key = ApiKey(SECRET)
    with StandIn(seed=1, reply=echo) as server, caplog.at_level(logging.DEBUG):
        server.faults.extend([StandInFault(fault)] if fault else [])
        exchange = send(server, key=key, limits=SHORT if fault in SLOW else AMPLE)
        logging.getLogger("x").warning("%s %r %s", key, key, exchange)
    shown = f"{exchange!r} {exchange.headers} {exchange.body!r} {read_completion(exchange.body)} {caplog.text}"
    assert "planted" not in shown
    assert ApiKey(SECRET).taken_out(shown) == shown
    assert fault or shown.count("[key removed]") > 20


def test_the_key_does_not_show_itself() -> None:
    key = ApiKey(SECRET)
    assert {repr(key), str(key), f"{key}", f"{[key]}"[1:-1]} == {"ApiKey(hidden)"}
    with pytest.raises(TypeError, match="not stored"):
        key.__reduce__()


@pytest.mark.parametrize(
    "secret", ["", "short", "with a space", "new\nline-in-it", 'quo"ted-key', "back\\slash", "é" * 9]
)
def test_what_cannot_be_a_key(secret: str) -> None:
    with pytest.raises(ValueError, match="8 to 500") as refused:
        ApiKey(secret)
    assert not secret or secret not in str(refused.value)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, "{}".encode("utf-16")),
        Reply(200, b'{"a": "\xff"}'),
        Reply(200, b'{"a": "\0"}'),
        Reply(200, b"{}", {"Content-Encoding": "br"}),
    ],
)
def test_what_is_not_plain_text_is_not_kept(reply: Reply) -> None:
    """An echoed key would not be found in it."""
    with StandIn(seed=1, reply=reply) as server:
        exchange = send(server)
    assert (exchange.ending, exchange.body) == (Ending.NOT_JSON, b"")


def test_a_packed_answer_is_read_and_no_more_of_it_than_of_a_plain_one() -> None:
    packed = Reply(200, gzip.compress(b'{"a": 1}'), {"Content-Encoding": "gzip"})
    bomb = Reply(200, gzip.compress(b" " * 100_000), {"Content-Encoding": "gzip"})
    with StandIn(seed=1, reply=packed) as server:
        assert send(server).body == b'{"a": 1}'
    with StandIn(seed=1, reply=bomb) as server:
        assert send(server, limits=Limits(answer_bytes=10_000)).ending == Ending.TOO_LARGE
    with StandIn(seed=1, reply=Reply(200, b"{}", {"Content-Encoding": "gzip"})) as server:
        assert send(server).ending == Ending.CONNECTION_FAILED, "said to be packed, and is not"


# --- TLS ---
@contextmanager
def over_tls(*faults: StandInFault, certificate: Path = CERTIFICATE) -> Iterator[tuple[StandIn, str]]:
    server = StandIn(seed=1, faults=faults)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with server:
        yield server, server.url.replace("http:", "https:")


def test_a_certificate_of_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.setenv(variable, str(CERTIFICATE))
    with over_tls() as (server, url), client_of(server, url=url) as client:
        exchange = client.send(REQUEST, at=AT)
        assert (exchange.ending, exchange.problem) == (Ending.CONNECTION_FAILED, "SSLCertVerificationError")
        assert server.ledger == []


@pytest.fixture
def department(tmp_path: Path) -> tuple[Path, Path]:
    """Certificates of an authority of its own, and of a server on 127.0.0.1 that it has signed, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("the command openssl, which makes the certificates, is not installed")

    def openssl(*arguments: str) -> None:
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
        command = ["openssl", "req", "-x509", "-batch", *key, *arguments]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    openssl("-subj", "/CN=Radiology", "-keyout", "ca.key", "-out", "ca.pem")
    of_server = ("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE")
    openssl("-subj", "/CN=models", "-CA", "ca.pem", "-CAkey", "ca.key", *of_server, "-keyout", "s.key", "-out", "s.pem")
    server = tmp_path / "server.pem"
    server.write_text((tmp_path / "s.key").read_text() + (tmp_path / "s.pem").read_text())
    return tmp_path / "ca.pem", server


def test_an_authority_of_the_department_is_believed_where_it_is_named(
    department: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """Beside the public ones, by the way to models alone, and for what it has signed only."""
    authority, certificate = department
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", str(CERTIFICATE))  # the public ones
    with over_tls(certificate=certificate) as (server, url), over_tls() as (public, public_url):
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        with client_of(server, url=url) as client:
            assert client.send(REQUEST, at=AT).problem == "SSLCertVerificationError"
        monkeypatch.setenv("REXVQA_MODEL_CA_FILE", str(authority))
        settings.MODEL_CERTIFICATES = env_certificates("REXVQA_MODEL_CA_FILE")
        for asked, address in ((server, url), (public, public_url)):
            with client_of(asked, url=address) as client:
                assert client.send(REQUEST, at=AT).ending == Ending.ANSWERED
        with client_of(server, url=url.replace("127.0.0.1", "localhost")) as client:
            assert client.send(REQUEST, at=AT).problem == "SSLCertVerificationError"
        assert (len(server.ledger), len(public.ledger)) == (1, 1)


def test_the_total_limit_holds_within_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", str(CERTIFICATE))
    with over_tls(Fault.NO_USAGE, Fault.SLOW_BODY) as (server, url), client_of(server, url=url) as client:
        assert client.send(REQUEST, at=AT).ending == Ending.ANSWERED
        client.limits = Limits(read_seconds=60, total_seconds=0.3)
        assert client.send(REQUEST, at=AT).ending == Ending.TIMED_OUT
        client.limits = AMPLE
        assert client.send(REQUEST, at=AT).ending == Ending.ANSWERED
