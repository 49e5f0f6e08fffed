"""A question file that a person sent or named: kept as it came, first checked, then stored by a background job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any, NotRequired, TypedDict

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.enums import ImportState, JobState
from annotation.files.kernels.strictjson import FileRefused
from annotation.ingest.uploading import SentFile, keep_upload
from annotation.jobs.handlers import JobCancelled, JobKind, Progress, Result
from annotation.jobs.queueing import CheckedFiles, enqueue
from annotation.models import BankImport, Job, QuestionBank, Revision, Upload, User
from annotation.quality.checking import check_revisions
from annotation.questionbank.archives import WHOLE, Contents, Member, pictures_of, take_apart
from annotation.questionbank.importing import ImportResult, QuestionFile, images_root, import_questions, locate
from annotation.questionbank.kernels.column_matching import Matching
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.foreign_rows import columns_to_match
from annotation.questionbank.kernels.records import Batch, RecordRules, read_batches

PURPOSE = "questions"


class QuestionFileParams(TypedDict):
    upload: str
    name: str
    bank: str  # its name
    path: NotRequired[str]  # on the server, in place of a sent file
    skip_refused: NotRequired[bool]
    matching: NotRequired[dict[str, Any]]
    members: NotRequired[list[Member]]  # the question files of a ZIP
    n_images: NotRequired[int]  # what else it holds


CHECK: JobKind[QuestionFileParams] = JobKind("check_questions")
STORE: JobKind[QuestionFileParams] = JobKind("store_questions")
FILES = CheckedFiles("question_files", CHECK, STORE)
SHOWN_ROWS = 200
SHOWN_QUESTIONS = 5  # whole, in the preview
SHOWN_ERRORS = 2_000


def allowed_path(text: str) -> Path:
    """A question file in one of the folders of REXVQA_SERVER_FOLDERS. Refused otherwise."""
    path = Path(text.strip()).resolve()
    if not any(path.is_relative_to(folder) for folder in settings.SERVER_FOLDERS):
        offered = ", ".join(str(folder) for folder in settings.SERVER_FOLDERS) or _("none")
        sentence = _("This path is in none of the folders that the server offers: %s.") % offered
        raise BankRefused("path_not_allowed", sentence, status=422)
    if not path.is_file():
        raise BankRefused("no_file", _("There is no file at this path."), status=422)
    return path


def check_takes_questions(bank_name: str) -> None:
    """Raises BankRefused for a bank that is archived."""
    if QuestionBank.objects.filter(name=bank_name, archived_at__isnull=False).exists():
        sentence = _("This bank is archived. Bring it back first, or give another name.")
        raise BankRefused("bank_archived", sentence, field="bank")


def with_newest_jobs(uploads: Sequence[Upload]) -> list[Upload]:
    """With the job that stores each file, or while there is none the one that checks it; not to be saved."""
    stores = FILES.store_jobs([upload.public_id for upload in uploads])
    for upload in uploads:
        upload.job = stores.get(upload.public_id, upload.job)
    return list(uploads)


def receive_file(
    content: Iterable[bytes],
    name: str,
    difficulties: Iterable[bytes] | None,
    *,
    bank_name: str,
    actor: User,
    at: datetime,
) -> Upload:
    """Keep a sent file and its side file, and start the check; one with foreign columns waits for their matching.

    Of a ZIP all question files are checked, and its images come in after them. Raises BankRefused for one without.
    """
    upload = Upload(created_by=actor, created_at=at, purpose=PURPOSE)
    files = {"questions.json": content} | ({} if difficulties is None else {"difficulty.csv": difficulties})
    with FILES.received(upload, files) as n_bytes:
        found = take_apart(FILES.folder_of(upload) / "questions.json") or Contents([], 0)
        asked = {"members": found.members, "n_images": found.n_images} if found.members else {}
        upload.n_bytes, upload.asked = n_bytes, {"name": Path(name).name[:200], "bank": bank_name, **asked}
        return _begin(upload)


def receive_path(path: Path, *, bank_name: str, actor: User, at: datetime) -> Upload:
    """The same with a file that lies on the server."""
    upload = Upload(created_by=actor, created_at=at, purpose=PURPOSE, n_bytes=path.stat().st_size)
    upload.asked = {"name": path.name[:200], "bank": bank_name, "path": str(path)}
    return _begin(upload)


def _begin(upload: Upload) -> Upload:
    upload.asked |= {"upload": upload.public_id}
    waits = _has_foreign_columns(source_of(upload, upload.asked).path)
    n_files = len(upload.asked.get("members", [])) or 1
    with transaction.atomic():
        actor, at, bank_name = upload.created_by, upload.created_at, upload.asked["bank"]
        upload.n_files, upload.job = n_files, None if waits else begin_check(upload.asked, actor=actor, at=at)
        upload.save(force_insert=True)
        facts = {"bank": bank_name, "bytes": upload.n_bytes}
        record("questions.received", actor=actor, at=at, subject=upload, facts=facts)
    return upload


def _has_foreign_columns(path: Path) -> bool:
    """Whether somebody has to match them first. Of a file that cannot be read, the check says why."""
    try:
        with path.open("rb") as stream:
            return columns_to_match(stream) is not None
    except FileRefused:
        return False


def begin_check(params: QuestionFileParams, *, actor: User, at: datetime) -> Job:
    title = _("Check %(file)s for the bank %(bank)s") % {"file": params["name"], "bank": params["bank"]}
    return enqueue(CHECK, title[:200], params, actor=actor, at=at)


def store_checked(upload: Upload, *, skip_refused: bool = False, actor: User, at: datetime) -> Job:
    """Start the import of a file whose check was good, as ``CheckedFiles.store_checked``.

    A file of which some records were refused is stored without them, if ``skip_refused``.
    """
    title = _("Import %(name)s into the bank %(bank)s")
    may = partial(may_store, skip_refused=skip_refused)
    return FILES.store_checked(upload, title, may, actor=actor, at=at, skip_refused=skip_refused)


def may_store(check: Job, *, skip_refused: bool) -> bool:
    """Whether the file that this job checked can be stored, whole or without what was refused."""
    if check.kind != CHECK or check.state != JobState.SUCCEEDED:
        return False
    result = check.result or {}
    return bool(result["n_errors"] and result.get("rest_acceptable") if skip_refused else not result["n_errors"])


# Handlers of the jobs


def check_questions(progress: Progress, params: QuestionFileParams) -> Result:
    """Dry run: read, check and compare everything, store nothing."""
    result = _run(progress, params, dry_run=True)
    rows = [{"key": key, "act": act} for key, act in result.rows[:SHOWN_ROWS]]
    rest = result.is_acceptable(skip_refused=True) and result.read > result.rejected
    told = {"rest_acceptable": rest, "rows": rows, "tasks": dict(result.tasks), "differing": result.differing}
    upload = Upload.objects.get(public_id=params["upload"])
    if params.get("members"):
        folder = FILES.folder_of(upload)
        first = chain.from_iterable(batch.questions for batch in first_batches(upload, params))
        pictures_of(folder / WHOLE, [image.path for one in first for image in one.exam.images], folder)
    return {**_shown(result), **told}


def first_batches(upload: Upload, params: QuestionFileParams) -> list[Batch]:
    """The first questions of the files, each as a batch of its own, whole or refused."""
    found: list[Batch] = []
    for source in sources_of(upload, params):
        with source.path.open("rb") as stream:
            batches = read_batches(stream, RecordRules(source.folder, matching=source.matching), size=1)
            found += islice((one for one in batches if one.n_read), SHOWN_QUESTIONS - len(found))
    return found


def store_questions(progress: Progress, params: QuestionFileParams) -> Result:
    """Import into the bank, then check the wording of what came in, which can be seen already.

    Run again after it was stopped, it starts over: what was half stored is swept first. Who cancels while wording is
    checked keeps the questions, and the result says so.
    """
    result = _run(progress, params, dry_run=False)
    shown = {**_shown(result), "stored": result.stored}
    if result.stored:
        shown["checked"] = _check_wording(progress, params)
        shown |= _take_images_in(params)
    return shown


def _take_images_in(params: QuestionFileParams) -> dict[str, Any]:
    """The ZIP goes the way of every upload of images; the public id of that."""
    upload = Upload.objects.select_related("created_by").get(public_id=params["upload"])
    whole = FILES.folder_of(upload) / WHOLE
    if not upload.asked.get("n_images") or not whole.exists():
        return {}
    bank = QuestionBank.objects.get(name=params["bank"])
    with whole.open("rb") as stream:
        sent = SentFile(WHOLE, UploadedFile(stream, WHOLE, size=whole.stat().st_size))
        images = keep_upload([sent], credits_table=None, bank=bank, actor=upload.created_by, at=timezone.now())
    whole.unlink()
    return {"images_upload": images.public_id}


def _check_wording(progress: Progress, params: QuestionFileParams) -> dict[str, Any] | None:
    """Of all that this job brought, in this run and in one that was killed; None where a person stopped it."""
    upload = Upload.objects.select_related("created_by").get(public_id=params["upload"])
    imports = BankImport.objects.filter(job=FILES.store_job(upload), state=ImportState.PUBLISHED)
    try:
        return check_revisions(
            imports[0].bank,
            Revision.objects.filter(bank_import__in=imports).current(),
            actor=upload.created_by,
            at=timezone.now(),
            watch=lambda done, total: progress.report(done, total, _("Checking the wording")),
        ).as_json()
    except JobCancelled:
        return None


def _run(progress: Progress, params: QuestionFileParams, *, dry_run: bool) -> ImportResult:
    upload = Upload.objects.select_related("created_by").get(public_id=params["upload"])
    job = None if dry_run else FILES.store_job(upload)
    whole = ImportResult(params["bank"])
    for source in sources_of(upload, params):
        one = import_questions(
            source,
            bank_name=params["bank"],
            actor=upload.created_by,
            clock=timezone.now,
            dry_run=dry_run,
            skip_refused=bool(params.get("skip_refused")),
            job=job,
            watch=lambda done, total: progress.report(min(done, total), total),
        )
        whole.join(one)
    return whole


def source_of(upload: Upload, params: QuestionFileParams) -> QuestionFile:
    """The file of an upload whose columns are matched: it has one alone."""
    return sources_of(upload, params)[0]


def sources_of(upload: Upload, params: QuestionFileParams) -> list[QuestionFile]:
    """The question files of an upload, as its job reads them."""
    matching = Matching(**params["matching"]) if "matching" in params else None
    if "path" in params:
        return [replace(locate(allowed_path(params["path"])), matching=matching)]
    folder, root = FILES.folder_of(upload), f"/uploaded/{params['bank']}"
    difficulties = side_file if (side_file := folder / "difficulty.csv").exists() else None
    members = params.get("members") or [Member(name=params["name"], kept="questions.json")]
    named = [(folder / one["kept"], PurePosixPath(one["name"])) for one in members]
    return [
        QuestionFile(path, name.name, root, images_root(name.parent.as_posix())[1], difficulties, matching)
        for path, name in named
    ]


def _shown(result: ImportResult) -> dict[str, Any]:
    shown = result.as_json()
    return {**shown, "errors": shown["errors"][:SHOWN_ERRORS], "n_errors": result.n_errors}
