"""Which models, runs, targets and banks a person meets. Nobody meets the runs of a study that they read in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import QuestionBank, User
from annotation.people.open_work import SHOWN, NextStep, WorkItem, WorkSection
from annotation.site.permissions import is_administrator, is_coordinator, site_roles
from readerstudy.enums import StudyState
from readerstudy.models import ModelEntry, Prediction, PredictionRun, ReaderStudy, SubmissionCall
from readerstudy.predictions.eligibility import open_banks
from readerstudy.predictions.targets import Target


def entries_known_to(person: User) -> QuerySet[ModelEntry]:
    """All for coordinators of the site and administrators; for others their own, and those in studies of theirs."""
    entries = ModelEntry.objects.select_related("submitter", "replaced_by")
    if is_coordinator(person) or is_administrator(person):
        return entries
    theirs = runs_known_to(person).filter(study__coordinators__user=person).values("entry")
    return entries.filter(Q(submitter=person) | Q(pk__in=theirs))


def runs_known_to(person: User) -> QuerySet[PredictionRun]:
    """Without a role on the whole site: runs on a bank, and on the studies that the person coordinates."""
    runs = PredictionRun.objects.select_related("study", "bank", "entry", "imported_by")
    runs = runs.exclude(study__in=ReaderStudy.objects.filter(enrolments__reader=person))
    if is_coordinator(person) or is_administrator(person):
        return runs
    mine = ReaderStudy.objects.filter(coordinators__user=person)
    return runs.filter(Q(study__in=mine) | Q(study__isnull=True, entry__submitter=person))


@dataclass
class EntryLine:
    """One model of the list with its runs."""

    entry: ModelEntry
    runs: list[PredictionRun] = field(default_factory=list)

    @property
    def named(self) -> list[PredictionRun]:
        return [run for run in self.runs if run.is_named]


def lines_of(entries: Iterable[ModelEntry], person: User) -> list[EntryLine]:
    """Two queries, however many there are."""
    lines = [EntryLine(entry) for entry in entries]
    by_entry: dict[int, list[PredictionRun]] = defaultdict(list)
    for run in runs_known_to(person).filter(entry__in=[line.entry.pk for line in lines]).order_by("imported_at"):
        by_entry[run.entry_id].append(run)
    for line in lines:
        line.runs = by_entry[line.entry.pk]
    return lines


def targets_for(person: User) -> list[Target]:
    """Studies first, then banks: what this person may send predictions for.

    Submitters: banks that are open to them, without those that they read or review.
    """
    banks = QuestionBank.objects.filter(archived_at__isnull=True)
    if is_coordinator(person):
        studies = _studies().exclude(enrolments__reader=person)
    else:
        studies = _studies().filter(coordinators__user=person).exclude(enrolments__reader=person)
        banks = banks.filter(pk__in=open_banks(person))
    return [*map(Target.of_study, studies), *map(Target, banks)]


def _studies() -> QuerySet[ReaderStudy]:
    taking = ReaderStudy.objects.exclude(state=StudyState.DRAFT).filter(archived_at__isnull=True)
    return taking.select_related("bank").order_by("-created_at")


def failed_of(run: PredictionRun) -> QuerySet[Prediction]:
    """The answers from which no option could be taken, in the order of the file."""
    return run.predictions.filter(option="").select_related("revision__question").order_by("row")


def runs_on_bank(bank: QuestionBank) -> str:
    """Why the bank cannot be deleted; empty where no model has predictions for it."""
    if PredictionRun.objects.filter(bank=bank).exists():
        return _("Predictions of models were imported for this bank: archive the bank instead.")
    return ""


@transaction.atomic
def open_submissions(bank: QuestionBank, *, actor: User, at: datetime) -> None:
    """Doing it again changes nothing."""
    _call, is_new = SubmissionCall.objects.get_or_create(bank=bank, defaults={"opened_by": actor, "opened_at": at})
    if is_new:
        record("bank.submissions_opened", actor=actor, at=at, subject=bank)


@transaction.atomic
def close_submissions(bank: QuestionBank, *, actor: User, at: datetime) -> None:
    """What was sent stays. Doing it again changes nothing."""
    n_closed, _rows = SubmissionCall.objects.filter(bank=bank).delete()
    if n_closed:
        record("bank.submissions_closed", actor=actor, at=at, subject=bank)


def models_of_submitter(person: User, at: datetime) -> WorkSection | None:
    """None for people who do not submit models."""
    if Role.MODEL_SUBMITTER not in site_roles(person):
        return None
    lines = lines_of(entries_known_to(person).order_by("-created_at")[:SHOWN], person)
    step = None
    if not lines:
        step = NextStep(_("Enter a model"), _("Enter your model, then send its predictions."), reverse("model-new"))
    return WorkSection(
        _("Your models"),
        [_item(line) for line in lines],
        step,
        is_own=True,
        empty=_("No model yet."),
        url=reverse("models"),
    )


def _item(line: EntryLine) -> WorkItem:
    n_runs = len(line.runs)
    return WorkItem(
        name=str(line.entry),
        url=reverse("model", args=[line.entry.public_id]),
        words=ngettext("%(n)d run", "%(n)d runs", n_runs) % {"n": n_runs},
        state=line.entry.get_state_display(),
        tone="good" if line.entry.state == "listed" else "warn",
    )
