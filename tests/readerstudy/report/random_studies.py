"""Random studies of every kind, analysed by the program and again by the oracle.

``python -m tests.readerstudy.report.random_studies [first] [last]`` prints how many of these seeds came out equal.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readerstudy.analysis.kernels.arrays import TASKS, MeasuredTimes, Questions, Rater, State, StudyArrays, Voided
from readerstudy.analysis.kernels.result import LETTERS, MODEL, READER
from readerstudy.analysis.kernels.scoring import SWITCHES, Settings
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.design.kernels.documents import CHANCES
from readerstudy.exports.ratings import ratings_csv
from tests.readerstudy.analysis.made import computed
from tests.readerstudy.report.oracle import differences

CHOSEN = [State.ANSWERED, State.UNCONFIRMED, State.LATE]
OF_READERS = [State.MISSING, State.UNCONFIRMED, State.DECLINED, State.TIMED_OUT, State.LATE]
ENDED = [State.UNCONFIRMED, State.TIMED_OUT, State.LATE]
OF_MODELS = [State.MISSING, State.FAILED]
INFERENCES = ["random readers, random questions", "fixed readers, random questions", "as we please"]
LEVELS = ["easy", "medium", "hard"]
NAMES = ["each reader", "each model", "R0", "R1", "R2", "m0", "M0 1", "M1", "M2 2", "nobody"]


SEEN = [{"study": "Elsewhere", "on": "2026-11-01", "names": ["R0"]}]


def random_study(seed: int) -> tuple[StudyArrays, Settings]:
    """From one rater and three questions to nine and ninety; with or without each thing that a study can have."""
    rng = np.random.default_rng(seed)
    n_readers, n_models, n = int(rng.integers(7)), int(rng.integers(4)), int(rng.choice([3, 8, 15, 40, 90]))
    n_readers += n_readers + n_models == 0
    shape = (n_readers + n_models, n)
    reading = np.arange(shape[0]) < n_readers
    key = rng.integers(len(LETTERS), size=n).astype(np.int8)
    state = _incomplete(seed, reading, _states(rng, reading, shape))
    given = state != State.NOT_ASSIGNED
    read = given & reading[:, np.newaxis]
    active = np.rint(rng.lognormal(9, 0.6, shape))
    active[~read | (rng.random(shape) < rng.choice([0, 0.1, 1]))] = np.nan
    order = np.array([rng.permutation(n) + 1 for _rater in reading])
    questions = _questions(rng, key)
    setting = {name: str(rng.choice(known)) for name, known in SWITCHES.items()}
    margin = 0.1 if rng.random() < 0.5 else None
    plan = AnalysisPlan(inference=str(rng.choice(INFERENCES)), margin=margin, pairs=_pairs(seed))
    arrays = StudyArrays(
        study=f"Random study {seed}",
        slug="random",
        protocol_sha256="",
        simulated=True,
        plan={**plan.as_json(), **({"seen_before": SEEN} if seed % 7 == 0 else {})},
        cluster_level="exam",
        cells=_cells(rng, questions),
        raters=_raters(seed, n_readers, n_models),
        questions=questions,
        state=state,
        option=_options(rng, key, state),
        position=np.where(read & (rng.random(shape) > rng.choice([0, 0.2])), order, 0).astype(np.int32),
        confidence=np.where(read, rng.choice([0, *CHANCES], shape), 0).astype(np.int8),
        slip=np.where(read & (rng.random(shape) < rng.choice([0, 0.05])), rng.integers(4, size=shape), -1).astype(
            np.int8
        ),
        times=MeasuredTimes(active, read & np.isin(state, ENDED), read & (rng.random(shape) < 0.1)),
        excluded=(
            *(
                {"kind": "case", "case": row + 1, "question": row + 101, "decided": Voided(word).name.lower()}
                for row, word in enumerate(questions.voided.tolist())
                if word
            ),
            *_gone(seed),
        ),
    )
    settings = Settings(seed=int(rng.integers(2**40)), draws=100, **setting)  # type: ignore[arg-type]  # names of switches
    stated = _model_confidence(seed, ~reading, shape)
    return replace(arrays, guess=_guesses(seed, read), model_confidence=stated), settings


def _model_confidence(seed: int, is_model: NDArray[np.bool_], shape: tuple[int, int]) -> NDArray[np.float64] | None:
    """In some studies, of some models: free percent, some answers without."""
    rng = np.random.default_rng([seed, 3])
    said = is_model & (rng.random(shape[0]) < rng.choice([0, 0.6]))
    stated = np.where(said[:, np.newaxis] & (rng.random(shape) < 0.8), np.round(rng.uniform(0, 100, shape), 1), np.nan)
    return None if np.isnan(stated).all() else stated


def _guesses(seed: int, read: NDArray[np.bool_]) -> NDArray[np.int8] | None:
    """Nobody was asked, or of any reader on any case: only those beside "cannot tell" count. Drawn apart."""
    rng = np.random.default_rng([seed, 1])
    if rng.random() < 0.4:
        return None
    guess = np.where(read & (rng.random(read.shape) < 0.7), rng.integers(len(LETTERS), size=read.shape), -1)
    return guess.astype(np.int8)


def _raters(seed: int, n_readers: int, n_models: int) -> tuple[Rater, ...]:
    """Some models have a version, the third is called by it, and some are post hoc. Drawn apart."""
    rng = np.random.default_rng([seed, 2])
    imported = rng.random(n_readers) < rng.choice([0, 0.5, 1])
    late = rng.random(n_models) < rng.choice([0, 0.4])
    planned = rng.random(n_models) < 0.3
    readers = [Rater(f"R{row}", READER, {"imported": bool(one)}) for row, one in enumerate(imported)]
    names = zip(("M0", "M1", "M2 2"), ("1", "", "2"), late.tolist(), planned.tolist(), strict=False)
    return (*readers, *(Rater(name, MODEL, _facts(version, one, was)) for name, version, one, was in names))


def _facts(version: str, is_post_hoc: bool, was_planned: bool) -> dict[str, Any]:
    """Of a model; one that was planned and is post hoc was renamed, some of them from M1."""
    renamed = {"planned_as": ["M1"]} if is_post_hoc and was_planned else {}
    return {"version": version, "post_hoc": is_post_hoc, "was_planned": was_planned, **renamed}


def _pairs(seed: int) -> tuple[tuple[str, str], ...]:
    """None in half of the studies; else up to five, of raters that there may be or not. Drawn apart from the rest."""
    rng = np.random.default_rng([seed, 1])
    drawn = [sorted(map(str, rng.choice(NAMES, 2))) for _pair in range(int(rng.integers(6)))]
    pairs = {(first, second) for first, second in drawn if first != second or first.startswith("each")}
    return tuple(sorted(pairs)) if rng.random() < 0.5 else ()


def _states(rng: np.random.Generator, reading: NDArray[np.bool_], shape: tuple[int, int]) -> NDArray[np.int8]:
    odd = np.array([rng.choice(OF_READERS if one else OF_MODELS, shape[1]) for one in reading])
    state = np.where(rng.random(shape) < rng.choice([0, 0.05, 0.3]), odd, State.ANSWERED)
    sets = reading[:, np.newaxis] & (rng.random((shape[0], 1)) < 0.1) & (np.arange(shape[1]) < shape[1] // 2)
    if reading.all() and rng.random() < 0.3:
        sets[:, 0] = True  # a case that nobody was given
    return np.where(sets, State.NOT_ASSIGNED, state).astype(np.int8)


def _incomplete(seed: int, reading: NDArray[np.bool_], state: NDArray[np.int8]) -> NDArray[np.int8]:
    """In some studies readers have one of two sets, or of three that share a third; in some one stops. Drawn apart."""
    rng = np.random.default_rng([seed, 2])
    n_sets, n, found = int(rng.choice([1, 1, 2, 3])), state.shape[1], state.copy()
    for row in np.flatnonzero(reading) if n_sets > 1 else ():
        own = np.arange(n) % n_sets == row % n_sets
        found[row, ~(own | (np.arange(n) < (n // 3 if n_sets == 3 else 0)))] = State.NOT_ASSIGNED
    if reading.any() and rng.random() < 0.3:
        stops = int(rng.choice(np.flatnonzero(reading)))
        late = (np.arange(n) >= n // 3) & (found[stops] != State.NOT_ASSIGNED)
        found[stops, late] = State.MISSING
    return found


def _gone(seed: int) -> list[dict[str, str]]:
    """Readers who are no raters. Drawn apart."""
    rng = np.random.default_rng([seed, 3])
    reasons = rng.choice(["withdrawn", "replaced", "no answers"], int(rng.choice([0, 0, 1, 2]))).tolist()
    return [{"kind": "reader", "reader": f"R{place + 20}", "reason": one} for place, one in enumerate(reasons)]


def _options(rng: np.random.Generator, key: NDArray[np.int8], state: NDArray[np.int8]) -> NDArray[np.int8]:
    """Some are always right, some always say the same, some all say the same."""
    right = rng.random(state.shape) < (rng.uniform(0.3, 1, (len(state), 1)) if rng.random() < 0.85 else 1)
    option = np.where(right, key, rng.integers(len(LETTERS), size=state.shape))
    if rng.random() < 0.15:
        option[0] = 2
    if rng.random() < 0.15:
        option[:] = option[0]
    return np.where(np.isin(state, CHOSEN), option, -1).astype(np.int8)


def _questions(rng: np.random.Generator, key: NDArray[np.int8]) -> Questions:
    n = len(key)
    cluster = np.arange(n) if rng.random() < 0.3 else rng.integers(int(rng.choice([max(2, n // 2), 11])), size=n)
    seen: dict[int, int] = {}
    voided = np.zeros(n, dtype=np.int8)
    if rng.random() < 0.6:
        voided = rng.choice([0, 0, 0, 0, 0, 0, 0, 0, 1, 2], n).astype(np.int8)
        voided[0] = 0
    return Questions(
        number=np.arange(1, n + 1, dtype=np.int32),
        question=np.arange(101, n + 101, dtype=np.int32),
        public_id=tuple(f"case-{row}" for row in range(n)),
        key=key,
        task=rng.integers(int(rng.integers(1, 1 + len(TASKS))), size=n).astype(np.int8),
        category=tuple(rng.choice(["Lungs", "=Heart", "'Bo,ne\""], n).tolist()),
        difficulty=tuple(rng.choice(LEVELS[: int(rng.integers(1, 4))], n).tolist()),
        cluster=np.array([seen.setdefault(one, len(seen)) for one in cluster.tolist()], dtype=np.int32),
        voided=voided,
    )


def _cells(rng: np.random.Generator, questions: Questions) -> tuple[tuple[str, str, int], ...]:
    """None; or the strata of the questions with some that are empty; or too few of them."""
    if rng.random() < 0.4:
        return ()
    levels = LEVELS if rng.random() < 0.7 else LEVELS[:1]
    there = {(TASKS[task], level) for task, level in zip(questions.task.tolist(), questions.difficulty, strict=True)}
    n = len(questions)
    cells = [(task, level) for task in TASKS for level in levels if (task, level) in there or rng.random() < 0.1]
    return tuple((task, level, n + int(rng.integers(3)) * 50) for task, level in cells)


def write(seed: int, folder: Path) -> None:
    """The part of a report that the oracle and recompute.py read."""
    arrays, settings = random_study(seed)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "analysis.json").write_text(json.dumps(computed(arrays, settings)), encoding="utf-8")
    text = ratings_csv(arrays, settings)
    (folder / "data" / "ratings.csv").write_text(text, encoding="utf-8", newline="")


def main(first: int, last: int) -> int:
    equal = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last + 1):
            write(seed, Path(folder))
            different = differences(Path(folder))
            equal += not different
            if different:
                print(f"seed {seed}:", *different, sep="\n", flush=True)
    print(f"{equal} of {last + 1 - first} random studies are equal in every number")
    return 0 if equal == last + 1 - first else 1


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(numbers or [1, 100])))
