"""The studies of the demonstration: a finished one with the simulated answers of its readers, and an open one.

The open one is made by the ordinary acts from the questions that the reviewers of the finished round accept. Readers
have no role: the study that they are enrolled in is what they have.

The finished one has the shape of the paper's study, 200 questions over five tasks, and none of its answers. Made by the
ordinary acts: questions and images imported, cases drawn and frozen, readings and predictions imported, a case voided
before anybody saw a result and one afterwards, closed and analysed. On the whole bank the models are compared too.

A question is hard by itself, and harder to readers or to models as kinds; for each kind it has one wrong option that
tempts. So raters agree beyond chance, and most within their kind. Nobody's real answers are behind it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from annotation.demonstration.registry import all_accounts
from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.enums import Role
from annotation.models import AnswerKey, QuestionBank, Revision, User
from readerstudy.analysis.comparing_models import compare_models
from readerstudy.analysis.storing import analyse_study, see_analysis
from readerstudy.conducting.lifecycle import close_study, open_study
from readerstudy.demonstration.models_at_work import fill_small_bank, small_exams
from readerstudy.design.case_selection import preview_draw
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.analysis_plan import proposed_analysis
from readerstudy.design.kernels.documents import CHANCES, QUIET_MS, Rules
from readerstudy.design.kernels.drawing import DrawRequest
from readerstudy.design.kernels.plan import N_READERS, Plan
from readerstudy.design.questions import pool_of
from readerstudy.design.voiding import void_case
from readerstudy.enrolment.joining import enrol_reader
from readerstudy.enums import Block
from readerstudy.models import ModelEntry, ReaderStudy, StudyCase
from readerstudy.predictions.importing import SentFile, import_predictions
from readerstudy.predictions.listing import Target
from readerstudy.reading.response_import import import_responses
from readerstudy.study.permissions import StudyRefused

SEED = 20261122
LETTERS = "ABCD"
HARDNESS = {"easy": -0.5, "medium": 0.1, "hard": 0.6}
TEMPTED = 0.6  # of those who are wrong, by the same option
STEADY = 0.85  # of the answers of a model that is asked again
FAILED = ("I cannot answer this from the image.", "", "Both A and C could be right.")


@dataclass(frozen=True)
class SimulatedCase:
    """One case of the study, by the number of its question."""

    question: int
    key: str
    difficulty: str


@dataclass(frozen=True)
class Read:
    """One answer of a reader; without an option where the reader never came to it."""

    asked: SimulatedCase
    position: int
    option: str
    confidence: int | None
    active_ms: int | None


@dataclass(frozen=True)
class Predicted:
    """One answer of a model; without an option where its text, ``raw``, holds none."""

    asked: SimulatedCase
    option: str
    raw: str


@dataclass(frozen=True)
class SimulatedReader:
    skill: float
    seconds: float  # on a case in the middle of the study
    n_unread: int = 0  # cases at the end


READERS: Mapping[str, SimulatedReader] = {
    "Simulated reader 1": SimulatedReader(skill=0.8, seconds=34),
    "Simulated reader 2": SimulatedReader(skill=1.0, seconds=47, n_unread=2),
    "Simulated reader 3": SimulatedReader(skill=1.5, seconds=29),
}
MODELS: Mapping[str, tuple[float, float]] = {  # skill, share of texts without an option
    "Simulated model A": (2.1, 0),
    "Simulated model B": (1.4, 0),
    "Simulated model C": (0.9, 0),
    "Simulated model D": (0.8, 0.01),
    "Simulated model E": (0.7, 0),
    "Simulated model F": (0.2, 0.02),
    "Simulated model G": (-0.6, 0.05),
    "Simulated model H": (-1.1, 0.03),
}


def simulate(cases: Sequence[SimulatedCase]) -> tuple[dict[str, list[Read]], dict[str, list[Predicted]]]:
    """The answers of every reader, in the order in which each read, and of every model."""
    rng = np.random.default_rng((SEED, 1))
    hard = np.array([HARDNESS.get(case.difficulty, 0) for case in cases]) + rng.normal(0, 0.5, len(cases))
    to_readers, to_models = hard + rng.normal(0, 1.2, (2, len(cases)))
    tempts_readers, tempts_models = ([str(rng.choice(_wrong(case))) for case in cases] for _kind in range(2))
    readers = {
        name: _read(cases, reader, to_readers, tempts_readers, np.random.default_rng((SEED, 2, place)))
        for place, (name, reader) in enumerate(READERS.items())
    }
    models = {
        name: _predict(cases, skill, failing, to_models, tempts_models, np.random.default_rng((SEED, 3, place)))
        for place, (name, (skill, failing)) in enumerate(MODELS.items())
    }
    return readers, models


def asked_again(answers: Sequence[Predicted]) -> list[Predicted]:
    """A second run of the same model: most answers stand, the others are as often right as its first run was."""
    rng = np.random.default_rng((SEED, 4))
    right = sum(one.option == one.asked.key for one in answers) / len(answers)
    found = []
    for one in answers:
        option = one.option
        if rng.random() > STEADY:
            option = one.asked.key if rng.random() < right else str(rng.choice(_wrong(one.asked)))
        found.append(Predicted(one.asked, option, f"The answer is {option}." if option else one.raw))
    return found


def _read(
    cases: Sequence[SimulatedCase],
    reader: SimulatedReader,
    hard: NDArray[np.float64],
    tempting: Sequence[str],
    rng: np.random.Generator,
) -> list[Read]:
    """Cases in an order of their own; quicker as the study goes on, slower where the question is hard."""
    order, found = rng.permutation(len(cases)), []
    for position, place in enumerate(order.tolist(), 1):
        if position > len(cases) - reader.n_unread:
            found.append(Read(cases[place], position, "", None, None))
            continue
        sure = _chance(reader.skill - hard[place])
        option = _choice(cases[place], sure, tempting[place], rng)
        felt = np.clip(sure + rng.normal(0, 0.15), 0, 1)
        seconds = reader.seconds * np.exp(0.15 * hard[place] - 0.3 * position / len(cases) + rng.normal(0.15, 0.4))
        confidence = CHANCES[round(felt * (len(CHANCES) - 1))]
        found.append(Read(cases[place], position, option, confidence, round(1000 * seconds)))
    return found


def _predict(
    cases: Sequence[SimulatedCase],
    skill: float,
    failing: float,
    hard: NDArray[np.float64],
    tempting: Sequence[str],
    rng: np.random.Generator,
) -> list[Predicted]:
    found = []
    for place, case in enumerate(cases):
        option = _choice(case, _chance(skill - hard[place]), tempting[place], rng)
        if rng.random() < failing:
            found.append(Predicted(case, "", FAILED[int(rng.integers(len(FAILED)))]))
        else:
            found.append(Predicted(case, option, f"The answer is {option}."))
    return found


def _choice(case: SimulatedCase, right: float, tempting: str, rng: np.random.Generator) -> str:
    if rng.random() < right:
        return case.key
    return tempting if rng.random() < TEMPTED else str(rng.choice(_wrong(case)))


def _wrong(case: SimulatedCase) -> list[str]:
    return [letter for letter in LETTERS if letter != case.key]


def _chance(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


BANK = "Questions of the finished study (simulated)"
STUDY = "Finished reader study (simulated)"
N_CASES = 200
LIMIT_S = 180
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
        study = frozen_study(STUDY, source, N_CASES, coordinator=coordinator, at=begun + timedelta(hours=1))
    _read_and_predicted(study, coordinator=coordinator, at=begun + timedelta(days=3), tell=tell)
    _analysed(study, coordinator=coordinator, at=begun + timedelta(days=4))
    return study


# --- the study ------------------------------------------------------------------------------------
def frozen_study(name: str, bank: QuestionBank, n: int, *, coordinator: User, at: datetime) -> ReaderStudy:
    """Drawn in proportion from the whole bank: of the finished study 200 of the 210 questions of 42 exams."""
    plan = Plan(
        name=name,
        bank=bank.name,
        seed=7,
        draw={"n": min(n, bank.questions.count()), "accepted_because": UNREVIEWED},
        rules=Rules(confidence=True, several_per_patient=True, time_limit_s=LIMIT_S),
        analysis=structs.replace(proposed_analysis(N_READERS), margin=0.1, margin_reason=MARGIN_REASON),
        instructions="Everything here is simulated: images, questions, readers, models and their answers.",
        contact=coordinator.email,
    )
    made = create_study(plan, actor=coordinator, at=at)
    return freeze_study(made, actor=coordinator, at=at, read_elsewhere=True)  # its readings come as files


def _read_and_predicted(study: ReaderStudy, *, coordinator: User, at: datetime, tell: Stage) -> None:
    """Readings and predictions from files, as a study that was made elsewhere would bring them."""
    readers, models = simulate(asked_of(case.revision for case in main_cases(study)))
    words, done, total = "Simulating a finished reader study", 0, 1 + len(models)
    tell(words, done, total)
    read_by(study, readers, coordinator=coordinator, at=at)
    for done, (name, answers) in enumerate(models.items(), 1):
        tell(words, done, total)
        send_predictions(name, answers, Target.of_study(study), about="", actor=coordinator, at=at)
    predict_bank(study, models, coordinator=coordinator, at=at)
    tell(words, total, total)


def read_by(study: ReaderStudy, readers: dict[str, list[Read]], *, coordinator: User, at: datetime) -> None:
    """Readings from a file; the same again change nothing."""
    sheet = _responses_csv(readers).encode()
    read = import_responses(study, name="simulated_readings.csv", content=sheet, actor=coordinator, at=at)
    if not read.stored:
        raise StudyRefused("demonstration", f"The simulated readings were refused: {read.problems[:1]}")


def main_cases(study: ReaderStudy) -> list[StudyCase]:
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
    cases = [case for case in main_cases(study) if not hasattr(case, "voiding")]
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


OPEN_STUDY = "Reader study"
OPEN_CASES, OPEN_PRACTICE, OPEN_SEED = 20, 2, 11
INSTRUCTIONS = "Choose the best of four options for each case. Everything here is simulated."
CONSENT = (
    "This is a demonstration. You agree that your answers and the time that you take are stored on this machine. "
    "You can withdraw at any moment."
)


def add_studies(
    bank: QuestionBank,
    *,
    exams: Sequence[DemonstrationExam],
    folder: Path,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> None:
    """Add what is missing; no open study where the bank holds too few patients for one."""
    add_finished_study(bank, exams, folder, coordinator=coordinator, at=at, tell=tell)
    patients = {candidate.patient for candidate in pool_of(bank)}
    n_practice = OPEN_PRACTICE if len(patients) > 2 * OPEN_PRACTICE else 0
    n_cases = _most_cases(bank, n_practice, min(OPEN_CASES, len(patients) - n_practice))
    if n_cases and not ReaderStudy.objects.filter(name=OPEN_STUDY).exists():
        _open(bank, n_cases, n_practice, coordinator=coordinator, at=at)


def _most_cases(bank: QuestionBank, n_practice: int, most: int) -> int:
    """So many can be drawn with one question per patient."""
    for n in range(most, 0, -1):
        with suppress(StudyRefused):
            preview_draw(bank, DrawRequest(n=n, n_practice=n_practice), seed=OPEN_SEED)
            return n
    return 0


def _open(bank: QuestionBank, n_cases: int, n_practice: int, *, coordinator: User, at: datetime) -> None:
    plan = Plan(
        name=OPEN_STUDY,
        bank=bank.name,
        seed=OPEN_SEED,
        draw={"n": n_cases, "n_practice": n_practice},
        rules=Rules(confidence=True, quiet_ms=QUIET_MS, time_limit_s=LIMIT_S),
        n_readers=3,
        instructions=INSTRUCTIONS,
        consent=CONSENT,
        contact=coordinator.email,
        deadline_at=at + timedelta(days=60),
    )
    study = freeze_study(create_study(plan, actor=coordinator, at=at), actor=coordinator, at=at)
    open_study(study, actor=coordinator, at=at)
    for account in (one for one in all_accounts() if one.role == Role.READER):
        enrol_reader(study, User.objects.get(email=account.email), study.sets.get(), actor=coordinator, at=at)
