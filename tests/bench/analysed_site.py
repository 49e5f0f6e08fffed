"""A study that three readers and eight models answered, and its analysis."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from readerstudy.models import Analysis, ReaderStudy

READERS = {"R1": 0.66, "R2": 0.70, "R3": 0.77}
MODELS = {f"Model {letter}": 0.25 + 0.08 * place for place, letter in enumerate("ABCDEFGH")}
SHARE_FAILED, SEED = 0.01, 41_007


def made_study(n_cases: int) -> ReaderStudy:
    """Frozen, never opened, with readings and predictions from files; an empty, migrated database becomes its home."""
    from django.utils import timezone

    from annotation.models import QuestionBank, Revision
    from annotation.questionbank.importing import import_questions, locate
    from readerstudy.design.kernels.documents import Rules
    from readerstudy.enums import StudyState
    from readerstudy.models import Arm, CaseSet, ReaderStudy, StudyCase
    from tests.bench.import_questions import prepared_file

    now = timezone.now()
    import_questions(locate(prepared_file(n_cases)), bank_name="Benchmark", actor=None, clock=timezone.now)
    bank = QuestionBank.objects.get()
    study = ReaderStudy.objects.create(
        name="Benchmark",
        slug="benchmark",
        bank=bank,
        rules=Rules().as_json(),
        created_at=now,
        frozen_at=now,
        protocol_sha256="c0ffee" + "0" * 58,
    )
    Arm.objects.create(study=study)
    case_set = CaseSet.objects.create(study=study, name="All cases")
    revisions = Revision.objects.in_bank(bank).current().order_by("question__number").values_list("pk", flat=True)
    cases = [StudyCase(study=study, number=number, revision_id=pk) for number, pk in enumerate(revisions, start=1)]
    StudyCase.objects.bulk_create(cases, batch_size=1000)
    link = CaseSet.cases.through
    ids = study.cases.values_list("pk", flat=True)
    link.objects.bulk_create([link(caseset=case_set, studycase_id=pk) for pk in ids], batch_size=1000)
    study.state = StudyState.FROZEN
    study.save(update_fields=["state"])
    _answer(study)
    return study


def _answer(study: ReaderStudy) -> None:
    from django.utils import timezone

    from annotation.models import AnswerKey
    from annotation.questionbank.priors import keys_of_questions
    from readerstudy.models import ModelEntry
    from readerstudy.predictions.importing import SentFile, import_predictions
    from readerstudy.predictions.listing import Target
    from readerstudy.reading.response_import import import_responses

    question = "revision__question"
    rows = study.cases.order_by("number").values_list("revision_id", f"{question}_id", f"{question}__number")
    keys = dict(AnswerKey.objects.values_list("revision_id", "key"))
    names = keys_of_questions(study.bank_id, [question for _revision, question, _number in rows])
    key = np.array(["ABCD".index(keys[revision]) for revision, _question, _number in rows])
    rng = np.random.default_rng(SEED)
    now = timezone.now()
    lines = ["reader,case,option,state,confidence,active_ms,position"]
    for reader, accuracy in READERS.items():
        said, place = _said(key, accuracy, rng), rng.permutation(len(key)) + 1
        ms = np.exp(rng.normal(10.3, 0.5, len(key))).astype(int)
        lines += [
            f"{reader},{number},{'ABCD'[option]},answered,80,{spent},{position}"
            for (_r, _q, number), option, spent, position in zip(rows, said, ms, place, strict=True)
        ]
    done = import_responses(study, name="answers.csv", content="\n".join(lines).encode(), actor=None, at=now)
    if not done.stored:
        raise RuntimeError(f"the readings were refused: {done.problems[:3]}")
    for model, accuracy in MODELS.items():
        said = _said(key, accuracy, rng)
        failed = rng.random(len(key)) < SHARE_FAILED
        records = [
            json.dumps({"id": names[question], "model_response": "I cannot tell." if none else "ABCD"[option]})
            for (_r, question, _n), option, none in zip(rows, said, failed, strict=True)
        ]
        file = SentFile("answers.jsonl", "\n".join(records).encode())
        sent = import_predictions(ModelEntry(name=model), Target(study.bank, study), file, actor=None, at=now)
        if sent.problems:
            raise RuntimeError(f"the predictions were refused: {sent.problems[:3]}")


def _said(key: np.ndarray[Any, Any], accuracy: float, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Who knows the answer gives it, who does not guesses."""
    known = rng.random(len(key)) < (accuracy - 0.25) / 0.75
    return np.where(known, key, rng.integers(4, size=len(key)))


def analysed(study: ReaderStudy) -> Analysis:
    from django.utils import timezone

    from readerstudy.analysis.storing import analyse_study, see_analysis

    analysis = analyse_study(study, actor=None, at=timezone.now())
    see_analysis(analysis, actor=None, at=timezone.now())
    return analysis
