"""A model that was run on this site for a team: its run becomes a submission, and no run of predictions."""

from __future__ import annotations

import hashlib
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import BatchState, SentImages
from annotation.models import User
from readerstudy.enums import BenchmarkState, PredictionForm, SubmissionWay, TeamState
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.leaderboard.submissions import (
    Checked,
    known_questions,
    letters_in,
    report_of,
    same_submission,
    set_checked,
    store_numbered,
)
from readerstudy.leaderboard.teams import lock_team
from readerstudy.model_runs.publishing import check_complete, is_plain, records_of
from readerstudy.models import BenchmarkVersion, ModelRun, Submission, Team
from readerstudy.predictions.kernels.records import KeptRecords, ReadPredictions, match


def teams_to_hand_in(run: ModelRun) -> QuerySet[Team]:
    """Approved teams of frozen benchmarks on the bank of a run; none for a run on a study and for a variant."""
    if run.study_id is not None or not is_plain(run):
        return Team.objects.none()
    open_ones = Team.objects.filter(benchmark__bank=run.batch.bank_id, benchmark__state=BenchmarkState.FROZEN)
    return open_ones.filter(state=TeamState.APPROVED).select_related("benchmark").order_by("benchmark__name", "name")


@transaction.atomic
def hand_in(
    run: ModelRun, team: Team, *, way: str = SubmissionWay.HERE, actor: User | None, at: datetime
) -> Submission:
    """The first answers of a complete run, in the order of the bank, as a checked submission of a team.

    Handing it in again gives the same submission. Raises RunningRefused for a run that is not complete.
    """
    team = lock_team(team)
    if not teams_to_hand_in(run).filter(pk=team.pk).exists():
        sentence = _("This run cannot be handed in for “%(team)s”: it asks other questions, or with other images.")
        raise LeaderboardRefused("other_run", sentence % {"team": team.name}, status=422, field="team")
    check_complete(run, _("Nothing is handed in."))
    version, name = current_version(team.benchmark), f"run-{run.batch.public_id}-1"
    made = Submission(
        team=team,
        version=version,
        way=way,
        model_run=run,
        file_name=name,
        file_sha256=hashlib.sha256(name.encode()).hexdigest(),
        sent_by=actor,
        received_at=at,
    )
    if before := same_submission(team, made):
        return before
    set_checked(made, checked_run(run, version), at=at)
    store_numbered(made, team)
    facts = {"team": team.public_id, "run": run.batch.public_id, "model": str(run.entry), "way": way}
    record("submission.handed_in", actor=actor, at=at, subject=made, facts=facts)
    return made


def checked_run(run: ModelRun, version: BenchmarkVersion) -> Checked:
    """What a run answers of a version, as the check of a file says it; a question in another wording is missing."""
    known, records = known_questions(version), KeptRecords()
    names = {str(one.revision_id): name for name, one in known.items()}
    for one in records_of(run, 0):
        if one.id in names:
            records.add(one._replace(id=names[one.id]))
    found = match(records, known)
    report = report_of(ReadPredictions(PredictionForm.RUN, records, (), len(records)), found, known)
    asked = {"n_orders": run.batch.n_orders, "n_repeats": run.batch.n_repeats, "images": run.batch.images}
    return Checked(report | asked, letters_in(found, len(known)))


def without_images_of(submission: Submission, at: datetime) -> ModelRun | None:
    """The newest run of the same model on the same bank without images that was complete then; None where it has none.
    None through an endpoint of the team, too: what that answers would be a second file of the team.
    """
    run = submission.model_run
    if run is None or submission.way != SubmissionWay.HERE or run.batch.images == SentImages.NONE:
        return None
    runs = ModelRun.objects.filter(entry=run.entry_id, study=None, batch__bank=run.batch.bank_id)
    runs = runs.filter(batch__images=SentImages.NONE, batch__state=BatchState.COMPLETE, batch__finished_at__lte=at)
    return runs.select_related("batch__prompt", "entry").order_by("-batch").first()
