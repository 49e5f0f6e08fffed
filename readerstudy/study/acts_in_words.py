"""The acts of studies, readers, models and leaderboards in words, for the page of the audit log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotation.models import CallBatch
from annotation.people.event_log import Thing
from readerstudy.models import (
    Analysis,
    Benchmark,
    Enrolment,
    ModelEntry,
    PredictionRun,
    ReaderStudy,
    Statement,
    Submission,
    Team,
)

STUDY_ACTS = {
    "benchmark.version_made": _("made a version of a benchmark"),
    "edition.confirmed": _("confirmed an edition of a leaderboard"),
    "edition.proposed": _("proposed an edition of a leaderboard"),
    "edition.scored": _("scored an edition of a leaderboard"),
    "leaderboard.noted": _("added a note to a leaderboard"),
    "leaderboard.published": _("wrote the public board of a leaderboard"),
    "analysis.opened": _("read an analysis for the first time"),
    "benchmark.changed": _("changed the draft of a leaderboard"),
    "benchmark.closed": _("closed a leaderboard"),
    "benchmark.created": _("made a leaderboard"),
    "benchmark.frozen": _("froze a leaderboard"),
    "benchmark.inputs_taken": _("took the questions of a leaderboard"),
    "benchmark.twins_decided": _("decided about near-duplicates of a leaderboard"),
    "enrolment.practice_let_pass": _("let a reader pass the practice cases"),
    "model.edited": _("changed a model"),
    "model.entered": _("entered a model"),
    "model.replaced": _("replaced a model"),
    "model.withdrawn": _("withdrew a model"),
    "model_run.planned": _("planned a run of a model"),
    "predictions.imported": _("imported predictions"),
    "predictions.named": _("named the run that counts"),
    "predictions.received": _("sent a file of predictions"),
    "predictions.withdrawn": _("withdrew a run of predictions"),
    "reader.consented": _("consented to a study"),
    "reader.deadline_extended": _("gave a reader more time"),
    "reader.declared": _("declared to have used no other source"),
    "reader.declined": _("declined to take part"),
    "reader.display_checked": _("passed the check of the display"),
    "reader.display_not_seen": _("did not pass the check of the display"),
    "reader.enrolled": _("joined a study"),
    "reader.facts_corrected": _("corrected their details"),
    "reader.facts_told": _("entered their details"),
    "reader.instructed": _("read the instructions"),
    "reader.invited": _("invited a reader"),
    "reader.reminded": _("reminded a reader"),
    "reader.replaced": _("replaced a reader"),
    "reader.results_seen": _("saw their own results"),
    "reader.withdrawn": _("withdrew from a study, or was withdrawn"),
    "reading.answer_refused": _("sent an answer that was refused"),
    "reading.answered": _("answered a case"),
    "reading.choice_delivered_late": _("had a choice arrive late"),
    "reading.paused": _("paused"),
    "reading.ran_out": _("ran out of time at a case"),
    "reading.remark": _("remarked on a case"),
    "reading.resumed": _("went on after a pause"),
    "reading.session_finished": _("ended a session at the end of the cases"),
    "reading.session_lapsed": _("lost the connection of a session"),
    "reading.session_left": _("left a session"),
    "reading.session_started": _("began a session"),
    "reading.session_taken_over": _("took a session over on another page"),
    "results_link.first_used": _("opened a shared link to results"),
    "results_link.made": _("shared results by a link"),
    "results_link.restored": _("restored a shared link"),
    "results_link.revoked": _("revoked a shared link"),
    "run.replayed": _("compared a run with its stored responses"),
    "statement.added": _("added the statement of a team"),
    "statement.passed": _("passed the statement of a team"),
    "statement.refused": _("refused the statement of a team"),
    "study.analysed": _("analysed a study"),
    "study.analysis_seen": _("looked at the results of a study"),
    "study.archived": _("archived a study"),
    "study.answers_read": _("read the answers of a study over the API"),
    "study.arm_changed": _("changed an arm"),
    "study.binned": _("deleted a study"),
    "study.brought_back": _("brought an archived study back"),
    "study.case_voided": _("voided a case"),
    "study.cases_drawn": _("drew the cases of a study"),
    "study.cases_listed": _("listed the cases of a study"),
    "study.changed": _("changed a draft"),
    "study.closed": _("closed a study"),
    "study.created": _("made a study"),
    "study.coordinator_named": _("named a coordinator of a study"),
    "study.coordinator_removed": _("removed a coordinator of a study"),
    "study.deadline_extended": _("gave all readers more time"),
    "study.deleted": _("deleted a study for good"),
    "study.exported": _("exported a table of a study"),
    "study.frozen": _("froze a study"),
    "study.glass_broken": _("looked at results before closing"),
    "study.image_hidden": _("took an image of an open study out of sight"),
    "study.image_left": _("reported an image of an open study that stays in sight"),
    "study.opened": _("opened a study"),
    "study.protocol_exported": _("exported the plan of a study"),
    "study.protocol_taken": _("took the protocol of a study"),
    "study.report_made": _("made the report of a study"),
    "study.report_taken": _("took the report of a study"),
    "study.rereview_made": _("made a round of missed cases"),
    "study.responses_imported": _("imported readings"),
    "study.restored": _("took a study out of the bin"),
    "study.unblinded": _("unblinded a study"),
    "study.voidings_declared": _("declared voided cases of an older study"),
    "study.voidings_imported": _("imported voidings"),
    "study_invitation.renewed": _("renewed the link of a reader"),
    "study_invitation.restored": _("restored the link of a reader"),
    "study_invitation.revoked": _("revoked the link of a reader"),
    "team.approved": _("approved a team"),
    "team.asked": _("asked for a team"),
    "team.member_added": _("added a person to a team"),
    "team.member_removed": _("removed a person from a team"),
    "team.refused": _("refused a team"),
    "submission.checked": _("checked a submission"),
    "submission.handed_in": _("handed a run in for a team"),
    "submission.named": _("named a submission for an edition"),
    "submission.received": _("sent a submission"),
    "submission.withdrawn": _("withdrew a submission"),
}


def _of_team(page: str) -> Callable[[Any], str]:
    return lambda row: reverse(page, args=[row.team.benchmark.slug, row.public_id])


def study_things() -> dict[str, Thing]:
    """What those acts are about, and where its pages are."""
    return {
        "analysis": Thing(
            _("analysis"),
            Analysis,
            lambda row: reverse("study-analysed", args=[row.study.slug, row.public_id]),
            ("study",),
        ),
        "benchmark": Thing(
            _("leaderboard"), Benchmark, lambda row: reverse("leaderboard", args=[row.slug]), is_named=True
        ),
        "callbatch": Thing(
            _("calls of a model"),
            CallBatch,
            lambda row: reverse("model-run", args=[row.public_id]) if hasattr(row, "model_run") else "",
            ("model_run",),
        ),
        "enrolment": Thing(
            _("reader"),
            Enrolment,
            lambda row: reverse("study-reader", args=[row.study.slug, row.public_id]),
            ("study",),
        ),
        "modelentry": Thing(_("model"), ModelEntry, lambda row: reverse("model", args=[row.public_id])),
        "predictionrun": Thing(
            _("predictions"), PredictionRun, lambda row: reverse("prediction-run", args=[row.public_id])
        ),
        "readerstudy": Thing(_("study"), ReaderStudy, lambda row: reverse("study", args=[row.slug]), is_named=True),
        "team": Thing(_("team"), Team, lambda row: reverse("leaderboard", args=[row.benchmark.slug]), ("benchmark",)),
        "statement": Thing(_("statement"), Statement, _of_team("leaderboard-statement"), ("team__benchmark",)),
        "submission": Thing(_("submission"), Submission, _of_team("leaderboard-submission"), ("team__benchmark",)),
    }
