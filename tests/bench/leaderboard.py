"""A leaderboard of 41,007 questions: the check of a file, an edition of 50 entries with all pairs, its public board.

The edition is beside accuracies by scikit-learn and tests of pairs by statsmodels, timed on a few, counted up to all.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from tests.bench.import_questions import prepared_file
from tests.bench.measuring import seconds, told_by
from tests.bench.rows import Row, median, on_both_databases

N_QUESTIONS, N_ENTRIES, N_PAIRS = 41_007, 50, 10
TIMES = 3
DATABASE = "rexvqa_bench_leaderboard"


def measure() -> list[Row]:
    path = prepared_file(N_QUESTIONS)
    return on_both_databases(lambda name, url: _measured(name, path, url), DATABASE)


def _measured(name: str, path: Path, url: str) -> list[Row]:
    told = told_by(run, str(path), database_url=url)
    edition = f"{name}: an edition of {N_ENTRIES} entries with all pairs by patient"
    return [
        Row(
            f"{name}: check of {N_QUESTIONS:,} answers",
            told["check"],
            "s",
            "3",
            "json.loads of its lines",
            told["read"],
        ),
        Row(f"{name}: score of one", told["one"], "s", "2"),
        Row(edition, told["edition"], "s", "60", "scikit-learn and statsmodels", told["baseline"]),
        Row(f"{name}: memory that it needs beside what was there", told["mb"], "MB", "1,000"),
        Row(f"{name}: the public board written", told["publish"], "s", "10"),
        Row(f"{name}: its first page, compressed", told["page"], "kB", "100"),
    ]


def run(file: str) -> dict[str, float]:
    """The measurements of the database that the environment names, which is empty and stays behind filled."""
    import numpy as np
    from django.utils import timezone

    from annotation.models import QuestionBank
    from annotation.questionbank.importing import import_questions, locate
    from readerstudy.leaderboard.edition_scoring import computed, score_edition
    from readerstudy.leaderboard.public_board import publish
    from readerstudy.leaderboard.submissions import check_file
    from tests.readerstudy.leaderboard.made import (
        after,
        answer_file,
        keys_of,
        make_benchmark,
        make_submission,
        make_team,
    )

    import_questions(locate(Path(file)), bank_name="Benchmark", actor=None, clock=timezone.now)
    benchmark = make_benchmark(QuestionBank.objects.get(), n_editions=1)
    version, edition, keys = benchmark.versions.get(), benchmark.editions.get(), keys_of(benchmark)
    content = answer_file(benchmark, keys)
    rng, right = np.random.default_rng(1), np.array(list(keys))
    submissions = []
    for number, skill in enumerate(np.linspace(0.4, 0.9, N_ENTRIES)):
        guessed = np.where(rng.random(len(right)) < skill, right, rng.choice(list("ABCD"), size=len(right)))
        team = make_team(benchmark, f"Team {number}")
        submissions.append(make_submission(team, "".join(guessed), edition=edition))
    at = edition.confirmed_at = after(edition)
    edition.save()
    with tempfile.TemporaryDirectory() as place:
        Path("/proc/self/clear_refs").write_text("5")  # the most memory is counted from here on
        before = _megabytes("VmRSS")
        told = {
            "check": median(seconds(lambda: check_file(content, version)) for _time in range(TIMES)),
            "read": seconds(lambda: [json.loads(line) for line in content.splitlines()]),
            "one": seconds(lambda: computed(edition, version, submissions[:1], at=at)),
            "edition": seconds(lambda: score_edition(edition, version, actor=None, at=at)),
            "mb": _megabytes("VmHWM") - before,
            "publish": seconds(lambda: publish(benchmark, Path(place) / "board", at=at)),
            "page": len(gzip.compress((Path(place) / "board" / "index.html").read_bytes())) / 1000,
        }
    return {**told, "baseline": _baseline(right, [np.array(list(one.answers)) for one in submissions])}


def _megabytes(name: str) -> float:
    """Of this process, by its name on Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def _baseline(right: Any, answers: list[Any]) -> float:
    """Accuracies of all, and McNemar's test of a few pairs counted up to all."""
    import numpy as np
    from sklearn.metrics import accuracy_score
    from statsmodels.stats.contingency_tables import mcnemar

    accuracies = seconds(lambda: [accuracy_score(right, one) for one in answers])
    pairs = list(combinations(answers, 2))

    def test() -> None:
        for first, second in islice(pairs, N_PAIRS):
            one, other = first == right, second == right
            table = [[np.sum(one & other), np.sum(one & ~other)], [np.sum(~one & other), np.sum(~one & ~other)]]
            mcnemar(table, exact=True)

    return accuracies + seconds(test) * len(pairs) / N_PAIRS
