"""What a job does: its kind names a function that takes the progress and the parameters and returns the result.

Every handler is safe to run twice: a job that was killed in the middle is run again from the start.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from django.utils.module_loading import import_string

from annotation.refusals import Refused


class Progress(Protocol):
    """How a handler says how far it is. Raises JobCancelled where a person asked for it."""

    def report(self, done: int, total: int, message: str = "") -> None: ...


Params = dict[str, Any]
Result = dict[str, Any]
Handler = Callable[[Progress, Params], Result]

HANDLERS: dict[str, str] = {
    "check_audit_log": "annotation.people.event_log.run_check",
    "rehearsal": "annotation.jobs.handlers.rehearse",
    "check_questions": "annotation.questionbank.uploads.check_questions",
    "store_questions": "annotation.questionbank.uploads.store_questions",
    "find_duplicates": "annotation.quality.duplicates.find_duplicates",
    "embed_questions": "annotation.diversity.embedded_questions.embed_in_background",
    "draw_pairs": "annotation.diversity.judging_pairs.draw_in_background",
    "delete_bank": "annotation.questionbank.keeping.delete_bank_job",
    "change_questions": "annotation.discussion.selected_questions.run_change",
    "make_review_report": "annotation.exports.review_report_job.run_review_report",
    "text_search": "annotation.ingest.searching.search_waiting",
    "text_search_again": "annotation.ingest.searching.search_quarantined",
    "ingest_upload": "annotation.ingest.uploading.ingest_upload",
    "send_webhooks": "annotation.webhooks.deliveries.send_due",
    "take_backup": "annotation.backup.kept.run_backup",
    "probe_endpoint": "annotation.endpoints.probing.run_probe",
    "send_letter": "annotation.people.mailing.send_stored_email",
    "send_password_link": "annotation.people.mailing.send_requested_password_link",
}


def register_handler(kind: str, function: str) -> None:
    """Add a kind of job, with the dotted name of its handler. Apps call this when they start; twice changes nothing."""
    if HANDLERS.setdefault(kind, function) != function:
        raise ValueError(f"the kind {kind!r} has another handler already")


class JobCancelled(Exception):
    """A person asked for the end of this job; raised inside its handler by Progress.report."""


class JobRefused(Refused):
    """A job cannot be started, cancelled or tried again."""


def handler_for(kind: str) -> Handler:
    """Raises JobRefused for a kind that this version of the program does not know."""
    if kind not in HANDLERS:
        raise JobRefused("unknown_kind", f"this program has no job of the kind {kind!r}")
    handler: Handler = import_string(HANDLERS[kind])
    return handler


def rehearse(progress: Progress, params: Params) -> Result:
    """Count to ``steps`` and change nothing: shows that queue, worker and pages work together."""
    steps, seconds = int(params.get("steps", 3)), float(params.get("seconds_per_step", 0))
    for step in range(steps):
        time.sleep(seconds)
        progress.report(step + 1, steps, f"step {step + 1}")
    return {"steps": steps}
