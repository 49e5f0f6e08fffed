"""A small analysed study: two readers and two models on four cases of two tasks, the key of every case B."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from django.db.models import CharField, Value
from django.db.models.functions import Cast, Concat

from readerstudy.analysis.kernels.result import READER
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.analysis.storing import as_text
from readerstudy.design.kernels.analysis_plan import AnalysisPlan, Pair
from readerstudy.design.kernels.documents import sha256_of
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy
from tests.annotation.review.cases import NOON
from tests.readerstudy.analysis.made import computed, make_arrays, predict
from tests.readerstudy.studies import make_study

QUICK = Settings(seed=7, draws=100)
READERS = {"R1": "BBBA", "R2": "BBCA"}
MODELS = {"Good": "BBBB", "Poor": "CxBA"}
TASKS = ["presence", "presence", "presence", "location"]


def small_result(**fields: Any) -> Any:
    return computed(make_arrays(READERS, MODELS, "BBBB", **{"tasks": TASKS, **fields}), QUICK)


def guessed_result() -> Any:
    """The same study where the first reader cannot tell in the last case, and guesses right."""
    guess = np.array([[-1, -1, -1, 1], *[[-1] * 4] * 3], dtype=np.int8)
    return computed(make_arrays({**READERS, "R1": "BBB?"}, MODELS, "BBBB", tasks=TASKS, guess=guess), QUICK)


def late_result(*, elsewhere: bool = False, **fields: Any) -> Any:
    """The same study with a third model, made from the key after results were seen; the readers read ``elsewhere``."""
    arrays = make_arrays(READERS, {**MODELS, "Late": "BBBB"}, "BBBB", **{"tasks": TASKS, **fields})
    came = {"imported_at": "2026-11-22T12:00:00+00:00", "named_at": "2026-11-23T12:00:00+00:00"}
    facts: dict[str, Any] = {READER: {"imported": elsewhere}, "Late": {"post_hoc": True, "run": "late-run", **came}}
    raters = [replace(one, facts=facts.get(one.name, facts.get(one.kind, {}))) for one in arrays.raters]
    return computed(replace(arrays, raters=tuple(raters)), QUICK)


def analysed_study(
    name: str = "Trial", *, state: StudyState = StudyState.CLOSED, pairs: tuple[Pair, ...] = (), **fields: Any
) -> Analysis:
    """The analysis of a study of these cases, with the explanations of the first model; nobody has seen it."""
    study = make_study(name, n_cases=4, state=state, pixels=True, **fields)
    cases = study.cases.order_by("number")
    run = predict(study, "Good", "BBBB", NOON)
    run.predictions.update(explanation=Concat(Value("I see it in case "), Cast("row", CharField()), Value(".")))
    result = small_result(plan=AnalysisPlan(pairs=pairs).as_json())
    named = as_text(result)
    for place, case in enumerate(cases):
        named = named.replace(f'"case-{place}"', f'"{case.public_id}"')
    result = json.loads(named)
    next(one for one in result["raters"] if one["name"] == "Good")["run"] = run.public_id
    return stored(study, result)


def stored(study: ReaderStudy, result: Any) -> Analysis:
    text = as_text(result)
    analysis = Analysis.objects.create(
        study=study,
        inputs_sha256="0" * 64,
        seed=QUICK.seed,
        settings=QUICK.as_json(),
        software={"program": "test"},
        result=text,
        result_sha256=sha256_of(text),
        created_at=NOON,
    )
    ReaderStudy.objects.filter(pk=study.pk).update(own_analysis=analysis)
    study.own_analysis = analysis
    return analysis
