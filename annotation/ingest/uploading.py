"""Files that a person sends through the browser: checked, kept beside the database, and taken in by a job."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypedDict

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.deleting import BinRefused, note_purged
from annotation.audit.recording import record
from annotation.enums import JobQueue
from annotation.ingest.describing import credit_images
from annotation.ingest.kernels.credits import IngestRefused, parse_credits
from annotation.ingest.searching import check_text
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue
from annotation.models import Image, QuestionBank, Upload, User
from annotation.models.fields import public_id
from annotation.site import home_files


class IngestParams(TypedDict):
    upload: str


JOB_KIND: JobKind[IngestParams] = JobKind("ingest_upload", JobQueue.IMAGES)
PURPOSE = "images"
CREDITS_FILE = "credits.csv"
QUERY_FILE = "query.json"  # what to fetch from a PACS, in place of files that were sent
WITHOUT_EXAM_FILE = "without_exam.txt"  # the accession numbers of it that have none
MOST_PARTS = 32
MOST_UNMET = 500  # images that no question waited for, kept to tell which names came near


def uploads_of_images() -> QuerySet[Upload]:
    return Upload.objects.filter(purpose=PURPOSE).select_related("created_by", "bank", "job")


class SentFile(Struct, frozen=True):
    """One file as sent: its path in the chosen folder (or its name), and its content."""

    path: str
    content: UploadedFile[Any]


def keep_upload(
    files: Sequence[SentFile],
    *,
    credits_table: bytes | None,
    bank: QuestionBank | None,
    actor: User,
    at: datetime,
    most_bytes: int | None = None,
) -> Upload:
    """Keep the files and start the job that takes them in. Raises IngestRefused before anything is stored.

    ``most_bytes``: of what nobody sends through the browser, in place of the limit for that.
    """
    paths = check_upload(files, credits_table, most_bytes or settings.UPLOAD_MAX_BYTES)
    name = public_id()
    folder = folder_of(name)
    try:
        _write(folder, files, paths, credits_table)
        home_files.hand_over(folder)
        title = ngettext("Upload of %(n)d file", "Upload of %(n)d files", len(files)) % {"n": len(files)}
        n_bytes = sum(file.content.size or 0 for file in files)
        return store_upload(name, title, n_files=len(files), n_bytes=n_bytes, bank=bank, actor=actor, at=at)
    except BaseException:
        home_files.drop(folder)
        raise


def check_upload(files: Sequence[SentFile], credits_table: bytes | None, most_bytes: int) -> list[PurePosixPath]:
    """The paths under which the files are kept. Raises IngestRefused with the limit or the rule that was broken."""
    if not files:
        raise _unfit("no_files", _("No file was chosen. Choose images, a folder or a ZIP archive."))
    if len(files) > settings.UPLOAD_MAX_FILES:
        sentence = _("%(n)d files are more than the %(most)d of one upload. Send them as a ZIP archive, or in parts.")
        raise _unfit("too_many_files", sentence % {"n": len(files), "most": settings.UPLOAD_MAX_FILES})
    if sum(file.content.size or 0 for file in files) > most_bytes:
        raise _unfit("too_large", too_large())
    for file in files:
        is_archive = file.path.lower().endswith(".zip")
        if not is_archive and (file.content.size or 0) > settings.IMAGE_MAX_BYTES:
            sentence = _("“%(file)s” is larger than the %(most)d MB of one image.")
            raise _unfit("too_large", sentence % {"file": file.path, "most": settings.IMAGE_MAX_BYTES // 1024**2})
    if credits_table is not None:
        try:
            parse_credits(credits_table)
        except IngestRefused as refusal:
            raise _unfit(refusal.code, _("Attribution and licence: %(why)s") % {"why": refusal}) from None
    return _checked_paths(files)


def too_large() -> str:
    return _(
        "The upload is larger than %(most)d MB. Send it in parts, or ask for the folder to be read on the server."
    ) % {"most": settings.UPLOAD_MAX_BYTES // 1024**2}


def folder_of(name: str) -> Path:
    return Path(settings.TEMP_ROOT) / f"upload-{name}"


def ingest_upload(progress: Progress, params: IngestParams) -> Result:
    """The job: take the kept files in, search them for text, give them their credits, delete the files.

    A cancelled or failed job keeps the files, so that it can be tried again; the moments at which its runs began tell
    what they brought in. Raises IngestRefused without files.
    """
    from annotation.ingest.exams import ingest_paths  # loads pydicom: not at every start

    upload = Upload.objects.select_related("bank", "created_by").get(public_id=params["upload"])
    folder = home_files.here(folder_of(upload.public_id))
    files = folder / "files"
    if not files.is_dir() and not (folder / QUERY_FILE).is_file():
        raise IngestRefused("upload_gone", _gone())

    at, runs = timezone.now(), upload.asked.get("runs", [])
    Upload.objects.filter(pk=upload.pk).update(asked=upload.asked | {"runs": [*runs, at.isoformat()]})
    earlier = [datetime.fromisoformat(run) for run in runs]

    def search_text(image: Image) -> None:
        check_text(image, at=timezone.now())

    def watch(done: int, total: int) -> None:
        progress.report(done, total, _("reading and searching for text") if total else _("asking the PACS"))

    of_fetch: dict[str, Any] = {}
    if (folder / QUERY_FILE).is_file():
        from annotation.ingest.fetching import fetch_upload

        if not runs:  # else it says why the last one ended, until the PACS answers
            watch(0, 0)
        result, of_fetch = fetch_upload(upload, folder, earlier, at=at, search_text=search_text, watch=watch)
    else:
        result = ingest_paths(
            sorted(files.iterdir()),
            bank=upload.bank,
            actor=upload.created_by,
            at=at,
            uploaded_from=files,
            search_text=search_text,
            watch=watch,
        )
        result.n_duplicates = max(0, result.n_duplicates - result.add_earlier(earlier))
    _search_flagged(result.image_ids)
    answer = result.as_json() | {"image_ids": result.image_ids, "unmet_ids": result.unmet_ids[:MOST_UNMET]} | of_fetch
    answer |= _credit(folder / CREDITS_FILE, upload)
    home_files.drop(folder_of(upload.public_id))
    if numbers := answer.pop("without_exam", []):
        answer["without_exam"] = len(numbers)
        _keep_without_exam(upload, numbers)
    return answer


def without_exam(upload: Upload) -> list[str]:
    """Accession numbers that the PACS knows no exam of; none once the file is gone that alone has them."""
    kept = home_files.here(folder_of(upload.public_id)) / WITHOUT_EXAM_FILE
    return kept.read_text().splitlines() if kept.is_file() else []


def _keep_without_exam(upload: Upload, numbers: Sequence[str]) -> None:
    folder = folder_of(upload.public_id)
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / WITHOUT_EXAM_FILE).touch(mode=0o600)
    (folder / WITHOUT_EXAM_FILE).write_text("\n".join(numbers))
    home_files.hand_over(folder)


def images_of_upload(upload: Upload) -> list[int]:
    """The images that came in with an upload."""
    result = (upload.job.result if upload.job else None) or {}
    return list(result.get("image_ids", []))


@transaction.atomic
def note_report_taken(upload: Upload, *, actor: User, at: datetime) -> None:
    """Whoever takes the report of a file has the names and ids of what was refused of it."""
    record("upload.report_taken", actor=actor, at=at, subject=upload)


def archive_upload(upload: Upload, *, actor: User, at: datetime) -> None:
    """Take an upload off the list and delete what is kept of its files. Raises IngestRefused while they are read."""
    with transaction.atomic():
        if _is_in_use(upload):
            raise IngestRefused("upload_in_use", _("Its files are being read now. Cancel the job first."))
        Upload.objects.filter(pk=upload.pk, archived_at=None).update(archived_at=at)
        record("upload.archived", actor=actor, at=at, subject=upload)
        transaction.on_commit(partial(home_files.drop, folder_of(upload.public_id)))


def hide_upload(upload: Upload) -> None:
    """Images that came in stay. Raises BinRefused while its job waits or runs."""
    if _is_in_use(upload):
        raise BinRefused("in_use", _("Cancel the job of this upload first."))


def show_upload(upload: Upload) -> None:
    """Raises BinRefused while its bank is in the bin."""
    if upload.bank is not None and upload.bank.deleted_at is not None:
        raise BinRefused("parent_deleted", _("Restore its bank “%(name)s” first.") % {"name": upload.bank.name})


def purge_upload(upload: Upload, at: datetime) -> bool:
    """The row and what is kept of its files."""
    name = upload.public_id
    with transaction.atomic():
        note_purged(upload, at=at)
        upload.delete()
    home_files.drop(folder_of(name))
    return True


def _gone() -> str:
    if settings.NODES == 1 or home_files.has_bucket():
        return _("The files of this upload are no longer kept. Upload them again.")
    sentence = _(
        "The files of this upload are not on %(host)s: gone, or received by a machine with another home. Give all "
        "machines one home, or a bucket (REXVQA_MEDIA), then try again; or upload the files again."
    )
    return sentence % {"host": socket.gethostname()}


def _unfit(code: str, sentence: str) -> IngestRefused:
    return IngestRefused(code, sentence, status=422)


def _is_in_use(upload: Upload) -> bool:
    return upload.job.is_unfinished if upload.job else bool(upload.asked)  # without a job it is being sent


def _checked_paths(files: Sequence[SentFile]) -> list[PurePosixPath]:
    paths: list[PurePosixPath] = []
    seen: set[str] = set()
    for file in files:
        path = PurePosixPath(file.path)
        parts = path.parts
        is_odd = not parts or path.is_absolute() or ".." in parts or "\0" in file.path or "\\" in file.path
        if is_odd or len(parts) > MOST_PARTS or any(len(part.encode("utf-8", "replace")) > 240 for part in parts):
            sentence = _("A file has a name or path that cannot be kept. Rename it and send it again.")
            raise _unfit("bad_path", sentence)
        if path.as_posix().casefold() in seen:
            sentence = _("Two files have the name “%(file)s”. Rename one of them.") % {"file": file.path}
            raise _unfit("same_name", sentence)
        seen.add(path.as_posix().casefold())
        paths.append(path)
    return paths


def _write(
    folder: Path, files: Sequence[SentFile], paths: Sequence[PurePosixPath], credits_table: bytes | None
) -> None:
    (folder / "files").mkdir(parents=True, mode=0o700)
    for file, path in zip(files, paths, strict=True):
        target = folder / "files" / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except (FileExistsError, NotADirectoryError):
            raise _unfit("same_name", _("A file and a folder of this upload have the same name.")) from None
        _move(file.content, target)
    if credits_table is not None:
        (folder / CREDITS_FILE).write_bytes(credits_table)


def _move(content: UploadedFile[Any], target: Path) -> None:
    """A file that was received on the same disk is moved, anything else is copied."""
    if isinstance(content, TemporaryUploadedFile):
        if content.file:
            content.file.flush()
        Path(content.temporary_file_path()).replace(target)
        return
    with target.open("wb") as stream:
        for chunk in content.chunks():
            stream.write(chunk)


@transaction.atomic
def store_upload(
    name: str,
    title: str,
    *,
    bank: QuestionBank | None,
    actor: User,
    at: datetime,
    n_files: int = 0,
    n_bytes: int = 0,
    asked: dict[str, Any] | None = None,
) -> Upload:
    """The row, and the job of this title that takes in what lies in its folder; without a title that comes later.

    ``asked``: of what nobody sent through the browser, from where it comes.
    """
    upload = Upload.objects.create(
        public_id=name,
        created_by=actor,
        created_at=at,
        purpose=PURPOSE,
        bank=bank,
        n_files=n_files,
        n_bytes=n_bytes,
        asked=asked or {},
        job=enqueue(JOB_KIND, title, IngestParams(upload=name), actor=actor, at=at) if title else None,
    )
    record("upload.kept", actor=actor, at=at, subject=upload, facts={"files": n_files, "bytes": n_bytes})
    return upload


def _search_flagged(image_ids: Sequence[int]) -> None:
    """Images whose file says that text is burned in went straight to quarantine; their boxes help who masks them."""
    for start in range(0, len(image_ids), 500):
        chunk = image_ids[start : start + 500]
        for image in Image.objects.filter(pk__in=chunk, state="quarantined", text_findings=[]):
            check_text(image, at=timezone.now())


def _credit(table: Path, upload: Upload) -> dict[str, Any]:
    """Credit the rows that name an image; the others are part of the report."""
    if not table.is_file():
        return {}
    rows, problems = parse_credits(table.read_bytes()), []
    try:
        result = credit_images(rows, bank=upload.bank, actor=upload.created_by, at=timezone.now())
    except IngestRefused as refusal:
        unmatched = refusal.facts["problems"]
        problems = [{"file": file, "code": "credit_unmatched", "message": why} for _line, file, why in unmatched]
        files = {problem["file"] for problem in problems}
        known = [row for row in rows if row.file not in files]
        result = credit_images(known, bank=upload.bank, actor=upload.created_by, at=timezone.now())
    return {"credited": result["changed"], "credits_refused": problems}
