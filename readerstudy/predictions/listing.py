"""Which models, runs, targets and banks a person meets. Nobody meets the runs of a study that they read in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import QuestionBank, Revision, User
from annotation.people.open_work import SHOWN, NextStep, WorkItem, WorkSection
from annotation.questionbank.priors import keys_of_questions
from annotation.site.permissions import acts_as, is_administrator, is_coordinator, site_roles, within_reach
from readerstudy.design.questions import questions_named
from readerstudy.enums import Block, StudyState
from readerstudy.models import ModelEntry, ModelRun, Prediction, PredictionRun, ReaderStudy, StudyCase, SubmissionCall
from readerstudy.predictions.entries import check_is_no_benchmark, open_banks
from readerstudy.predictions.kernels.records import KnownQuestion


# --- what a file of predictions is about ----------------------------------------------------------
class Target(Struct, frozen=True):
    """A bank, or a study of it."""

    bank: QuestionBank
    study: ReaderStudy | None = None

    @classmethod
    def of_study(cls, study: ReaderStudy) -> Target:
        return cls(study.bank, study)

    @property
    def name(self) -> str:
        return self.study.name if self.study else self.bank.name

    @property
    def slug(self) -> str:
        return self.study.slug if self.study else self.bank.slug


class TargetQuestions(Struct, frozen=True):
    """All questions of a target by their id, and those that a file names by the names that it uses."""

    by_id: Mapping[int, KnownQuestion]
    by_name: Mapping[str, KnownQuestion]


def questions_of(target: Target, names: Set[str]) -> TargetQuestions:
    """The questions in the wording of the study, or in the current one of the bank."""
    if target.study:
        by_id = wordings_of(StudyCase.objects.filter(study=target.study, block=Block.MAIN).order_by(), "revision__")
    else:
        by_id = wordings_of(Revision.objects.in_bank(target.bank).current().order_by())
    known: dict[str, int] = {}
    if target.study is None and 2 * len(names) > len(by_id):  # one walk over all keys is less than so many look-ups
        keys = keys_of_questions(target.bank.pk, by_id.keys())
        known = {key: pk for pk, key in keys.items() if key in names}
    named = questions_named(target.bank, names - known.keys())
    known |= {str(name): pk for name, pk in named.items() if pk in by_id}
    return TargetQuestions(by_id, {name: by_id[pk] for name, pk in known.items()})


def wordings_of(rows: QuerySet[Any], to_wording: str = "") -> dict[int, KnownQuestion]:
    """By question; ``to_wording``: how rows other than wordings lead to theirs, such as ``revision__``."""
    columns = (f"{to_wording}{name}" for name in ("question_id", "pk", "question__number", "options"))
    return {question: KnownQuestion(*rest) for question, *rest in rows.values_list(*columns)}


# --- what a person meets --------------------------------------------------------------------------
def entries_known_to(person: User) -> QuerySet[ModelEntry]:
    """All for coordinators of the site and administrators; for others their own, and those in studies of theirs.

    A token of one place reaches the models of its person, and those with predictions there.
    """
    entries = ModelEntry.objects.select_related("submitter", "replaced_by")
    if is_coordinator(person) or is_administrator(person):
        if person.limits is None or person.limits.is_read_only:
            return entries
        return entries.filter(Q(submitter=person) | Q(pk__in=runs_known_to(person).values("entry")))
    theirs = runs_known_to(person).filter(study__coordinators__user=person).values("entry")
    return entries.filter(Q(submitter=person) | Q(pk__in=theirs))


def runs_known_to(person: User) -> QuerySet[PredictionRun]:
    """Without a role on the whole site: runs on a bank, and on the studies that the person coordinates."""
    found = PredictionRun.objects.select_related("study", "bank", "entry", "imported_by")
    found = found.exclude(study__in=ReaderStudy.objects.filter(enrolments__reader=person))
    runs: QuerySet[PredictionRun] = within_reach(person, found, bank="bank", study="study")
    if is_coordinator(person) or is_administrator(person):
        return runs
    mine = _coordinated(person, ReaderStudy.objects.all())
    return runs.filter(Q(study__in=mine) | Q(study__isnull=True, entry__submitter=person))


def reaches_all_runs(person: User, entry: ModelEntry) -> bool:
    """Whether a token reaches every run of the model, which leaves figures with it; a person without one does."""
    reached = {"bank": "bank", "study": "study"}, {"bank": "batch__bank", "study": "study"}
    runs: tuple[QuerySet[Any], ...] = PredictionRun.objects.filter(entry=entry), ModelRun.objects.filter(entry=entry)
    return all(
        not rows.exclude(pk__in=within_reach(person, rows, **places).values("pk")).exists()
        for rows, places in zip(runs, reached, strict=True)
    )


class EntryLine(Struct):
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


def _coordinated(person: User, studies: QuerySet[ReaderStudy]) -> QuerySet[ReaderStudy]:
    """Those that the person coordinates without coordinating the site; none for a token of another role."""
    return studies.filter(coordinators__user=person) if acts_as(person, Role.COORDINATOR) else studies.none()


def targets_for(person: User) -> list[Target]:
    """Studies first, then banks: what this person may send predictions for.

    Submitters: banks that are open to them, without those that they read or review.
    """
    banks = QuestionBank.objects.filter(archived_at__isnull=True)
    if is_coordinator(person):
        studies = _studies()
    else:
        studies = _coordinated(person, _studies())
        banks = banks.filter(pk__in=open_banks(person))
    studies = within_reach(person, studies.exclude(enrolments__reader=person), bank="bank", study="pk")
    banks = within_reach(person, banks, bank="pk")
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
    """Doing it again changes nothing. Refused while a leaderboard asks the bank."""
    QuestionBank.objects.select_for_update(no_key=True).get(pk=bank.pk)
    check_is_no_benchmark(bank)
    _call, is_new = SubmissionCall.objects.get_or_create(bank=bank, defaults={"opened_by": actor, "opened_at": at})
    if is_new:
        record("bank.submissions_opened", actor=actor, at=at, subject=bank)


@transaction.atomic
def close_submissions(bank: QuestionBank, *, actor: User | None, at: datetime) -> None:
    """What was sent stays. Doing it again changes nothing."""
    QuestionBank.objects.select_for_update(no_key=True).get(pk=bank.pk)
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
