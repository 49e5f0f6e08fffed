"""Which models, runs and targets a person meets. Nobody meets the runs of a study that they read in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.models import QuestionBank, User
from annotation.site.permissions import is_administrator, is_coordinator
from readerstudy.enums import StudyState
from readerstudy.models import ModelEntry, Prediction, PredictionRun, ReaderStudy
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
