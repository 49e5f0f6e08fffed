"""A question file that a person sent or named: kept as it came, first checked, then stored by a background job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.enums import ImportState, JobQueue, JobState
from annotation.files.kernels.strictjson import FileRefused
from annotation.ingest.uploading import SentFile, keep_upload
from annotation.jobs.queueing import SOON, CheckedFiles, JobCancelled, JobKind, JobPostponed, Progress, Result, enqueue
from annotation.models import BankImport, Job, QuestionBank, Revision, Upload, User
from annotation.questionbank.archives import Member, import_files, pictures_of, sources_in, take_apart
from annotation.questionbank.checking import check_revisions
from annotation.questionbank.importing import ImportResult, QuestionFile, locate
from annotation.questionbank.kernels.column_matching import Matching
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.foreign_rows import columns_to_match
from annotation.questionbank.kernels.records import Batch, RecordRules, read_batches
from annotation.site import home_files

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
    stamp: NotRequired[str]  # of a ZIP on the server, as it was checked


CHECK: JobKind[QuestionFileParams] = JobKind("check_questions", JobQueue.IMPORTS, SOON)
STORE: JobKind[QuestionFileParams] = JobKind("store_questions", JobQueue.IMPORTS)
SECONDS_UNTIL_NEXT_TRY = 3
FILES = CheckedFiles("question_files", CHECK, STORE)
SHOWN_ROWS = 200
ZIP_NAME = "sent.zip"  # as an upload of images
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
        upload.n_bytes, upload.asked = n_bytes, {"name": Path(name).name[:200], "bank": bank_name}
        return _begin(upload, _sent(upload))


def receive_path(path: Path, *, bank_name: str, actor: User, at: datetime) -> Upload:
    """The same with a file that lies on the server, and stays there."""
    upload = Upload(created_by=actor, created_at=at, purpose=PURPOSE, n_bytes=path.stat().st_size)
    upload.asked = {"name": path.name[:200], "bank": bank_name, "path": str(path)}
    with FILES.received(upload, {}):
        return _begin(upload, path)


def _begin(upload: Upload, file: Path) -> Upload:
    upload.asked |= {"upload": upload.public_id}
    stamp = _stamp_of(file)
    if (found := take_apart(file, FILES.folder_of(upload))).members:
        upload.asked |= {"members": found.members, "n_images": found.n_images}
        upload.asked |= {"stamp": stamp} if "path" in upload.asked else {}
    waits = _has_foreign_columns(source_of(upload, upload.asked).path)
    n_files = len(upload.asked.get("members", [])) or 1
    FILES.hand_over(upload)
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
        first = chain.from_iterable(batch.questions for batch in first_batches(upload, params))
        paths = list(dict.fromkeys(image.path for one in first for image in one.exam.images))

        def watch(n_done: int, n_all: int) -> None:
            progress.report(n_done, n_all, _("Drawing the first images"))

        (pictures := FILES.folder_of(upload)).mkdir(parents=True, exist_ok=True, mode=0o700)
        told["held"] = pictures_of(whole_of(upload, params), paths, pictures, watch)
        FILES.hand_over(upload)
    return {**_shown(result), **told}


def whole_of(upload: Upload, params: QuestionFileParams) -> Path:
    """The file as it was sent, or where it lies on the server."""
    return allowed_path(params["path"]) if "path" in params else home_files.here(_sent(upload))


def _sent(upload: Upload) -> Path:
    return FILES.folder_of(upload) / "questions.json"


def folder_here(upload: Upload, params: QuestionFileParams) -> Path:
    """The folder of an upload on this machine, without the ZIP that it came as."""
    return FILES.here(upload, but=["questions.json"] if params.get("members") else [])


def _stamp_of(path: Path) -> str:
    """Its size and the moment of its last change."""
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns}"


def _check_same(params: QuestionFileParams) -> None:
    """Raises BankRefused where another ZIP lies on the server than was checked; one that went away is none."""
    if "stamp" in params and (path := Path(params["path"])).exists() and _stamp_of(path) != params["stamp"]:
        sentence = _("Another file lies at this path than was checked. Import it again, so that it is checked first.")
        raise BankRefused("file_changed", sentence)


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
    _check_same(params)
    result = _run(progress, params, dry_run=False)
    shown = {**_shown(result), "stored": result.stored}
    if result.stored:
        shown["checked"] = _check_wording(progress, params)
        shown |= _take_images_in(params)
    return shown


def _take_images_in(params: QuestionFileParams) -> dict[str, Any]:
    """The ZIP goes the way of every upload of images; the public id of that, or why there is none."""
    upload = Upload.objects.select_related("created_by").get(public_id=params["upload"])
    if not upload.asked.get("n_images"):
        return {}
    try:
        _check_same(params)
        whole = whole_of(upload, params)
    except BankRefused as refusal:  # the questions are stored by now
        return {"images_refused": _("The images of the ZIP did not come in. %(why)s") % {"why": refusal}}
    if not whole.exists():
        return {}
    bank, n_bytes = QuestionBank.objects.get(name=params["bank"]), whole.stat().st_size
    with whole.open("rb") as stream:
        sent, actor = SentFile(ZIP_NAME, UploadedFile(stream, ZIP_NAME, size=n_bytes)), upload.created_by
        images = keep_upload([sent], credits_table=None, bank=bank, actor=actor, at=timezone.now(), most_bytes=n_bytes)
    if "path" not in params:
        home_files.drop(_sent(upload))
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
    try:
        return import_files(
            sources_of(upload, params),
            bank_name=params["bank"],
            actor=upload.created_by,
            clock=timezone.now,
            dry_run=dry_run,
            skip_refused=bool(params.get("skip_refused")),
            job=job,
            watch=progress.report,
        )
    except BankRefused as refusal:
        if refusal.code != "import_running":
            raise
        raise JobPostponed(str(refusal), seconds=SECONDS_UNTIL_NEXT_TRY) from refusal


def source_of(upload: Upload, params: QuestionFileParams) -> QuestionFile:
    """The file of an upload whose columns are matched: it has one alone."""
    return sources_of(upload, params)[0]


def sources_of(upload: Upload, params: QuestionFileParams) -> list[QuestionFile]:
    """The question files of an upload, as its job reads them."""
    matching = Matching(**params["matching"]) if "matching" in params else None
    members = params.get("members")
    if "path" in params and not members:
        return [replace(locate(allowed_path(params["path"])), matching=matching)]
    folder = folder_here(upload, params)
    difficulties = side_file if (side_file := folder / "difficulty.csv").exists() else None
    members = members or [Member(name=params["name"], kept="questions.json")]
    return sources_in(members, folder, params["bank"], difficulties, matching)


def _shown(result: ImportResult) -> dict[str, Any]:
    shown = result.as_json()
    return {**shown, "errors": shown["errors"][:SHOWN_ERRORS], "n_errors": result.n_errors}
