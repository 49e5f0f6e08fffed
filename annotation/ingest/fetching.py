"""Images are fetched from a PACS into the ordinary ingest: found, those that are here left out, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import msgspec
from django.utils.translation import gettext as _

from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.ingest.exams import IngestResult, SearchText, Watcher, ingest_paths
from annotation.ingest.kernels.dicomweb import (
    NUMBER,
    Instance,
    Query,
)
from annotation.ingest.matching import stored_uids
from annotation.ingest.pacs import PacsAway, PacsClient, PacsRefused, pacs_named
from annotation.ingest.source_files import Found
from annotation.ingest.uploading import QUERY_FILE, folder_of, store_upload
from annotation.models import QuestionBank, Upload, User
from annotation.models.fields import public_id
from annotation.site import home_files

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
