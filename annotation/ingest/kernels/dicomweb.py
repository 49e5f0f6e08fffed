"""What is asked of a PACS, what its answers say, and the file within an answer (DICOM PS3.18). Pure.

What a PACS answers is checked against what was asked: one that does not know a condition gives all that it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from email.message import Message
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from msgspec import Struct

from annotation.endpoints.kernels.endpoint_list import named_servers

UID = re.compile(r"[0-9.]{1,64}")
NUMBER = re.compile(r"[^\x00-\x1f\\*?,\x7f]{1,64}")  # of a request: with * or ? a PACS would give others as well
TITLE = re.compile(r"[!-\[\]-~](?:[ -\[\]-~]{0,14}[!-\[\]-~])?")
STUDY_DATE, ACCESSION, MODALITIES, MODALITY, BODY_PART = "00080020", "00080050", "00080061", "00080060", "00180015"
STUDY_UID, SERIES_UID, SOP_UID = "0020000D", "0020000E", "00080018"
LONGEST_HEAD = 16 * 1024


class Pacs(Struct, frozen=True):
    """``url`` is the part before ``/studies``, without a slash at its end."""

    name: str
    url: str


def pacs_from(text: str) -> tuple[Pacs, ...]:
    """Of a list ``name=URL``. Raises ValueError, which does not repeat what is there."""
    found = []
    for name, url, words in named_servers(text, "https://host/dicom-web"):
        if words:
            raise ValueError(f"behind the URL of {name!r} nothing is to follow")
        found.append(Pacs(name, url.rstrip("/")))
    return tuple(found)


class Sender(Struct, frozen=True):
    """Who may send images: a machine that calls itself so, from there."""

    title: str
    network: IPv4Network | IPv6Network


def senders_from(text: str) -> tuple[Sender, ...]:
    """Of a list ``TITLE=ADDRESS``. Raises ValueError."""
    found = []
    for number, entry in enumerate(filter(None, (part.strip() for part in text.split(","))), start=1):
        title, _equals, place = (part.strip() for part in entry.partition("="))
        if not TITLE.fullmatch(title) or not place:
            raise ValueError(f"entry {number} is not of the form TITLE=10.0.0.5, with a title of 16 characters at most")
        found.append(Sender(title, ip_network(place)))
    return tuple(found)


class Query(Struct, frozen=True):
    """Which images are wanted: of these days, or of these accession numbers."""

    modalities: tuple[str, ...]
    first: date | None = None
    last: date | None = None
    body_part: str = ""
    accession_numbers: tuple[str, ...] = ()
    most: int = 1000


class Instance(Struct, frozen=True):
    """An image in the PACS, by its UIDs."""

    study: str
    series: str
    sop: str

    @property
    def path(self) -> str:
        return f"studies/{self.study}/series/{self.series}/instances/{self.sop}"


def searches(query: Query) -> Iterator[dict[str, str]]:
    """The conditions of each search for exams: of one number, or of one day, so that an answer has an end.

    Parts of an answer (limit, offset) would be another way; there are PACS that give no second part.
    """
    if query.accession_numbers:
        yield from ({"AccessionNumber": number} for number in query.accession_numbers)
    elif query.first and query.last:
        days = (query.first + timedelta(n) for n in range((query.last - query.first).days + 1))
        yield from (
            {"StudyDate": f"{day:%Y%m%d}", "ModalitiesInStudy": one} for day in days for one in query.modalities
        )


def study_in(found: Any, query: Query) -> str:
    """The UID of an exam that was found; empty for one that was not asked for."""
    day = value_in(found, STUDY_DATE)
    if (query.first and day < f"{query.first:%Y%m%d}") or (query.last and day > f"{query.last:%Y%m%d}"):
        return ""
    if query.accession_numbers and value_in(found, ACCESSION) not in query.accession_numbers:
        return ""
    uid = value_in(found, STUDY_UID)
    return uid if UID.fullmatch(uid) else ""


def instance_in(found: Any, study: str, query: Query) -> Instance | None:
    """None for one that was not asked for. What a PACS does not say of modality and body part, its image will."""
    for tag, wanted in ((MODALITY, query.modalities), (BODY_PART, (query.body_part,) if query.body_part else ())):
        said = value_in(found, tag).upper()
        if wanted and said not in wanted and (said or tag in found):
            return None
    series, sop = value_in(found, SERIES_UID), value_in(found, SOP_UID)
    return Instance(study, series, sop) if UID.fullmatch(series) and UID.fullmatch(sop) else None


def value_in(found: Any, tag: str) -> str:
    """The first value, of DICOM JSON; empty where there is none."""
    try:
        return str(found[tag]["Value"][0] or "").strip()
    except (LookupError, TypeError):
        return ""


class CutAnswer(Exception):
    """The end of an answer did not come."""


def write_part(pieces: Iterable[bytes], content_type: str, write: Callable[[bytes], object]) -> None:
    """Write the one file of an answer, which is multipart, or that file alone. Raises CutAnswer.

    No more of it is in memory than a piece and a boundary.
    """
    head = Message()
    head["content-type"] = content_type
    boundary = head.get_boundary()
    if not boundary or head.get_content_maintype() != "multipart":
        for piece in pieces:
            write(piece)
        return
    stream = _Pieces(pieces)
    delimiter = b"\r\n--" + boundary.encode("latin-1", "replace")
    stream.skip(delimiter)
    stream.skip(b"\r\n\r\n")
    for piece in stream.until(delimiter):
        write(piece)


class _Pieces:
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._left = iter(pieces), bytearray(b"\r\n")  # before a boundary that is the first line

    def until(self, mark: bytes) -> Iterator[bytes]:
        """What comes before the mark, which is taken as well."""
        while (place := self._left.find(mark)) < 0:
            if (n := len(self._left) - len(mark) + 1) > 0:
                yield bytes(self._left[:n])
                del self._left[:n]
            piece = next(self._pieces, None)
            if piece is None:
                raise CutAnswer
            self._left += piece
        yield bytes(self._left[:place])
        del self._left[: place + len(mark)]

    def skip(self, mark: bytes) -> None:
        if sum(len(piece) for piece in self.until(mark)) > LONGEST_HEAD:
            raise CutAnswer
