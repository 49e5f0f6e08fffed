"""The finished study of the demonstration: three simulated readers and eight simulated models on simulated images.

It has the shape of the paper's study, 200 questions over five tasks, and none of its answers. Made by the ordinary
acts: questions and images imported, cases drawn and frozen, readings and predictions imported, a case voided before
anybody saw a result and one afterwards, closed and analysed. On the whole bank the models are compared too.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import structs

from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.models import AnswerKey, QuestionBank, Revision, User
from readerstudy.analysis.storing import analyse_study, see_analysis
from readerstudy.comparison.comparing_models import compare_models
from readerstudy.conducting.lifecycle import close_study
from readerstudy.demonstration.answering import Predicted, Read, SimulatedCase, asked_again, simulate
from readerstudy.demonstration.small_exams import fill_small_bank, small_exams
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.analysis_plan import proposed_analysis
from readerstudy.design.kernels.plan import N_READERS, Plan
from readerstudy.design.kernels.rules import Rules
from readerstudy.design.voiding import void_case
from readerstudy.enums import Block
from readerstudy.models import ModelEntry, ReaderStudy, StudyCase
from readerstudy.predictions.importing import SentFile, import_predictions
from readerstudy.predictions.listing import Target
from readerstudy.reading.response_import import import_responses
from readerstudy.study.locking import StudyRefused

BANK = "Questions of the finished study (simulated)"
STUDY = "Finished reader study (simulated)"
N_CASES = 200
SHARE = 1.75  # exams for each chest of the demonstration: 42 for its 24, and 210 questions
FIRST_EXAM = 101
UNREVIEWED = "Simulated: the key follows from what the simulated chest shows. No radiologist reviewed the question."
MARGIN_REASON = "Simulated reason: half of the difference between the best and the weakest reader."
BEFORE = "Simulated reason: two options are right."
AFTERWARDS = "Simulated reason: the key is disputed."


def add_finished_study(
    bank: QuestionBank,
    exams: Sequence[DemonstrationExam],
    folder: Path,
    *,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> ReaderStudy:
    """Add what is missing of bank and study, dated some days before ``at``.

    ``bank`` is the one whose images come again as small pictures, and ``exams`` what they show, in its order;
    ``folder`` holds the files for as long as this takes.
    """
    begun = at - timedelta(days=6)
    shown = small_exams(exams, first=FIRST_EXAM, n=round(SHARE * len(exams)))
    source = fill_small_bank(BANK, shown, of=bank, folder=folder, coordinator=coordinator, at=begun, tell=tell)
    study = ReaderStudy.objects.filter(name=STUDY).first()
    if study is None:
        study = _frozen(source, coordinator=coordinator, at=begun + timedelta(hours=1))
    _read_and_predicted(study, coordinator=coordinator, at=begun + timedelta(days=3), tell=tell)
    _analysed(study, coordinator=coordinator, at=begun + timedelta(days=4))
    return study


# --- the study ------------------------------------------------------------------------------------
def _frozen(bank: QuestionBank, *, coordinator: User, at: datetime) -> ReaderStudy:
    """Drawn in proportion from the whole bank: 200 cases of the 210 questions of 42 exams."""
    plan = Plan(
        name=STUDY,
        bank=bank.name,
        seed=7,
        draw={"n": min(N_CASES, bank.questions.count()), "accepted_because": UNREVIEWED},
        rules=Rules(confidence=True, several_per_patient=True),
        analysis=structs.replace(proposed_analysis(N_READERS), margin=0.1, margin_reason=MARGIN_REASON),
        instructions="Everything here is simulated: images, questions, readers, models and their answers.",
        contact=coordinator.email,
    )
    return freeze_study(create_study(plan, actor=coordinator, at=at), actor=coordinator, at=at)


def _read_and_predicted(study: ReaderStudy, *, coordinator: User, at: datetime, tell: Stage) -> None:
    """Readings and predictions from files, as a study that was made elsewhere would bring them."""
    readers, models = simulate(asked_of(case.revision for case in _main_cases(study)))
    words, done, total = "Simulating a finished reader study", 0, 1 + len(models)
    tell(words, done, total)
    sheet = _responses_csv(readers).encode()
    read = import_responses(study, name="simulated_readings.csv", content=sheet, actor=coordinator, at=at)
    if not read.stored:
        raise StudyRefused("demonstration", f"The simulated readings were refused: {read.problems[:1]}")
    for done, (name, answers) in enumerate(models.items(), 1):
        tell(words, done, total)
        send_predictions(name, answers, Target.of_study(study), about="", actor=coordinator, at=at)
    predict_bank(study, models, coordinator=coordinator, at=at)
    tell(words, total, total)


def _main_cases(study: ReaderStudy) -> list[StudyCase]:
    return list(study.cases.filter(block=Block.MAIN).select_related("revision__question").order_by("number"))


def _responses_csv(readers: dict[str, list[Read]]) -> str:
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(("reader", "case", "option", "state", "position", "confidence", "active_ms"))
    for reader, answers in readers.items():
        for one in answers:
            state = "answered" if one.option else "missing"
            writer.writerow(
                (reader, one.asked.question, one.option, state, one.position, one.confidence, one.active_ms)
            )
    return table.getvalue()


def _analysed(study: ReaderStudy, *, coordinator: User, at: datetime) -> None:
    """One case voided, closed, analysed and looked at; then another one voided, and analysed again."""
    study.refresh_from_db()
    cases = [case for case in _main_cases(study) if not hasattr(case, "voiding")]
    if study.closed_at is None:
        void_case(cases[len(cases) // 8], BEFORE, actor=coordinator, at=at)
        close_study(study, actor=coordinator, at=at)
    if study.unblinded_at is None:
        see_analysis(analyse_study(study, actor=coordinator, at=at), actor=coordinator, at=at)
        void_case(cases[len(cases) // 2], AFTERWARDS, actor=coordinator, at=at + timedelta(hours=1))
    analyse_study(study, actor=coordinator, at=at + timedelta(hours=1))


# --- what the models answer to a study and to the whole bank behind it, as files that were sent ---
ASKED_TWICE = "Simulated model C"


def asked_of(revisions: Iterable[Revision]) -> list[SimulatedCase]:
    """The questions of ``revisions``, in their order; each needs a key."""
    found = list(revisions)
    keys = AnswerKey.objects.in_bulk([one.pk for one in found])
    return [SimulatedCase(one.question.number, keys[one.pk].key, one.difficulty) for one in found]


def send_predictions(
    name: str, answers: Sequence[Predicted], target: Target, *, about: str, actor: User, at: datetime
) -> None:
    """One file of the model ``name``."""
    file = SentFile(f"{name.lower().replace(' ', '_')}{about}.jsonl", _as_jsonl(name, answers).encode())
    entry = ModelEntry.objects.filter(name=name).first() or ModelEntry(name=name)
    taken = import_predictions(entry, target, file, actor=actor, at=at)
    if taken.is_refused:
        raise StudyRefused("demonstration", f"The simulated predictions were refused: {taken.problems[:1]}")


def predict_bank(study: ReaderStudy, in_study: dict[str, list[Predicted]], *, coordinator: User, at: datetime) -> None:
    """The whole bank of ``study``, its own questions as they were answered there; one model twice; compared."""
    numbers = {one.asked.question for answers in in_study.values() for one in answers}
    current = Revision.objects.in_bank(study.bank).current().select_related("question").order_by("question__number")
    _readers, others = simulate(asked_of(one for one in current if one.question.number not in numbers))
    target = Target(study.bank)
    for name, answers in in_study.items():
        whole = [*answers, *others[name]]
        send_predictions(name, whole, target, about="_whole_bank", actor=coordinator, at=at)
        if name == ASKED_TWICE:
            send_predictions(name, asked_again(whole), target, about="_asked_again", actor=coordinator, at=at)
    compare_models(study.bank, actor=coordinator, at=at)


def _as_jsonl(name: str, answers: Sequence[Predicted]) -> str:
    lines = [
        {"id": str(one.asked.question), "pred_answer": one.raw, "explanation": f"Simulated explanation of {name}."}
        for one in answers
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)
