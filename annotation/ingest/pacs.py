"""Asks a PACS by DICOMweb: one connection, one request after the other, each under one deadline.

The addresses are those of the settings and no others; the secret is in no sentence and no log.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar

import requests
import urllib3
from django.conf import settings
from django.utils.translation import gettext as _

from annotation.endpoints.client import Deadlines, WatchedAdapter
from annotation.endpoints.configured_endpoints import private_text
from annotation.endpoints.kernels.endpoint_list import VISIBLE
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.ingest.kernels.dicomweb import (
    BODY_PART,
    MODALITY,
    CutAnswer,
    Instance,
    Pacs,
    Query,
    instance_in,
    searches,
    study_in,
    write_part,
)
from annotation.refusals import Refused

T = TypeVar("T")
Params = dict[str, str | list[str]]
KEY_FOLDER = "dicomweb_keys"  # of the home; not in a backup
TIMEOUT = (10, 60)  # seconds: to connect, without a byte
SECONDS = 600  # for one answer
WAITS = (1, 4, 15, 60)  # seconds before each further try
LONGEST_WAIT = 300  # that a PACS may ask for
MOST_ANSWER_BYTES = 16 * 1024 * 1024  # of a search
READ_AT_ONCE = 64 * 1024
BUSY = (408, 429, 500, 502, 503, 504)
CUT = (CutAnswer, urllib3.exceptions.HTTPError, HTTPException)  # urllib3's are not OSError: a full disk is one


class PacsRefused(Refused):
    """A PACS cannot be asked, or does not answer as it must; the sentence holds no secret."""


class PacsAway(ConnectionError):
    """It does not answer now: a job is begun again by itself, and goes on with what is missing."""


class _NotGiven(Exception):
    """It answers, and not with this."""


def pacs_named(name: str) -> Pacs:
    """Raises PacsRefused."""
    found: Pacs | None = next((one for one in settings.DICOMWEB if one.name == name), None)
    if found is None:
        named = ", ".join(one.name for one in settings.DICOMWEB) or _("none")
        sentence = _(
            "There is no PACS of this name (%(named)s). Whoever runs the server names it in REXVQA_DICOMWEB."
        ) % {"named": named}
        raise PacsRefused("no_pacs", sentence, status=404, field="pacs")
    return found


def _authorization(pacs: Pacs) -> dict[str, str]:
    """``user:password``, or a token, of the environment or the home; nothing for a PACS that asks for none."""
    variable = f"REXVQA_DICOMWEB_KEY_{pacs.name.upper().replace('-', '_')}"
    secret = os.environ.get(variable, "").strip() or private_text(Path(settings.HOME) / KEY_FOLDER / pacs.name)
    if not secret:
        return {}
    if ":" in secret:
        return {"Authorization": "Basic " + base64.b64encode(secret.encode()).decode()}
    if not VISIBLE.fullmatch(secret):
        sentence = _("%(place)s is neither user:password nor a token without spaces.")
        raise PacsRefused("bad_key", sentence % {"place": variable})
    return {"Authorization": f"Bearer {secret}"}


class PacsClient:
    """Raises PacsRefused and PacsAway. ``pause`` waits so many seconds."""

    def __init__(self, pacs: Pacs, *, pause: Callable[[float], object] = time.sleep) -> None:
        self.pacs, self._pause = pacs, pause
        self.without_exam = list[str]()  # accession numbers that were asked for
        self._headers = _authorization(pacs) | {"Accept-Encoding": "identity", "User-Agent": "rexvqa-reading-room"}
        self._adapter = WatchedAdapter(
            certificates=settings.DICOMWEB_CERTIFICATES, max_retries=0, pool_connections=1, pool_maxsize=1
        )
        self._deadlines = Deadlines()

    @classmethod
    @contextmanager
    def of(cls, pacs: Pacs) -> Iterator[PacsClient]:
        client = cls(pacs)
        try:
            yield client
        finally:
            client._adapter.close()
            client._deadlines.close()

    def studies(self, query: Query) -> Iterator[str]:
        """The UIDs of the exams that may hold what is asked for, each once."""
        given = set[str]()
        for conditions in searches(query):
            found = self._search("studies", {**conditions})
            uids = dict.fromkeys(uid for one in found if (uid := study_in(one, query)))
            if not uids and "AccessionNumber" in conditions:
                self.without_exam.append(conditions["AccessionNumber"])
            yield from [uid for uid in uids if uid not in given]
            given.update(uids)

    def instances(self, study: str, query: Query) -> list[Instance]:
        """The images of an exam that are asked for."""
        asked: Params = {"includefield": [MODALITY, BODY_PART]}
        found = self._search(f"studies/{study}/instances", asked)
        if query.body_part and not any(BODY_PART in one for one in found):  # it may know them nevertheless
            found = self._search(f"studies/{study}/instances", asked | {"BodyPartExamined": query.body_part})
        images = (instance_in(one, study, query) for one in found)
        return list(dict.fromkeys(image for image in images if image is not None))

    def fetch(self, instance: Instance, target: Path) -> None:
        """Write its file, as the PACS has it. Raises ImageRefused (not_given, too_large), and OSError of the disk."""
        accept = 'multipart/related; type="application/dicom"; transfer-syntax=*'
        try:
            self._get(instance.path, {}, accept, lambda response: _write(response, target))
        except _NotGiven:
            raise ImageRefused("not_given") from None

    def _search(self, path: str, params: Params) -> list[Any]:
        """All that is found: a PACS which does not give it at once says so, and is asked for the others."""
        rows: list[Any] = []
        try:
            while True:
                offset: Params = {"offset": f"{len(rows)}"} if rows else {}
                page, has_more = self._get(path, params | offset, "application/dicom+json", _rows)
                if not has_more:
                    return rows + page
                if page == rows[-len(page) :]:  # nothing, or the same again
                    return rows
                rows += page
        except _NotGiven as answer:
            sentence = _(
                "The PACS “%(name)s” does not answer a search as DICOMweb asks (%(why)s). Is the address in "
                "REXVQA_DICOMWEB the part before /studies?"
            )
            raise PacsRefused("no_search", sentence % {"name": self.pacs.name, "why": answer}) from None

    def _get(self, path: str, params: Params, accept: str, read: Callable[[requests.Response], T]) -> T:
        """Raises _NotGiven where it answers without what was asked for."""
        headers = self._headers | {"Accept": accept}
        request = requests.Request("GET", f"{self.pacs.url}/{path}", params=params, headers=headers).prepare()
        for wait in (*WAITS, None):
            try:
                return self._asked(request, read)
            except requests.exceptions.SSLError:
                sentence = _("The certificate of the PACS “%(name)s” is not believed; see REXVQA_DICOMWEB_CA_FILE.")
                raise PacsRefused("certificate", sentence % {"name": self.pacs.name}) from None
            except _Busy as busy:
                why, seconds, is_given_up = f"{busy.status}", busy.seconds, busy.status == 500
            except CUT:
                why, seconds, is_given_up = _("cut off"), 0, True
            except (requests.RequestException, TimeoutError) as error:
                why, seconds, is_given_up = type(error).__name__, 0, False
            if wait is not None:
                self._pause(max(wait, seconds))
        if is_given_up:
            raise _NotGiven(why)
        sentence = _("The PACS “%(name)s” does not answer now (%(why)s). What came in stays; trying again goes on.")
        raise PacsAway(sentence % {"name": self.pacs.name, "why": why})

    def _asked(self, request: requests.PreparedRequest, read: Callable[[requests.Response], T]) -> T:
        with self._deadlines.of(SECONDS) as deadline:
            response = self._adapter.send(request, stream=True, timeout=TIMEOUT, verify=True)
            try:
                self._check(response)
                answer = read(response)
            finally:
                response.raw.close()  # where it was read to its end, its connection is back in the pool by now
            if deadline.is_over:  # an answer of unknown length seems to end when the connection does
                raise TimeoutError
        return answer

    def _check(self, response: requests.Response) -> None:
        status = response.status_code
        if status in (401, 403):
            sentence = _(
                "The PACS “%(name)s” refuses the user, the password or the token of this site (%(status)d). Whoever "
                "runs the server sets them."
            )
            raise PacsRefused("wrong_password", sentence % {"name": self.pacs.name, "status": status})
        if status in BUSY:
            asked = response.headers.get("retry-after", "")
            raise _Busy(status, min(int(asked), LONGEST_WAIT) if asked.isdecimal() else 0)
        if not 200 <= status < 300:
            raise _NotGiven(status)


class _Busy(Exception):
    def __init__(self, status: int, seconds: int) -> None:
        super().__init__(status)
        self.status, self.seconds = status, seconds


def _rows(response: requests.Response) -> tuple[list[Any], bool]:
    body = bytearray()
    for piece in response.raw.stream(READ_AT_ONCE, decode_content=True):
        body += piece
        if len(body) > MOST_ANSWER_BYTES:
            raise _NotGiven(_("too much"))
    try:
        found = json.loads(body or b"[]")
    except (ValueError, RecursionError):
        raise CutAnswer from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise _NotGiven(_("no list"))
    return found, response.headers.get("warning", "").startswith("299")


def _write(response: requests.Response, target: Path) -> None:
    n_bytes, limit = 0, settings.IMAGE_MAX_BYTES
    with target.open("wb") as file:

        def write(piece: bytes) -> None:
            nonlocal n_bytes
            n_bytes += file.write(piece)
            if n_bytes > limit:
                raise ImageRefused("too_large")

        pieces = response.raw.stream(READ_AT_ONCE, decode_content=True)
        write_part(pieces, response.headers.get("content-type", ""), write)
