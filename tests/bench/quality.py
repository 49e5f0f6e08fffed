"""Checks of questions per second, and near-duplicates of a whole bank beside scikit-learn's brute force in one run.

41,007 made-up questions, or as many as REXVQA_BENCH_DUPLICATES says (572419 is the size of the training file: minutes).
Each way is measured in a process of its own, so that its memory is its own. The baseline compares the first ROWS
questions with all and is multiplied up.
"""

from __future__ import annotations

import os
import time

from tests.bench.made_up_questions import made_up
from tests.bench.measuring import peak_mb, told_alone
from tests.bench.rows import Row

N_CHECKED, N_COMPARED, N_SMALL = 20_000, 41_007, 1_240
ROWS = 2_000
THRESHOLD = 0.9


def measure() -> list[Row]:
    n = int(os.environ.get("REXVQA_BENCH_DUPLICATES", N_COMPARED))
    checked, compared = told_alone(run_check, N_CHECKED), told_alone(run_compare, n)
    baseline = told_alone(run_baseline, n)
    goal = "60" if n <= N_COMPARED else "1,200"
    both = told_alone(run_both, N_SMALL)
    embedded = told_alone(run_embedded, min(n, N_COMPARED))
    name = f"near-duplicates of {n:,} questions"
    return [
        Row("checks of one question", checked["per_second"], "questions/s", "5,000"),
        Row(name, compared["seconds"], "s", goal, "scikit-learn, brute force", baseline["seconds"]),
        Row(f"{name}: processor", compared["processor_seconds"], "s"),
        Row(f"{name}: peak memory", compared["peak_mb"], "MB", "1,000", "scikit-learn", baseline["peak_mb"]),
        Row(f"{name}: pairs at 0.9 and above", compared["pairs"], "pairs"),
        Row(f"{N_SMALL:,} questions by words and by vectors, imports included", both["seconds"], "s", "5"),
        Row("similarity of vectors of 384", embedded["seconds"], "s", "60", "by TF-IDF", compared["seconds"]),
        Row("similarity of vectors: peak memory", embedded["peak_mb"], "MB", "1,000", "by TF-IDF", compared["peak_mb"]),
    ]


def _texts(n: int) -> list[str]:
    return ["\n".join((one.stem, *one.options)) for one in made_up(n)]


def run_check(n: int) -> dict[str, float]:
    """Questions per second of processor time: the best of three, since others may be at work."""
    from annotation.questionbank.kernels.question_checks import check

    questions, best = list(made_up(n)), float("inf")
    for _again in range(3):
        begun = time.process_time()
        for question in questions:
            check(question)
        best = min(best, time.process_time() - begun)
    return {"per_second": n / best}


def run_compare(n: int) -> dict[str, float]:
    from annotation.questionbank.kernels.neighbours import find_neighbours

    texts = _texts(n)
    begun, used = time.perf_counter(), time.process_time()
    found = find_neighbours(texts, THRESHOLD)
    return {
        "seconds": time.perf_counter() - begun,
        "processor_seconds": time.process_time() - used,
        "pairs": found.n_pairs,
        "peak_mb": peak_mb(),
    }


def run_embedded(n: int) -> dict[str, float]:
    """Vectors of 384 around 2,000 centres, so that some are near each other."""
    import numpy as np

    from annotation.validators.kernels.near_vectors import near_vectors

    drawn = np.random.default_rng(1)
    centres = drawn.standard_normal((2_000, 384), dtype=np.float32)
    vectors = centres[drawn.integers(len(centres), size=n)] + drawn.standard_normal((n, 384), dtype=np.float32) / 3
    unit = np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
    begun = time.perf_counter()
    found = near_vectors(unit, THRESHOLD)
    return {"seconds": time.perf_counter() - begun, "pairs": found.n_pairs, "peak_mb": peak_mb()}


def run_both(n: int) -> dict[str, float]:
    """As one job of a worker that has not compared before: what it loads counts as well."""
    begun = time.perf_counter()
    run_compare(n)
    run_embedded(n)
    return {"seconds": time.perf_counter() - begun}


def run_baseline(n: int) -> dict[str, float]:
    """Seconds that NearestNeighbors would take for all rows, by the same vectors and threshold."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.neighbors import NearestNeighbors

    texts = _texts(n)
    begun = time.perf_counter()
    rows = TfidfVectorizer(dtype=np.float32).fit_transform(texts)
    search = NearestNeighbors(radius=1 - THRESHOLD, metric="cosine", algorithm="brute").fit(rows)
    made = time.perf_counter()
    search.radius_neighbors(rows[:ROWS])
    seconds = made - begun + (time.perf_counter() - made) * n / min(n, ROWS)
    return {"seconds": seconds, "peak_mb": peak_mb()}
