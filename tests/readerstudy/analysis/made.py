"""Arrays of small studies, made without a database."""

from __future__ import annotations

import json
import pickle
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from annotation.models import User
from readerstudy.analysis import storing
from readerstudy.analysis.kernels.arrays import TASKS, MeasuredTimes, Questions, Rater, State, StudyArrays, Voided
from readerstudy.analysis.kernels.computing import compute
from readerstudy.analysis.kernels.result import LETTERS, MODEL, READER
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.enums import PredictionForm, PredictionState
from readerstudy.models import Analysis, ModelEntry, Prediction, PredictionRun, ReaderStudy


def analyse_by(
    settings: Settings, study: ReaderStudy, *, at: datetime, actor: User | None = None, chosen: Settings | None = None
) -> Analysis:
    """As if these were the settings of the plan: the study's own analysis, of few draws; or by others, ``chosen``."""
    with patch.object(storing, "default_settings", lambda _study: settings):
        return storing.analyse_study(study, actor=actor, at=at, settings=chosen)


def make_arrays(
    readers: dict[str, str],
    models: dict[str, str],
    key: str,
    *,
    tasks: list[str] | None = None,
    clusters: list[int] | None = None,
    voided: dict[int, Voided] | None = None,
    **fields: Any,
) -> StudyArrays:
    """Answers as one letter for each question; x: failed extraction, ?: declined, a full stop: missing."""
    raters = [Rater(name, READER, {}) for name in readers] + [Rater(name, MODEL, {}) for name in models]
    signs = np.array([list(said) for said in (*readers.values(), *models.values())])
    n, shape = len(key), signs.shape
    other = {"x": State.FAILED, "?": State.DECLINED, ".": State.MISSING}
    state = np.full(shape, State.ANSWERED, dtype=np.int8)
    for sign, meant in other.items():
        state[signs == sign] = meant
    given = [[LETTERS.find(sign) for sign in row] for row in signs.tolist()]
    words = np.zeros(n, dtype=np.int8)
    for place, word in (voided or {}).items():
        words[place] = word
    questions = Questions(
        number=np.arange(1, n + 1, dtype=np.int32),
        question=np.arange(1, n + 1, dtype=np.int32),
        public_id=tuple(f"case-{place}" for place in range(n)),
        key=np.array([LETTERS.index(letter) for letter in key], dtype=np.int8),
        task=np.array([TASKS.index(task) for task in tasks or [TASKS[0]] * n], dtype=np.int8),
        category=("Lungs",) * n,
        difficulty=("easy",) * n,
        cluster=np.array(clusters or range(n), dtype=np.int32),
        voided=words,
    )
    return StudyArrays(
        **{
            "study": "Trial",
            "slug": "trial",
            "protocol_sha256": "c0ffee",
            "simulated": True,
            "plan": AnalysisPlan().as_json(),
            "cluster_level": "patient",
            "cells": (),
            "raters": tuple(raters),
            "questions": questions,
            "state": state,
            "option": np.array(given, dtype=np.int8),
            "position": np.zeros(shape, dtype=np.int32),
            "confidence": np.zeros(shape, dtype=np.int8),
            "slip": np.full(shape, -1, dtype=np.int8),
            "times": MeasuredTimes(np.full(shape, np.nan), np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)),
            "excluded": (),
            **fields,
        }
    )


def predict(study: ReaderStudy, name: str, options: str, at: datetime, *, is_named: bool = True) -> PredictionRun:
    """One letter for each case; x: nothing could be extracted, a full stop: not in the file."""
    entry, _made = ModelEntry.objects.get_or_create(name=name, defaults={"created_at": at})
    run = PredictionRun.objects.create(
        entry=entry,
        bank=study.bank,
        study=study,
        number=1 + entry.runs.count(),
        file_name=f"{name}.json",
        file_sha256="f" * 64,
        form=PredictionForm.RESULTS,
        rule="test-1",
        n_read=len(options),
        n_matched=len(options),
        n_failed=options.count("x"),
        n_missing=options.count("."),
        n_duplicate=0,
        n_unknown=0,
        is_named=is_named,
        named_before_unblinding=is_named,
        imported_at=at,
    )
    cases = study.cases.filter(block="main").order_by("number")
    for row, (case, letter) in enumerate(zip(cases, options, strict=True), 1):
        if letter != ".":
            failed = letter == "x"
            Prediction.objects.create(
                run=run,
                revision_id=case.revision_id,
                state=PredictionState.FAILED if failed else PredictionState.ANSWERED,
                option="" if failed else letter,
                row=row,
            )
    return run


def paper_shaped(path: Path) -> tuple[StudyArrays, dict[str, Any]]:
    """The paper-shaped study as arrays, and what is expected of it."""
    case = json.loads(path.read_text())
    given = case["input"]
    exams = {exam: place for place, exam in enumerate(dict.fromkeys(one["study"] for one in given["questions"]))}

    def said(rater: str, failed: str) -> str:
        return "".join(letter or failed for letter in given["answers"][rater])

    arrays = make_arrays(
        {name: said(name, ".") for name in given["readers"]},
        {name: said(name, "x") for name in given["models"]},
        "".join(one["gold"] for one in given["questions"]),
        tasks=[one["task"] for one in given["questions"]],
        clusters=[exams[one["study"]] for one in given["questions"]],
        voided={n: Voided.BEFORE_UNBLINDING for n, one in enumerate(given["questions"]) if one["voided"]},
    )
    return arrays, case["expected"]


COMPUTED: dict[bytes, bytes] = {}


def computed(arrays: StudyArrays, settings: Settings) -> Any:
    """What an analysis stores, as plain JSON: tests look at places that only some studies have.

    Equal arrays are computed once in a process; each test gets a copy of its own.
    """
    asked = pickle.dumps((arrays, settings))
    if asked not in COMPUTED:
        COMPUTED[asked] = pickle.dumps(compute(arrays, settings))
    return pickle.loads(COMPUTED[asked])


def changed(result: Any, **fields: Any) -> Any:
    """A copy of a stored analysis, or of a part of one, with other fields."""
    return {**result, **fields}
