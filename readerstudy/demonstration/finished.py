"""The finished study of the demonstration: three simulated readers and eight simulated models on simulated images.

It has the shape of the paper's study, 200 questions over five tasks, and none of its answers. Made by the ordinary
acts: questions and images imported, cases drawn and frozen, readings and predictions imported, a case voided before
anybody saw a result and one afterwards, closed and analysed. On the whole bank the models are compared too.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from PIL import Image as Picture

from annotation.demonstration.kernels.phantom_spec import Projection
from annotation.demonstration.question_file import records_of
from annotation.demonstration.questions import DemonstrationQuestion, questions_of
from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.enums import ImageState, RenditionKind
from annotation.ingest import storage
from annotation.ingest.describing import credit_images
from annotation.ingest.exams import ingest_paths
from annotation.ingest.kernels.credits import Credit
from annotation.ingest.searching import check_text
from annotation.models import AnswerKey, Image, QuestionBank, Rendition, Revision, User
from annotation.questionbank.importing import import_questions, locate
from readerstudy.analysis.seeing import see_analysis
from readerstudy.analysis.storing import analyse_study
from readerstudy.comparison.comparing_models import compare_models
from readerstudy.conducting.lifecycle import close_study
from readerstudy.demonstration.answering import Predicted, Read, SimulatedCase, asked_again, simulate
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
ATTRIBUTION = "made by this program"
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
    source = _fill_bank(bank, small_exams(exams), folder, coordinator=coordinator, at=begun, tell=tell)
    study = ReaderStudy.objects.filter(name=STUDY).first()
    if study is None:
        study = _frozen(source, coordinator=coordinator, at=begun + timedelta(hours=1))
    _read_and_predicted(study, coordinator=coordinator, at=begun + timedelta(days=3), tell=tell)
    _analysed(study, coordinator=coordinator, at=begun + timedelta(days=4))
    return study


# --- questions and images -------------------------------------------------------------------------
def _fill_bank(
    bank: QuestionBank, exams: Sequence[SmallExam], folder: Path, *, coordinator: User, at: datetime, tell: Stage
) -> QuestionBank:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        file = folder / "questions.json"
        file.write_text(json.dumps(records_of_one_view(exams), ensure_ascii=False))
        result = import_questions(locate(file), bank_name=BANK, actor=coordinator, clock=lambda: at, simulated=True)
        if not result.stored:
            raise StudyRefused("demonstration", f"The questions were refused: {result.as_json()['errors'][:3]}")
        found = QuestionBank.objects.get(name=BANK)
        if Image.objects.filter(exam__bank=found, state=ImageState.PENDING).exists():
            _draw_small(bank, exams, folder)
            taken = ingest_paths(
                [folder / "images"],
                bank=found,
                actor=coordinator,
                at=at,
                simulated=True,
                watch=lambda done, total: tell("Taking in the images of the finished study", done, total),
                search_text=lambda image: check_text(image, at=at),
            )
            if taken.refusals:
                raise StudyRefused("demonstration", f"An image was refused: {taken.refusals[0].as_json()['message']}")
            rows = [Credit(n, exam.path_of(VIEW), ATTRIBUTION, "", None) for n, exam in enumerate(exams, 2)]
            credit_images(rows, bank=found, actor=coordinator, at=at)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _draw_small(bank: QuestionBank, exams: Sequence[SmallExam], folder: Path) -> None:
    """The files of ``exams``: the frontal views of the bank, in its order and then again."""
    frontal: dict[int, str] = {}
    shown = Rendition.objects.filter(kind=RenditionKind.PREVIEW, image__exam__bank=bank)
    for exam_id, name in shown.order_by("image__exam", "image").values_list("image__exam", "name"):
        frontal.setdefault(exam_id, name)
    for exam, name in zip(exams, cycle(frontal.values()), strict=False):
        path = folder / exam.path_of(VIEW)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(small_picture(storage.load(name), seed=exam.number))


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


# --- its exams: the simulated chests again as small pictures, with other questions ----------------
SHARE = 1.75  # exams for each chest of the demonstration: 42 for its 24, and 210 questions
FIRST = 101  # number of the first of them
HEIGHT = 256  # pixels; the search for text in larger ones would keep the first start waiting
VIEW: Projection = "PA"
EXPLANATION = "Simulated: the key follows from what the simulated chest was made to show."
IN_ONE_VIEW = {
    "these frontal and lateral chest radiographs": "this frontal chest radiograph",
    "these radiographs": "this radiograph",
}


@dataclass(frozen=True)
class SmallExam(DemonstrationExam):
    """An exam of one frontal view, a small picture of a chest that is in the demonstration already."""

    def path_of(self, view: Projection) -> str:
        return f"images/exam{self.number}/{view.lower()}.png"


def small_exams(exams: Sequence[DemonstrationExam]) -> list[SmallExam]:
    """Patients of other ages with the chests of ``exams``, in that order and then again."""
    rng = np.random.default_rng(FIRST)
    found = []
    for place, exam in enumerate(islice(cycle(exams), round(SHARE * len(exams)))):
        age = int(np.clip(exam.spec.age + rng.integers(-6, 7), 18, 92))
        found.append(SmallExam(FIRST + place, replace(exam.spec, age=age), exam.indication, exam.marker))
    return found


def records_of_one_view(exams: Sequence[SmallExam]) -> dict[str, dict[str, Any]]:
    """The questions of ``exams`` in the ReXVQA form, asked about the frontal view alone."""
    questions = [_in_one_view(question) for exam in exams for question in questions_of(exam)]
    first = ("ImagePath", "ImageViewPosition", "ImageModality", "ImageBodyPart")
    return {
        key: record | {name: record[name][:1] for name in first} | {"StudyDescription": "SIMULATED CHEST 1 VIEW"}
        for key, record in records_of(questions).items()
    }


def _in_one_view(question: DemonstrationQuestion) -> DemonstrationQuestion:
    stem = question.stem
    for of_two, of_one in IN_ONE_VIEW.items():
        stem = stem.replace(of_two, of_one)
    return replace(question, stem=stem, explanation=EXPLANATION)


def small_picture(content: bytes, seed: int) -> bytes:
    """A picture as a small PNG: cut a little at its edges, brighter or darker, with noise, as ``seed`` has it."""
    rng = np.random.default_rng(seed)
    picture = Picture.open(io.BytesIO(content)).convert("L")
    cut = picture.width * float(rng.uniform(0, 0.03))
    box = (cut, cut * picture.height / picture.width, picture.width - cut, picture.height * (1 - cut / picture.width))
    size = round(HEIGHT * picture.width / picture.height), HEIGHT
    greys = np.asarray(picture.resize(size, Picture.Resampling.BILINEAR, box=box), dtype=np.float32) / 255
    greys = greys ** rng.uniform(0.85, 1.15) + rng.normal(0, 0.008, greys.shape)
    stream = io.BytesIO()
    Picture.fromarray((np.clip(greys, 0, 1) * 255).astype(np.uint8)).save(stream, "PNG", compress_level=1)
    return stream.getvalue()
