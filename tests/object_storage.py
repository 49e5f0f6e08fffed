"""An object storage on 127.0.0.1 that speaks S3 (moto), behind a proxy that spoils one answer in twenty."""

from __future__ import annotations

import http.client
import itertools
import secrets
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

ERROR = "<Error><Code>{}</Code><Message>as asked for by a test</Message></Error>"
ONE_IN = 20


class ObjectStorage:
    """``spoilt``: how many answers were; ``refuses``: a code of S3 and a status with which everything is answered."""

    def __init__(self) -> None:
        self.url, self.spoilt, self.asked = "", 0, 0
        self.refuses: tuple[str, int] | None = None

    def options(self, **more: Any) -> dict[str, Any]:
        keys = {"access_key": "of-the-tests", "secret_key": "not-checked-by-moto"}
        return {"endpoint_url": self.url, "region_name": "us-east-1", "verify": None, **keys, **more}

    def make(self, bucket: str) -> str:
        """An empty bucket of this name, as REXVQA_MEDIA says it, with a prefix."""
        import boto3

        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
        boto3.client("s3", endpoint_url=self.url, **keys).create_bucket(Bucket=bucket)
        return f"s3://{bucket}/of/site"


class TwoHomes:
    """Two machines with one database and one bucket, and a home each: ``at`` says where what follows happens."""

    def __init__(self, folder: Path, settings: Settings, s3: ObjectStorage) -> None:
        from annotation.site.media import place_at

        s3.refuses, settings.MEDIA_S3 = None, s3.options()
        place_at.cache_clear()
        settings.NODES = 2
        settings.MEDIA = s3.make(f"two{secrets.token_hex(6)}")
        self.folder, self.settings = folder, settings
        self.at("a")

    def at(self, name: str) -> Path:
        home = self.folder / name
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        self.settings.HOME, self.settings.MEDIA_ROOT, self.settings.TEMP_ROOT = home, home / "media", home / "tmp"
        self.settings.FILE_UPLOAD_TEMP_DIR = str(home / "tmp")
        return home

    def left(self) -> list[str]:
        """Files in both homes; none may be one that the other needs."""
        found = [path for path in self.folder.rglob("*") if path.is_file()]
        return sorted(str(path.relative_to(self.folder)) for path in found)

    def in_bucket(self) -> list[str]:
        """Files that are no images."""
        from annotation.site.media import place_at

        place: Any = place_at(self.settings.MEDIA)
        return sorted(one.key for one in place.listed("home/"))


@contextmanager
def object_storage(certificate: Path | None = None) -> Iterator[ObjectStorage]:
    """``certificate``: speak TLS with this one (with its key, PEM)."""
    pytest.importorskip("boto3")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    found, numbers = ObjectStorage(), itertools.count(1)

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            sent, number = self.rfile.read(int(self.headers.get("Content-Length") or 0)), next(numbers)
            found.asked += 1
            if found.refuses:
                return self.answer(found.refuses[1], {}, ERROR.format(found.refuses[0]).encode())
            spoils = number % ONE_IN == 0
            found.spoilt += spoils
            if spoils and number % (3 * ONE_IN) == 0:
                return self.answer(500, {}, ERROR.format("InternalError").encode())
            if spoils and number % (3 * ONE_IN) == ONE_IN:  # before the storage has seen it
                self.close_connection = True
                return None
            line = http.client.HTTPConnection(host, port)
            line.request(self.command, self.path, sent, dict(self.headers))
            answer = line.getresponse()
            body = answer.read()
            line.close()
            return self.answer(answer.status, dict(answer.getheaders()), body, cut=spoils)

        do_PUT = do_POST = do_DELETE = do_HEAD = do_GET  # noqa: N815

        def answer(self, status: int, headers: dict[str, str], body: bytes, *, cut: bool = False) -> None:
            self.send_response(status)
            length = headers.get("Content-Length", str(len(body))) if self.command == "HEAD" else str(len(body))
            dropped = ("content-length", "transfer-encoding", "connection", "date", "server")
            for name in (name for name in headers if name.lower() not in dropped):
                self.send_header(name, headers[name])
            self.send_header("Content-Length", length)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[: len(body) // 2] if cut else body)
            self.close_connection = self.close_connection or cut

        def log_message(self, format: str, *args: object) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        proxy.socket = context.wrap_socket(proxy.socket, server_side=True)
    found.url = f"http{'s' if certificate else ''}://127.0.0.1:{proxy.server_port}"
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        proxy.shutdown()
        proxy.server_close()
        server.stop()


def expired_certificate(place: Path) -> Path:
    """For 127.0.0.1, with its key, in one file."""
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    past = datetime(2020, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), past, past + timedelta(9))
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    signed = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    private = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem = serialization.Encoding.PEM
    place.write_bytes(signed.public_bytes(pem) + key.private_bytes(pem, *private))
    return place
