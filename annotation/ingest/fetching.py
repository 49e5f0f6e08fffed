"""Images are fetched from a PACS into the ordinary ingest: found, those that are here left out, one after the other.

A PACS is asked by DICOMweb: one connection, one request after the other, each under one deadline. The addresses are
those of the settings and no others; the secret is in no sentence and no log.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import requests
import urllib3
from django.conf import settings
from django.utils.translation import gettext as _

from annotation.endpoints.client import Deadlines, WatchedAdapter
from annotation.endpoints.configured_endpoints import private_text
from annotation.endpoints.kernels.endpoint_list import VISIBLE
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.ingest.exams import IngestResult, SearchText, Watcher, ingest_paths
from annotation.ingest.kernels.dicomweb import (
    BODY_PART,
    MODALITY,
    NUMBER,
    CutAnswer,
    Instance,
    Pacs,
    Query,
    instance_in,
    searches,
    study_in,
    write_part,
)
from annotation.ingest.matching import stored_uids
from annotation.ingest.source_files import Found
from annotation.ingest.uploading import QUERY_FILE, folder_of, store_upload
from annotation.models import QuestionBank, Upload, User
from annotation.models.fields import public_id
from annotation.refusals import Refused
from annotation.site import home_files

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


MOST_IMAGES, MOST_NUMBERS, MOST_DAYS = 20_000, 2_000, 366


@dataclass
class Fetched:
    """What came in; ``problem`` is what ended it before all was there."""

    result: IngestResult
    n_known: int = 0  # here before, not fetched
    n_bytes: int = 0
    has_more: bool = False
    problem: PacsRefused | PacsAway | None = None


def query_of(
    *,
    modalities: Sequence[str],
    first: date | None,
    last: date | None,
    body_part: str,
    accession_numbers: Sequence[str],
    most: int,
    today: date,
) -> Query:
    """Raises PacsRefused for what would fetch everything, or what no PACS can be asked. Days end today."""
    numbers = tuple(dict.fromkeys(stripped for number in accession_numbers if (stripped := number.strip())))
    part = body_part.strip().upper()
    if not numbers and first is None:
        sentence = _("Give a first day, or accession numbers: a PACS is never asked for all it has.")
        raise _unfit("no_condition", sentence, "first")
    last = last or (today if first else None)
    if first and last and not 0 <= (last - first).days < MOST_DAYS:
        sentence = _("The last day is not before the first, and %(n)d days at most are asked for at once.")
        raise _unfit("bad_days", sentence % {"n": MOST_DAYS}, "last")
    if len(numbers) > MOST_NUMBERS or any(not NUMBER.fullmatch(one) for one in (*numbers, *([part] if part else []))):
        sentence = _("At most %(n)d accession numbers, each of 64 characters at most and without *, ?, \\ and commas.")
        raise _unfit("bad_number", sentence % {"n": MOST_NUMBERS}, "accession_numbers")
    if not 0 < most <= MOST_IMAGES or not modalities:
        sentence = _("At least one modality, and 1 to %(most)d images at once.") % {"most": MOST_IMAGES}
        raise _unfit("bad_most", sentence, "most")
    return Query(tuple(modalities), first, last, part, numbers, most)


def keep_fetch(pacs: str, query: Query, *, bank: QuestionBank | None, actor: User, at: datetime) -> Upload:
    """Start the job. The accession numbers are in a file of their own until it has succeeded, and nowhere else; then
    those without an exam, as long as working files are kept.
    """
    name, named = public_id(), pacs_named(pacs)
    folder = folder_of(name)
    (folder / "files").mkdir(parents=True, mode=0o700)
    (folder / QUERY_FILE).touch(mode=0o600)
    (folder / QUERY_FILE).write_bytes(msgspec.json.encode(query))
    home_files.hand_over(folder)
    days = {"first": query.first, "last": query.last}
    asked = {
        "pacs": named.name,
        **{key: day.isoformat() for key, day in days.items() if day},
        "modalities": list(query.modalities),
        "body_part": query.body_part,
        "numbers": len(query.accession_numbers),
        "most": query.most,
    }
    title = _("Images from the PACS “%(name)s”") % {"name": named.name}
    return store_upload(name, title, asked=asked, bank=bank, actor=actor, at=at)


def fetch_upload(
    upload: Upload, folder: Path, earlier: Sequence[datetime], *, at: datetime, search_text: SearchText, watch: Watcher
) -> tuple[IngestResult, dict[str, Any]]:
    """Fetch what its job asks for. Raises PacsRefused and PacsAway; begun again it goes on with what is missing.

    Beside the result: what is told of the fetch, with the accession numbers that have no exam there. ``earlier``: when
    runs of this job before were begun.
    """
    query = msgspec.json.decode((folder / QUERY_FILE).read_bytes(), type=Query)
    (folder / "files").mkdir(exist_ok=True, mode=0o700)
    with PacsClient.of(pacs_named(upload.asked["pacs"])) as client:
        fetched = fetch_images(
            client,
            query,
            bank=upload.bank,
            actor=upload.created_by,
            at=at,
            folder=folder / "files",
            search_text=search_text,
            watch=watch,
        )
    result = fetched.result
    Upload.objects.filter(pk=upload.pk).update(
        n_files=upload.n_files + result.n_files, n_bytes=upload.n_bytes + fetched.n_bytes
    )
    if fetched.problem is not None:
        raise fetched.problem
    n_before = result.add_earlier(earlier)
    result.n_files += n_before
    told = {"known": max(0, fetched.n_known - n_before), "more": fetched.has_more}
    return result, told | {"without_exam": client.without_exam}


def fetch_images(
    client: PacsClient,
    query: Query,
    *,
    bank: QuestionBank | None,
    actor: User | None,
    at: datetime,
    folder: Path,
    search_text: SearchText,
    watch: Watcher | None,
) -> Fetched:
    """Take in what is asked for and not here yet. ``folder`` holds one file at a time."""
    fetched = Fetched(IngestResult())
    try:
        wanted = _find(client, query, fetched, watch)
    except (PacsRefused, PacsAway) as problem:
        fetched.problem = problem
        return fetched
    fetched.result = ingest_paths(
        (),
        fetched=_files(client, wanted, fetched, folder),
        total=len(wanted),
        bank=bank,
        actor=actor,
        at=at,
        uploaded_from=folder,
        search_text=search_text,
        watch=watch,
    )
    return fetched


def _find(client: PacsClient, query: Query, fetched: Fetched, watch: Watcher | None) -> list[Instance]:
    wanted: list[Instance] = []
    tell = watch or (lambda done, total: None)
    for study in client.studies(query):
        tell(0, 0)
        found = client.instances(study, query)
        known = stored_uids([one.sop for one in found])
        fetched.n_known += len(known)
        wanted += [one for one in found if one.sop not in known]
        if len(wanted) > query.most:
            fetched.has_more = True
            break
    return wanted[: query.most]


def _files(client: PacsClient, wanted: Sequence[Instance], fetched: Fetched, folder: Path) -> Iterator[Found]:
    """What the PACS gives, until it is away; what came by then is taken in."""
    for instance in wanted:
        target = folder / f"{instance.sop}.dcm"
        try:
            client.fetch(instance, target)
            fetched.n_bytes += target.stat().st_size
            yield Found(target, target.name)
        except ImageRefused as refused:
            yield Found(target, target.name, refused=refused.code)
        except (PacsRefused, PacsAway) as problem:
            fetched.problem = problem
            return
        finally:
            target.unlink(missing_ok=True)


def _unfit(code: str, sentence: str, field: str) -> PacsRefused:
    return PacsRefused(code, sentence, status=422, field=field)
