"""The report of a round as a job, asked for by a button; and its ZIP file, which coordinators take.

One file per round is kept. It can be made again at any time, and is in no backup.
"""

from __future__ import annotations

import hashlib
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import JobState
from annotation.exports.report_files import WrittenFile
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue_once
from annotation.models import Job, ReviewRound, User
from annotation.site import home_files
from annotation.tables.writing import ExportRefused

if TYPE_CHECKING:
    from annotation.exports.review_report import ReviewReport


class ReviewReportParams(TypedDict):
    round: int


KIND: JobKind[ReviewReportParams] = JobKind("make_review_report")


class KeptReport(Struct, frozen=True):
    """The newest report of a round, as the job that made it says."""

    job: Job
    report: ReviewReport
    state: str  # of the round when it was made: see state_of_report
    sha256: str  # of the ZIP file
    n_bytes: int

    @property
    def path(self) -> Path:
        return _path(self.job.params["round"], self.sha256)

    @property
    def is_there(self) -> bool:
        return home_files.is_there(self.path)


def ask_for_review_report(review_round: ReviewRound, *, actor: User, at: datetime) -> Job:
    """One that waits or runs already is enough. Raises ExportRefused where nothing is reviewed yet."""
    from annotation.exports.review_report import check_has_reviews  # loads numpy: not at every start

    check_has_reviews(review_round)
    title = _("Report of %(round)s") % {"round": review_round.name[:150]}
    return enqueue_once(KIND, title, ReviewReportParams(round=review_round.pk), about="round", actor=actor, at=at)


def run_review_report(progress: Progress, params: ReviewReportParams) -> Result:
    """The handler. Run twice it keeps one file.

    What it found is one level down in the result, which the page of a job does not show: coordinators who review
    in the round themselves may open that page.
    """
    from annotation.exports.review_report import pack_review_report, state_of_report

    review_round = ReviewRound.objects.select_related("plan__bank", "form").get(pk=params["round"])
    state = state_of_report(review_round)
    with tempfile.TemporaryDirectory(dir=settings.TEMP_ROOT, prefix="review-report-") as place:
        draft = Path(place) / "report.zip"
        made = pack_review_report(review_round, draft, progress.report)
        with draft.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        n_bytes, path = draft.stat().st_size, _path(review_round.pk, sha256)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.replace(path)
    home_files.hand_over(path)
    home_files.drop_others(path, _path(review_round.pk, "*").name)
    files = [[one.name, one.n_bytes, one.sha256, one.about] for one in made.files]
    kept = {"files": files, "reviews": made.n_reviews, "sums": made.sums_sha256}
    page = reverse("round-report", args=[review_round.slug])
    return {"page": page, "report": {**kept, "state": state, "sha256": sha256, "bytes": n_bytes}}


def _path(round_pk: int, sha256: str) -> Path:
    return Path(settings.HOME) / "reports" / f"round-{round_pk}-{sha256[:16]}.zip"


def newest_report_job(review_round: ReviewRound) -> Job | None:
    return Job.objects.filter(kind=KIND, params__round=review_round.pk).order_by("-pk").first()


def kept_report(review_round: ReviewRound) -> KeptReport | None:
    from annotation.exports.review_report import ReviewReport

    jobs = Job.objects.filter(kind=KIND, params__round=review_round.pk, state=JobState.SUCCEEDED)
    job = jobs.select_related("created_by").order_by("-finished_at", "-pk").first()
    if job is None or job.result is None:
        return None
    facts = job.result["report"]
    report = ReviewReport([WrittenFile(*one) for one in facts["files"]], facts["reviews"], facts["sums"])
    return KeptReport(job, report, facts["state"], facts["sha256"], facts["bytes"])


def take_review_report(review_round: ReviewRound, *, actor: User, at: datetime) -> Path:
    """Where the newest file lies here; who takes it is noted. Raises ExportRefused where there is none any more."""
    from annotation.exports.review_report import note_report_taken

    kept = kept_report(review_round)
    if kept is None or not kept.is_there:
        raise ExportRefused("report_gone", _("The file of this report is not there any more: make it again."))
    note_report_taken(review_round, kept.report, actor=actor, at=at)
    return home_files.here(kept.path)
