"""A file of predictions that a person sent: kept as it came, first checked, then stored by a background job."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TypedDict

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import JobQueue
from annotation.jobs.queueing import SOON, CheckedFiles, JobKind, Progress, Result, enqueue
from annotation.models import Job, QuestionBank, Upload, User
from readerstudy.enums import PredictionForm
from readerstudy.models import ModelEntry, ReaderStudy
from readerstudy.predictions.entries import UPLOADS, check_may_send_file, find_entry
from readerstudy.predictions.importing import PredictionsImported, SentFile, import_predictions
from readerstudy.predictions.kernels.records import PredictionsRefused, without_hidden
from readerstudy.predictions.kernels.streamed_predictions import LONGEST_MODEL, model_named_in
from readerstudy.predictions.listing import Target


class PredictionFileParams(TypedDict):
    name: str
    upload: str
    entry: str  # empty: made when it is stored
    model: str
    study: str
    bank: str
    target: str
    form: str
    duplicates: str


CHECK: JobKind[PredictionFileParams] = JobKind("check_predictions", JobQueue.IMPORTS, SOON)
STORE: JobKind[PredictionFileParams] = JobKind("store_predictions", JobQueue.IMPORTS)
FILES = CheckedFiles("prediction_files", CHECK, STORE)
FILE = "predictions"  # the name of each in its folder
MOST_LISTED = 10_000  # of each list in the report
WORDS = re.compile(r"(?:^|(?<=[_\-. ]))(?:predictions?|preds?|answers?|results?|outputs?)(?=[_\-. ]|$)", re.IGNORECASE)
AROUND = "_-. "
LISTS = ("missing", "duplicate", "unknown", "failed", "other_order", "two_answers", "errors")


class UploadRequest(Struct, frozen=True):
    """What a person asked for, beside the file itself."""

    entry: ModelEntry
    target: Target
    form: PredictionForm | None = None
    duplicates: str = ""

    def as_params(self, name: str = "", upload: str = "") -> PredictionFileParams:
        return PredictionFileParams(
            name=name,
            upload=upload,
            entry="" if self.entry._state.adding else self.entry.public_id,
            model=str(self.entry),
            study=self.target.study.slug if self.target.study else "",
            bank=self.target.bank.slug,
            target=self.target.name,
            form=self.form.value if self.form else "",
            duplicates=self.duplicates,
        )


def entry_of_file(name: str, path: Path) -> ModelEntry:
    """The listed model that a file names, or a new one that is not stored yet.

    A text names its model in its first record; else, and for a spreadsheet, the name of the file without words such as
    "predictions" does. Refused where several versions of that name are listed, and where none is named.
    """
    named = model_named_in(path) or without_hidden(_model_in_name(name))
    if not named:
        sentence = _("The name of the file names no model: give the file another name.")
        raise PredictionsRefused("no_model_named", sentence)
    return find_entry(named, None) or ModelEntry(name=named)


def _model_in_name(name: str) -> str:
    """ "MedGemma" of "predictions_MedGemma.json"."""
    stem = Path(name).stem[:LONGEST_MODEL]
    return WORDS.sub("", stem).strip(AROUND) or stem


def receive_file(content: Iterable[bytes], name: str, *, asked: UploadRequest, actor: User, at: datetime) -> Upload:
    """Keep a sent file and start its check. Refused for a submitter who has sent enough for a day."""
    check_may_send_file(actor, at)
    upload = Upload(created_by=actor, created_at=at, purpose=UPLOADS, bank=asked.target.bank, n_files=1)
    with FILES.received(upload, {FILE: content}) as upload.n_bytes:
        FILES.hand_over(upload)
        return _begin(upload, Path(name).name[:200], asked, actor=actor, at=at)


@transaction.atomic
def _begin(upload: Upload, name: str, asked: UploadRequest, *, actor: User, at: datetime) -> Upload:
    params = asked.as_params(name, upload.public_id)
    title = _("Check %(name)s of %(model)s for %(target)s") % params
    upload.job = enqueue(CHECK, title[:200], params, actor=actor, at=at)
    upload.save(force_insert=True)
    facts = {"model": params["entry"] or params["model"], "on": params["target"], "bytes": upload.n_bytes}
    record("predictions.received", actor=actor, at=at, subject=upload, facts=facts)
    return upload


def store_checked(upload: Upload, *, actor: User, at: datetime) -> Job:
    """Start the import of a file whose check was good, as ``CheckedFiles.store_checked``."""
    title = _("Store %(name)s of %(model)s for %(target)s")
    return FILES.store_checked(upload, title, may_store, actor=actor, at=at)


def may_store(job: Job) -> bool:
    """Whether the file that this job checked can be stored."""
    return job.kind == CHECK and bool((job.result or {}).get("acceptable"))


def target_of(params: PredictionFileParams) -> Target:
    """The study or bank that was asked for."""
    if params["study"]:
        return Target.of_study(ReaderStudy.objects.select_related("bank").get(slug=params["study"]))
    return Target(QuestionBank.objects.get(slug=params["bank"]))


# Handlers of the jobs


def check_predictions(progress: Progress, params: PredictionFileParams) -> Result:
    """Dry run: read, match and extract everything, store nothing."""
    found = _run(progress, params, dry_run=True)
    return {**report_of(found), "acceptable": not found.is_refused and not found.unchanged}


def store_predictions(progress: Progress, params: PredictionFileParams) -> Result:
    """Store all of it. Run again after it was stopped, it stores once: the same file is known again."""
    found = _run(progress, params, dry_run=False)
    return {**report_of(found), "run_id": found.run.public_id if found.run else ""}


def _run(progress: Progress, params: PredictionFileParams, *, dry_run: bool) -> PredictionsImported:
    upload = Upload.objects.select_related("created_by").get(public_id=params["upload"])
    path = FILES.here(upload) / FILE
    n_bytes = path.stat().st_size
    progress.report(0, n_bytes)
    form = PredictionForm(params["form"]) if params["form"] else None
    found = import_predictions(
        _entry_of(params),
        target_of(params),
        SentFile(params["name"], path, form, params["duplicates"]),
        actor=upload.created_by,
        at=timezone.now(),
        dry_run=dry_run,
    )
    progress.report(n_bytes, n_bytes)
    return found


def _entry_of(params: PredictionFileParams) -> ModelEntry:
    """A model that another file of the same name has made meanwhile is that one."""
    if params["entry"]:
        return ModelEntry.objects.get(public_id=params["entry"])
    return find_entry(params["model"], "") or ModelEntry(name=params["model"])


def report_of(found: PredictionsImported) -> Result:
    """The result with lists that a page can hold, and how long they were."""
    report = found.as_json()
    counts = {f"n_{name}": len(report[name]) for name in LISTS}
    return {**report, **{name: report[name][:MOST_LISTED] for name in LISTS}, **counts}
