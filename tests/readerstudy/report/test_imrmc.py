"""Right and wrong in the form of iMRMC: truth once for every case, scores of everybody, and what they amount to."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from readerstudy.analysis.kernels.arrays import StudyArrays, Voided
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.exports.ratings import N_FAKE, imrmc_csv, imrmc_input, imrmc_key_rows
from tests.readerstudy.analysis.made import computed, make_arrays

TRUTH = ("truth", "truth")
SETTINGS = Settings(seed=1, draws=100)


@pytest.fixture
def arrays() -> StudyArrays:
    models = {"Good": "ABCDAx", "Poor": "BBBBBB"}
    return make_arrays({"R1": "ABCDAA", "R2": "AACDA."}, models, "ABCDAB", voided={1: Voided.BEFORE_UNBLINDING})


def rows_of(arrays: StudyArrays) -> list[tuple[str, int, str, float]]:
    head, *lines = imrmc_csv(arrays, SETTINGS).splitlines()
    assert head == "readerID,caseID,modalityID,score"
    cells = (line.split(",") for line in lines)
    return [(reader, int(case), modality, float(score)) for reader, case, modality, score in cells]


def test_truth_stands_once_for_every_case(arrays: StudyArrays) -> None:
    truth = {case: score for reader, case, modality, score in rows_of(arrays) if (reader, modality) == TRUTH}
    assert {case for case, score in truth.items() if score == 1} == {1, 3, 4, 5, 6}  # case 2 is voided
    assert sum(score == 0 for score in truth.values()) == N_FAKE
    scored = [(reader, case, modality) for reader, case, modality, _ in rows_of(arrays) if reader != "truth"]
    assert len(scored) == len(set(scored))
    assert {case for _, case, _ in scored} == set(truth)


def test_it_passes_what_the_r_package_asks_of_a_file(arrays: StudyArrays) -> None:
    """doAUCmrmc of the R package 2.1.2, which doIMRMC calls: each reader, case and modality once, a reader and a
    modality called truth, truth 0 or 1 for every case that is scored. Rows of truth are found by their modality alone.
    """
    rows = rows_of(arrays)
    assert len({row[:3] for row in rows}) == len(rows)
    assert "truth" in {row[0] for row in rows} & {row[2] for row in rows}
    truth = {case: score for _, case, modality, score in rows if modality == "truth"}
    assert {case for _, case, modality, _ in rows if modality != "truth"} <= set(truth)
    assert set(truth.values()) == {0, 1}
    assert {row[0] for row in rows if row[2] != "truth"} == {"1", "2"}
    assert {row[2] for row in rows if row[0] != "truth"} == {"1", "2", "3"}


def test_what_it_calls_auc_is_the_share_that_is_right(arrays: StudyArrays) -> None:
    """AUC of a reader and modality: how often a case with disease scores above one without."""
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for reader, case, modality, score in rows_of(arrays):
        if reader != "truth" and case <= 6:
            scores[reader, modality].append(score)
    share = {place: sum(score > 0.5 for score in of) / len(of) for place, of in scores.items()}
    whole = {
        one["name"]: one["accuracy"]["value"] for one in computed(arrays, SETTINGS)["panels"]["All tasks"]["raters"]
    }
    assert share["1", "1"] == whole["R1"]
    assert share["2", "1"] == whole["R2"]  # over the four that count for R2
    assert share["1", "2"] == share["2", "2"] == whole["Good"]
    assert share["1", "3"] == whole["Poor"]


def test_the_same_rows_with_a_description_for_the_program(arrays: StudyArrays) -> None:
    head, _begin, rows = imrmc_input(arrays, SETTINGS).partition("BEGIN DATA:\n")
    assert head.splitlines()[1:] == ["Simulated data.", f"N0: {N_FAKE}", "N1: 5", "NR: 2", "NM: 3"]
    in_r = imrmc_csv(arrays, SETTINGS).partition("\n")[2]
    assert rows == re.sub(r"truth,(\d+),truth", r"-1,\1,0", in_r)


def test_the_key_says_who_is_who(arrays: StudyArrays) -> None:
    assert imrmc_key_rows(arrays) == [
        ["readerID", 1, "R1"],
        ["readerID", 2, "R2"],
        ["modalityID", 1, "the readers themselves"],
        ["modalityID", 2, "Good"],
        ["modalityID", 3, "Poor"],
    ]
