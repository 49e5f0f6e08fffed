"""A bucket that speaks S3, by django-storages and boto3, which are optional (``make setup EXTRAS=object-storage``)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore import exceptions as failures
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files.base import ContentFile
from django.utils.translation import gettext_lazy as _
from storages.backends.s3 import S3Storage

from annotation.site.media import MediaAway, StoredFile

STREAMED = TransferConfig(max_concurrency=4)  # in parts of 8 MB; AT_ONCE files share 32 connections
TRIES = 5  # of each request, with pauses in between, before a person is told
KEY = re.compile(r"../[^/]+")  # how our files are called; other things below the prefix are not ours
_CUT = (failures.IncompleteReadError, failures.ReadTimeoutError, failures.ResponseStreamingError)
_WORDS = {  # of the codes of S3, of those that we give other failures, and of every other
    "NoSuchBucket": _("there is no bucket %(bucket)s at %(endpoint)s. Make it, or correct REXVQA_MEDIA."),
    "InvalidAccessKeyId SignatureDoesNotMatch InvalidToken ExpiredToken NoCredentialsError": _(
        "%(endpoint)s does not accept the keys (%(code)s). Set REXVQA_MEDIA_ACCESS_KEY and REXVQA_MEDIA_SECRET_KEY."
    ),
    "AccessDenied AllAccessDisabled 403": _(
        "the keys may not use the bucket %(bucket)s (%(code)s): it is somebody else's, or they lack a right "
        "(ListBucket, GetObject, PutObject, DeleteObject, ListBucketMultipartUploads, AbortMultipartUpload)."
    ),
    "PermanentRedirect AuthorizationHeaderMalformed 301": _(
        "the bucket %(bucket)s is in another region (%(code)s). Set REXVQA_MEDIA_REGION."
    ),
    "RequestTimeTooSkewed": _("the clocks of this machine and of %(endpoint)s differ (%(code)s). Set them right."),
    "SSLError": _("the certificate of %(endpoint)s is not believed (%(why)s). Renew it, or set REXVQA_MEDIA_CA_FILE."),
    "NoAnswer": _("%(endpoint)s does not answer as S3 does. Look at REXVQA_MEDIA_ENDPOINT, network and server."),
    "": _("%(endpoint)s answers %(code)s, also when asked again. Look at the server there."),
}


class Bucket(S3Storage):  # type: ignore[misc]
    """One request for a file, whole in memory; one pool of connections for all threads; failures in words."""

    def __init__(self, text: str, *, is_quick: bool = False) -> None:
        bucket, _sign, prefix = text.removeprefix("s3://").partition("/")
        endpoint = settings.MEDIA_S3["endpoint_url"]
        tries, connect, read = (2, 1, 2) if is_quick else (TRIES, 5, 30)
        config = Config(
            retries={"mode": "standard", "max_attempts": tries},
            connect_timeout=connect,
            read_timeout=read,
            max_pool_connections=32,
            s3={"addressing_style": "path" if endpoint else "auto"},
            request_checksum_calculation="when_required",  # other makers' servers know Content-MD5 alone
            response_checksum_validation="when_required",
        )
        super().__init__(bucket_name=bucket, location=prefix, client_config=config, **settings.MEDIA_S3)
        self._connections = SimpleNamespace()  # a connection for each thread would cost each some MB
        self.text = text

    def __str__(self) -> str:
        return self.text

    def _open(self, name: str, mode: str = "rb") -> ContentFile[bytes]:
        with self._told():
            for left in reversed(range(TRIES)):
                answer = self._client.get_object(Bucket=self.bucket_name, Key=self._normalize_name(name))
                try:
                    return ContentFile(answer["Body"].read())
                except _CUT:
                    if not left:
                        raise
        raise AssertionError

    def _save(self, name: str, content: Any) -> str:
        data, key = content.read(), self._normalize_name(name)
        md5 = base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
        with self._told():
            self._client.put_object(Bucket=self.bucket_name, Key=key, Body=data, ContentMD5=md5)
        return name

    @property
    def _client(self) -> Any:
        return self.connection.meta.client

    def exists(self, name: str) -> bool:
        with self._told():
            return bool(super().exists(name))

    def delete(self, name: str) -> None:
        with self._told():
            super().delete(name)

    def entries(self) -> Iterator[StoredFile]:
        return (one for one in self.listed() if KEY.fullmatch(one.key))

    def listed(self, below: str = "") -> Iterator[StoredFile]:
        """Everything whose key begins so, also what is no file of an image."""
        prefix = self._prefix
        with self._told():
            for one in self.bucket.objects.filter(Prefix=f"{prefix}{below}"):
                key, tag = one.key.removeprefix(prefix), one.e_tag.strip('"')
                yield StoredFile(key, one.size, one.last_modified.timestamp(), tag if len(tag) == 32 else "")

    def upload(self, key: str, path: Path) -> None:
        """As ``save``, of a file of any size; a kill leaves parts of it, which ``forget_begun`` deletes."""
        with self._told():
            self._client.upload_file(str(path), self.bucket_name, self._normalize_name(key), Config=STREAMED)

    def download(self, key: str, path: Path) -> None:
        """Raises FileNotFoundError."""
        with self._told():
            self._client.download_file(self.bucket_name, self._normalize_name(key), str(path), Config=STREAMED)

    def forget_begun(self, below: str, before: datetime) -> None:
        with self._told():
            for one in self.bucket.multipart_uploads.filter(Prefix=f"{self._prefix}{below}"):
                if one.initiated < before:
                    one.abort()

    @property
    def _prefix(self) -> str:
        return f"{self.location}/" if self.location else ""

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raises FileNotFoundError for a file that is not there, MediaAway for every other failure."""
        try:
            yield
        except (ClientError, BotoCoreError, Boto3Error) as error:
            cause = error.__context__ if isinstance(error, Boto3Error) else None  # of a file in parts
            told = cause if isinstance(cause, ClientError) else error
            if isinstance(told, ClientError) and told.response["Error"]["Code"] in ("NoSuchKey", "404"):
                raise FileNotFoundError(self.text) from None
            raise MediaAway("media_away", f"{self.text}: {self._words(told)}", status=503) from error

    def _words(self, error: Exception) -> str:
        is_answer = isinstance(error, ClientError)
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
        why = re.search(r"certificate verify failed: ([^(]+)", str(error))
        told = {"endpoint": self.endpoint_url or "Amazon S3", "bucket": self.bucket_name, "code": code}
        sentence = next(
            (words for codes, words in _WORDS.items() if code in codes.split()), _WORDS["" if is_answer else "NoAnswer"]
        )
        return str(sentence) % {**told, "why": why[1].strip() if why else "no TLS"}
