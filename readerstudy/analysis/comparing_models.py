"""Gather, compare, store: one comparison of the models on a bank, as one row that never changes; and the runs of one
model on the same bank or study, compared with each other, and what a person sees of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import Case, OuterRef, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from annotation.audit.recording import record
from annotation.call_enums import OF_SERVER
from annotation.enums import ImportKind, ImportState
from annotation.jobs.queueing import Progress, Result
from annotation.models import AnswerKey, BankImport, Edit, ModelCall, QuestionBank, Revision, User
from annotation.questionbank.priors import Patients, patients_of
from readerstudy.analysis.kernels.arrays import TASKS
from readerstudy.analysis.kernels.bank_comparison import (
    EARLIER,
    FAILED,
    MISSING,
    NOT_ASKED,
    RULE,
    BankArrays,
    Entrant,
    compare,
    repeatability,
    without_scores,
)
from readerstudy.analysis.kernels.result import LETTERS
from readerstudy.analysis.storing import (
    REPEATABILITY,
    Computed,
    RepeatabilityParams,
    as_text,
    computed_once,
    software_versions,
)
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.design.shown import patients_shown
from readerstudy.enums import Block, EntryState, PredictionForm
from readerstudy.models import ModelComparison, ModelEntry, ModelRun, Prediction, PredictionRun, ReaderStudy, StudyCase
from readerstudy.predictions.entries import is_benchmarked, knows_scores
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import runs_known_to
from readerstudy.predictions.looks import is_seen

_ABOUT = ("task", "category", "question__exam__pseudonym", "question__exam__patient_pseudonym")


def named_runs(bank: QuestionBank) -> QuerySet[PredictionRun]:
    """The main run of each listed model on this bank as a whole."""
    runs = PredictionRun.objects.filter(bank=bank, study__isnull=True, is_named=True, entry__state=EntryState.LISTED)
    return runs.select_related("entry").order_by("entry__name", "entry__version", "pk")


def inputs_now(bank: QuestionBank) -> str:
    """The hash of what a comparison would read now: two queries, since neither runs nor revisions ever change.

    A run that is imported, named or withdrawn changes it, a model under another name, and a published import of
    questions.
    """
    runs = [[run.public_id, run.entry.public_id, str(run.entry)] for run in named_runs(bank)]
    read = {"rule": RULE, "bank": bank.name, "runs": runs, "imports": published_imports(bank)}
    return sha256_of(canonical(read))


def published_imports(bank: QuestionBank) -> list[str]:
    """What says which questions, wordings and keys a bank has now."""
    newest = Edit.objects.filter(revision__bank_import=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    imports = BankImport.objects.filter(bank=bank, state=ImportState.PUBLISHED).order_by("pk")
    edited = Case(When(kind=ImportKind.EDITS, then=Subquery(newest)))  # asked of the edits alone
    rows = imports.values_list("public_id", edited)
    return [name if edit is None else f"edit {edit}" for name, edit in rows]


def gather(bank: QuestionBank) -> BankArrays:
    """The main runs: four queries, and one for each model."""
    return gather_runs(bank, list(named_runs(bank)))


def gather_runs(bank: QuestionBank, runs: Sequence[PredictionRun]) -> BankArrays:
    """Counted for a run is what it was asked in the wording of now; what it left out of that is missing, and wrong."""
    current = Revision.objects.in_bank(bank).current()
    rows = list(current.order_by("question__number").values_list("pk", *_ABOUT))
    return _arrays(bank, rows, current.values("pk"), runs, patients_of(bank.pk), _there_since(current))


class _Since(NamedTuple):
    """Of a current wording; None: nobody noted when it came."""

    question: int
    wording: datetime | None
    first: datetime | None  # wording of the question


def _there_since(current: QuerySet[Revision]) -> dict[int, _Since]:
    """By revision: since when the bank has it, by its edit or else by its import."""
    came = Coalesce("edit__made_at", "bank_import__finished_at")
    changed = current.filter(number__gt=1).values("question")
    firsts = dict(Revision.objects.filter(question__in=changed, number=1).values_list("question_id", came))
    rows = current.order_by().values_list("pk", "question_id", came)
    return {pk: _Since(question, at, firsts.get(question, at)) for pk, question, at in rows.iterator(chunk_size=5000)}


def gather_study_runs(study: ReaderStudy, runs: Sequence[PredictionRun]) -> BankArrays:
    """The main block of a study in its own wording, without what was voided before anybody saw a result."""
    cases = StudyCase.objects.filter(study=study, block=Block.MAIN).exclude(voiding__before_unblinding=True)
    columns = [f"revision__{name}" for name in _ABOUT]
    rows = list(cases.order_by("number").values_list("revision_id", *columns))
    arrays = _arrays(study.bank, rows, cases.values("revision"), runs, patients_shown(study))
    return replace(arrays, missing_is_wrong=False)


def voided_cases(study: ReaderStudy) -> list[int]:
    """Those that were left out before anybody saw a result, as part of what a comparison reads."""
    voided = StudyCase.objects.filter(study=study, voiding__before_unblinding=True)
    return list(voided.order_by("pk").values_list("pk", flat=True))


@dataclass(frozen=True)
class KeyedQuestions:
    """Questions that have a key, with the exam or patient that some share."""

    rows: list[tuple[Any, ...]]  # as they were given
    column_of: Mapping[int, int]  # by revision
    key: NDArray[np.int8]  # 0 to 3
    cluster: NDArray[np.int32]
    cluster_level: str
    n_without_key: int


def keyed_questions(
    rows: Sequence[tuple[Any, ...]], revisions: QuerySet[Any, Any], patients: Patients
) -> KeyedQuestions:
    """``rows``: the revision first, the pseudonyms of exam and patient last. Those without a key are left out."""
    keys = dict(AnswerKey.objects.filter(revision__in=revisions).values_list("revision_id", "key"))
    kept = [row for row in rows if row[0] in keys]
    cluster, level = patients.clusters([(patient, exam) for *_about, exam, patient in kept])
    return KeyedQuestions(
        rows=kept,
        column_of={row[0]: column for column, row in enumerate(kept)},
        key=np.array([LETTERS.index(keys[row[0]]) for row in kept], dtype=np.int8),
        cluster=np.array(cluster, dtype=np.int32),
        cluster_level=level,
        n_without_key=len(rows) - len(kept),
    )


def options_of(run: ModelRun, questions: KeyedQuestions) -> NDArray[np.int8]:
    """Of shape (orders, repeats, questions): 0 to 3, or what there is in place of an option."""
    option = np.full((run.batch.n_orders, run.batch.n_repeats, len(questions.key)), MISSING, dtype=np.int8)
    calls = ModelCall.objects.filter(batch=run.batch_id).exclude(outcome__in=OF_SERVER).order_by()
    rows = calls.values_list("revision_id", "rotation", "repeat", "option")
    for revision, rotation, repeat, letter in rows.iterator(chunk_size=5000):
        column = questions.column_of.get(revision)
        if column is not None:
            option[rotation, repeat, column] = LETTERS.index(letter) if letter else FAILED
    return option


def _arrays(
    bank: QuestionBank,
    rows: Sequence[tuple[Any, ...]],
    revisions: QuerySet[Any, Any],
    runs: Sequence[PredictionRun],
    patients: Patients,
    there_since: Mapping[int, _Since] | None = None,
) -> BankArrays:
    """``rows``: revision, task, category, pseudonyms of exam and patient.

    ``there_since``: None where every run was asked all of them.
    """
    found = keyed_questions(rows, revisions, patients)
    kept, column_of = found.rows, found.column_of
    option = np.full((len(runs), len(kept)), MISSING, dtype=np.int8)
    column_of_question = {}
    if there_since is not None:
        since = [there_since[row[0]] for row in kept]
        column_of_question = {one.question: column for column, one in enumerate(since)}
        for row, run in enumerate(runs):
            option[row] = [_without_answer(run, one) for one in since]
    entrants = [_entrant(run, _fill(option[row], run, column_of, column_of_question)) for row, run in enumerate(runs)]
    return BankArrays(
        bank=bank.name,
        slug=bank.slug,
        simulated=bank.simulated,
        cluster_level=found.cluster_level,
        n_without_key=found.n_without_key,
        entrants=tuple(entrants),
        key=found.key,
        task=np.array([TASKS.index(row[1]) for row in kept], dtype=np.int8),
        category=tuple(row[2] for row in kept),
        cluster=found.cluster,
        option=option,
    )


def _without_answer(run: PredictionRun, since: _Since) -> int:
    """What it means that a run holds no answer: a file leaves out, a run of this site has one for each of its calls."""
    if run.form == PredictionForm.RUN:
        return NOT_ASKED
    if since.wording is None or since.wording <= run.imported_at:
        return MISSING
    return EARLIER if since.first is None or since.first <= run.imported_at else NOT_ASKED


def _fill(
    option: NDArray[np.int8], run: PredictionRun, column_of: Mapping[int, int], column_of_question: Mapping[int, int]
) -> int:
    """Fill one row in place; how many answers of the run are about another wording, or about a question without key."""
    found = Prediction.objects.filter(run=run).order_by().values_list("revision_id", "option", "revision__question")
    elsewhere = []
    for revision, letter, question in found.iterator(chunk_size=5000):
        column = column_of.get(revision)
        if column is None:
            elsewhere.append(question)
        else:
            option[column] = LETTERS.index(letter) if letter else FAILED
    option[[column_of_question[question] for question in elsewhere if question in column_of_question]] = EARLIER
    return len(elsewhere)


def _entrant(run: PredictionRun, n_elsewhere: int) -> Entrant:
    facts = {
        "model": run.entry.public_id,
        "version": run.entry.version,
        "run": run.public_id,
        "number": run.number,
        "rule": run.rule,
        "file_sha256": run.file_sha256,
        "n_elsewhere": n_elsewhere,
    }
    return Entrant(str(run.entry), facts)


# --- comparing ------------------------------------------------------------------------------------
def compare_models(bank: QuestionBank, *, actor: User | None, at: datetime) -> ModelComparison:
    """The same inputs and software give the same bytes, and then the row that is there.

    Refused where there is nothing to compare.
    """
    inputs = inputs_now(bank)
    arrays = gather(bank)
    if not arrays.entrants:
        raise PredictionsRefused("nothing_to_compare", _("No model has a main run on this bank."))
    if not len(arrays.key):
        sentence = _("No question of this bank has a key: nothing can be counted as right.")
        raise PredictionsRefused("nothing_to_compare", sentence)
    software = {**software_versions(), "rule": RULE}
    text = as_text({**compare(arrays), "inputs_sha256": inputs, "software": software})
    return _store(bank, inputs, text, actor=actor, at=at)


@transaction.atomic
def _store(bank: QuestionBank, inputs: str, text: str, *, actor: User | None, at: datetime) -> ModelComparison:
    """Apart from computing, so that nobody waits for that with a write."""
    hashed = sha256_of(text)
    there = ModelComparison.objects.filter(bank=bank, result_sha256=hashed).first()
    if there is not None:
        return there
    made = ModelComparison.objects.create(
        bank=bank, inputs_sha256=inputs, result=text, result_sha256=hashed, created_by=actor, created_at=at
    )
    facts = {"comparison": made.public_id, "inputs_sha256": inputs, "result_sha256": hashed}
    record("bank.models_compared", actor=actor, at=at, subject=bank, facts=facts)
    return made


SEED = 1  # where there is no study that has one
REPEATABILITY_RULE = "repeatability-3"  # change the name when the same inputs would give other numbers


@dataclass(frozen=True)
class Repeated:
    """A bank or a study with two live runs or more."""

    bank: QuestionBank
    study: ReaderStudy | None
    runs: tuple[PredictionRun, ...]

    @property
    def name(self) -> str:
        return f"study-{self.study.slug}" if self.study else f"bank-{self.bank.slug}"

    @property
    def is_hidden(self) -> bool:
        """What models scored in a study is a result of it: hidden until somebody has seen its results."""
        return self.study is not None and not is_seen(self.study)


def repeated_targets(entry: ModelEntry, person: User) -> list[Repeated]:
    """Studies first. Of runs that the person may see; withdrawn ones are left out."""
    runs = runs_known_to(person).filter(entry=entry, withdrawn_at__isnull=True).order_by("number")
    return sorted(targets_of(runs), key=lambda one: (one.study is None, one.name))


def targets_of(runs: Iterable[PredictionRun]) -> list[Repeated]:
    found: dict[tuple[int | None, int], list[PredictionRun]] = {}
    for run in runs:
        if run.withdrawn_at is None:
            found.setdefault((run.study_id, run.bank_id), []).append(run)
    return [Repeated(of[0].bank, of[0].study, tuple(of)) for of in found.values() if len(of) > 1]


def repeatability_for(person: User, target: Repeated, *, at: datetime) -> Computed:
    """What was computed for these runs; begins to compute it where nobody has.

    Whoever must not know scores on a bank sees how far runs agree, and nothing of how often they are right; nor does
    anybody on a benchmark under way.
    """
    title = _("Repeatability on %(name)s") % {"name": target.name[:150]}
    found = computed_once(REPEATABILITY, title, _params(target), at=at)
    is_told = knows_scores(person) and not is_benchmarked(target.bank.pk)
    may_see_scores = target.study is not None or is_told
    return found if may_see_scores or found.result is None else Computed(without_scores(found.result))


def run_repeatability(progress: Progress, params: RepeatabilityParams) -> Result:
    """The handler. Neither runs nor revisions ever change; what represents the rest is part of the inputs."""
    progress.report(0, 1)
    runs = PredictionRun.objects.filter(public_id__in=params["runs"]).select_related("entry").order_by("number")
    if params["study"]:
        study = ReaderStudy.objects.select_related("bank").get(pk=params["study"])
        found = repeatability(gather_study_runs(study, list(runs)), seed=study.seed)
    else:
        found = repeatability(gather_runs(QuestionBank.objects.get(pk=params["bank"]), list(runs)), seed=SEED)
    progress.report(1, 1)
    return found


def _params(target: Repeated) -> RepeatabilityParams:
    """What the job reads; ``inputs`` is another one as soon as runs, questions, voided cases or the rule are."""
    bank, study = target.bank.pk, target.study.pk if target.study else None
    runs = [run.public_id for run in target.runs]
    changes = voided_cases(target.study) if target.study else published_imports(target.bank)
    read = {"rule": REPEATABILITY_RULE, "bank": bank, "study": study, "runs": runs, "changes": changes}
    return RepeatabilityParams(inputs=sha256_of(canonical(read)), bank=bank, study=study, runs=runs)
