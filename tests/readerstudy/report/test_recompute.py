"""Two other programs compute an analysis again: the oracle every number exactly, and recompute.py, which lies in every
report, the headline numbers with public libraries. Each names what was changed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.exports.kernels import recompute
from annotation.exports.report_files import SCRIPT
from readerstudy.analysis.kernels.arrays import Experts, MeasuredTimes, Repeats, State, StudyArrays, Voided
from readerstudy.analysis.kernels.computing import RULE
from readerstudy.analysis.kernels.result import LETTERS
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.analysis.storing import as_text, software_versions
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.exports.ratings import experts_csv, ratings_csv, runs_csv
from tests.architecture.source import imports_of
from tests.readerstudy.analysis.made import computed, make_arrays, paper_shaped
from tests.readerstudy.report import random_studies
from tests.readerstudy.report.oracle import GIVEN, compared, differences, numbers_in

QUICK = Settings(seed=2**33 + 7, draws=100)
PAIRS = (("M0, =1", "each reader"), ("r0", "R1"), ("each reader", "each reader"), ("R9", "R0"))  # R9 left
GOLDEN = "stats/golden/paper_shaped_study.json"
Change = Callable[[dict[str, Any]], object]


def lively(n: int = 36, *, shared_exams: bool = True, n_readers: int = 2, n_models: int = 2) -> StudyArrays:
    """A study in which everything occurs: each state, slips, best guesses, times, confidence, voidings; without models,
    a case that nobody was given."""
    rng = np.random.default_rng(n)
    key = "".join(rng.choice(list(LETTERS), n))
    names = [f"R{row}" for row in range(n_readers)], [f"M{row}, =1" for row in range(n_models)]

    def said(other: str) -> str:
        letters = [right if rng.random() < 0.7 else str(rng.choice(list(LETTERS))) for right in key]
        return "".join(str(rng.choice(list(other))) if rng.random() < 0.1 else letter for letter in letters)

    readers, models = {name: said("?.") for name in names[0]}, {name: said("x.") for name in names[1]}
    voided = {1: Voided.BEFORE_UNBLINDING, 7: Voided.BEFORE_UNBLINDING, 9: Voided.AFTER_UNBLINDING}
    tasks = [("presence", "negation", "location")[place % 3] for place in range(n)]
    clusters = [place * 2 // 3 for place in range(n)] if shared_exams else None
    arrays = make_arrays(readers, models, key, tasks=tasks, clusters=clusters, voided=voided)
    shape = arrays.state.shape
    state, position, slip = arrays.state.copy(), arrays.position.copy(), arrays.slip.copy()
    confidence, active_ms = arrays.confidence.copy(), arrays.times.active_ms.copy()
    chosen = state[:n_readers] == State.ANSWERED
    state[:n_readers][chosen & (rng.random(chosen.shape) < 0.1)] = State.UNCONFIRMED
    state[:n_readers][chosen & (rng.random(chosen.shape) < 0.1)] = State.LATE
    for row in range(n_readers):
        position[row] = rng.permutation(n) + 1
        confidence[row] = rng.choice([0, 25, 40, 60, 80, 95], n)
        active_ms[row] = np.rint(rng.lognormal(9, 0.5, n))
        active_ms[row, rng.random(n) < 0.1] = np.nan
    ended = np.isin(state, [State.LATE, State.UNCONFIRMED])
    ended[1:2] = False  # this reader has exact times alone
    active_ms[ended] = 20_000
    state[:1, 20:24] = State.DECLINED
    state[0, 3], slip[0, 3] = State.ANSWERED, 3 - arrays.questions.key[3]
    arrays.option[0, 3] = arrays.questions.key[3]
    if not n_models:
        state[:, 0], position[:, 0], confidence[:, 0], active_ms[:, 0] = State.NOT_ASSIGNED, 0, 0, np.nan
    option = np.where(np.isin(state, [State.ANSWERED, State.UNCONFIRMED, State.LATE]), arrays.option, -1)
    about = arrays.questions
    excluded = [{"kind": "case", "case": row + 1, "question": row + 1, "decided": _when(row, voided)} for row in voided]
    return replace(
        arrays,
        plan=AnalysisPlan(margin=0.2, pairs=PAIRS).as_json(),
        cells=[(task, level, 500) for task in sorted(set(tasks)) for level in ("easy", "hard")],
        questions=replace(
            about,
            category=tuple(("Lungs", "=Heart", '\'Bones, "all"')[place % 3] for place in range(n)),
            difficulty=tuple(("easy", "hard")[place // 3 % 2] for place in range(n)),
        ),
        state=state,
        option=option.astype(np.int8),
        position=position,
        confidence=confidence,
        slip=slip,
        times=MeasuredTimes(active_ms, ended, (rng.random(shape) < 0.1) & (state != State.NOT_ASSIGNED)),
        excluded=(*excluded, {"kind": "reader", "reader": "R9", "reason": "withdrawn"}),
        guess=_guesses(state, n_readers, arrays.questions.key),
        model_confidence=_model_confidence(shape, n_readers) if n_models else None,
        repeats=_repeats(n, n_readers, arrays.questions.key) if n_models else None,
        experts=Experts(*(np.array([[2, 1, 0], [1, 1, 0]], dtype=np.int32)[:, np.arange(n) % 3])) if n_models else None,
    )


def _repeats(n: int, n_readers: int, key: np.ndarray[Any, Any]) -> Repeats:
    """Two further runs of the first model, with failed and missing answers."""
    rng = np.random.default_rng(5)
    state = rng.choice([State.ANSWERED] * 8 + [State.FAILED, State.MISSING], (2, n)).astype(np.int8)
    said = np.where(rng.random((2, n)) < 0.7, key, rng.integers(4, size=(2, n)))
    option = np.where(state == State.ANSWERED, said, -1).astype(np.int8)
    return Repeats(((n_readers, 2), (n_readers, 4)), state, option)


def _model_confidence(shape: tuple[int, ...], n_readers: int) -> np.ndarray[Any, Any]:
    """What the first model said; the others said nothing."""
    rng, found = np.random.default_rng(4), np.full(shape, np.nan)
    said = np.round(rng.uniform(0, 100, shape[1]), 1)
    found[n_readers] = np.where(rng.random(shape[1]) < 0.2, np.nan, said)
    return found


def _guesses(state: np.ndarray[Any, Any], n_readers: int, key: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Beside most of what readers declined, many of them right, and beside some answers that were late."""
    rng = np.random.default_rng(n_readers)
    asked = np.isin(state, [State.DECLINED, State.LATE]) & (np.arange(len(state)) < n_readers)[:, np.newaxis]
    guess = np.where(rng.random(state.shape) < 0.5, key, rng.integers(4, size=state.shape))
    return np.where(asked & (rng.random(state.shape) < 0.7), guess, -1).astype(np.int8)


def _when(row: int, voided: dict[int, Voided]) -> str:
    return voided[row].name.lower()


def write(folder: Path, arrays: StudyArrays, settings: Settings = QUICK) -> dict[str, Any]:
    """The part of a report that both programs read; returns the analysis."""
    (folder / "data").mkdir(parents=True)
    text = as_text(computed(arrays, settings) | {"inputs_sha256": "", "software": software_versions()})
    (folder / "analysis.json").write_text(text, encoding="utf-8")
    (folder / "data" / "ratings.csv").write_text(ratings_csv(arrays, settings), encoding="utf-8", newline="")
    if arrays.repeats is not None:
        (folder / "data" / "runs.csv").write_text(runs_csv(arrays), encoding="utf-8", newline="")
    if arrays.experts is not None:
        (folder / "data" / "experts.csv").write_text(experts_csv(arrays), encoding="utf-8", newline="")
    result: dict[str, Any] = json.loads(text)
    return result


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recompute, "DRAWS", 500)


def check_computed(folder: Path) -> None:
    assert differences(folder) == []
    assert disagreeing(folder) == []


def disagreeing(folder: Path) -> list[str]:
    """The names of the lines that recompute.py calls no."""
    analysis = json.loads((folder / "analysis.json").read_text(encoding="utf-8"))
    draws = analysis["settings"]["draws"]
    lines = recompute.study_lines(folder, analysis)
    return [name for name, stored, found in lines if not recompute.agrees(stored, found, draws)]


# --- every number is found again ------------------------------------------------------------------
@pytest.mark.parametrize(("shared_exams", "n_readers"), [(True, 3), pytest.param(False, 2, marks=pytest.mark.check)])
def test_every_number_of_a_lively_study(tmp_path: Path, shared_exams: bool, n_readers: int) -> None:
    result = write(tmp_path / "report", lively(shared_exams=shared_exams, n_readers=n_readers))
    assert set(result["variants"]) == {"with_voided", "without_all_voided", "with_slips"}
    assert result["panels"]["All tasks"]["unit"] == ("cluster" if shared_exams else "question")
    assert result["panels"]["All tasks"]["raters"][0]["accuracy_bank_mix"]["value"]
    assert sum(one["n_guessed"] for one in result["panels"]["All tasks"]["raters"]) > 2
    assert [one["name"] for one in result["tables"]["calibration"]] == [*["R0", "R1", "R2"][:n_readers], "M0, =1"]
    runs = [one["runs"] for one in result["panels"]["All tasks"]["raters"] if one["kind"] == "model"]
    assert [one["n_runs"] for one in runs] == [3, 1]
    assert result["panels"]["presence"]["expert_ceiling"]["value"] == 0.5
    assert "expert_ceiling_cluster" in result["panels"]["All tasks"]
    assert "expert_ceiling" not in result["panels"]["location"]
    check_computed(tmp_path / "report")


def test_a_case_that_no_rater_was_given_counts_as_a_case(tmp_path: Path) -> None:
    arrays = lively(n_models=0)
    result = write(tmp_path / "report", arrays)
    assert ",1,case-0," not in ratings_csv(arrays, QUICK)
    assert result["questions"]["n_cases"] == 36
    check_computed(tmp_path / "report")


def test_answers_in_doubt_are_recomputed_as_too_late(tmp_path: Path) -> None:
    arrays = lively()
    doubted = (arrays.state == State.ANSWERED) & (np.arange(36) % 5 == 0)
    doubted[arrays.readers.max() + 1 :] = False
    result = write(tmp_path / "report", replace(arrays, doubted=doubted))
    assert "doubts_as_late" in result["variants"]
    check_computed(tmp_path / "report")


@pytest.mark.check
@pytest.mark.parametrize(
    "settings", [replace(QUICK, failed_in_accuracy="exclude"), replace(QUICK, failed_in_agreement="own_category")]
)
def test_the_switches_for_failed_extractions(tmp_path: Path, settings: Settings) -> None:
    write(tmp_path / "report", lively(), settings)
    check_computed(tmp_path / "report")


def test_few_questions_one_reader_and_models_alone(tmp_path: Path) -> None:
    """Where most is undefined, the oracle compares the reasons as well."""
    small = {"R1": "AAAAAAAA", "R2": "AAAABBBB"}, {"M1": "xxxxxxxx", "M2": "ABCDABCD"}
    for place, (readers, models) in enumerate((small, ({"R1": "ABCDABCD"}, small[1]), ({}, small[1]), (small[0], {}))):
        write(tmp_path / str(place), make_arrays(readers, models, "AAAAAAAA", clusters=[0, 0, 1, 1, 2, 2, 3, 3]))
        check_computed(tmp_path / str(place))


@pytest.mark.check
def test_the_study_of_the_paper(tmp_path: Path, shared_data: Path) -> None:
    golden = shared_data.parent / GOLDEN
    if not golden.is_file():
        pytest.skip("the study of the paper is not on this machine")
    arrays, _expected = paper_shaped(golden)
    voided = np.flatnonzero(arrays.questions.voided)
    excluded = [
        {"kind": "case", "case": n + 1, "question": n + 1, "decided": "before_unblinding"} for n in voided.tolist()
    ]
    write(tmp_path / "report", replace(arrays, excluded=tuple(excluded)))
    check_computed(tmp_path / "report")


@pytest.mark.check
@pytest.mark.parametrize("seed", [2, 3, 19, 27, 56])
def test_random_studies(tmp_path: Path, seed: int) -> None:
    random_studies.write(seed, tmp_path)
    check_computed(tmp_path)


def test_exams_that_do_not_differ(tmp_path: Path) -> None:
    """Each with 9 of 14 right, or of two or three times as many: nobody takes rounding for an error."""
    times = [place % 3 + 1 for place in range(10)]
    said = "".join("A" * (9 * one) + "B" * (5 * one) for one in times)
    exams = [exam for exam, one in enumerate(times) for _question in range(14 * one)]
    arrays = make_arrays({"R1": "B" * len(said)}, {"M1": said}, "A" * len(said), clusters=exams)
    result = write(tmp_path / "report", arrays)
    [pair] = result["panels"]["All tasks"]["pairs"]
    assert (pair["difference_cluster"]["difference_cluster_se"], pair["difference_cluster"]["ci95"]) == (0, None)
    assert pair["difference_cluster"]["flags"] == ["no_variation"]
    clustered = result["panels"]["All tasks"]["raters"][1]["accuracy_cluster"]
    assert (clustered["design_effect"], clustered["flags"]) == (0, [])
    check_computed(tmp_path / "report")


@pytest.mark.check
@pytest.mark.parametrize("shared_exams", [True, False])
@pytest.mark.parametrize("n", [36, 12])
def test_a_mean_of_runs_that_stands_for_a_model(tmp_path: Path, n: int, shared_exams: bool) -> None:
    arrays = lively(shared_exams=shared_exams)
    if n < 36:
        arrays = arrays.without(np.arange(36) >= n)
    said = {"number": 1, "planned_run": "mean of all runs", "planned_run_met": True, "mean_of_runs": [1, 2, 4]}
    raters = [replace(one, facts=said) if one.name == "M0, =1" else one for one in arrays.raters]
    arrays = replace(arrays, raters=tuple(raters), plan={**arrays.plan, "runs": [["M0, =1", "mean of all runs"]]})
    result = write(tmp_path / "report", arrays)
    assert result["mrmc"]["models"]["M0, =1"]["method"].endswith(", mean of 3 runs")
    assert not result["mrmc"]["models"]["M1, =1"]["method"].endswith("runs")
    check_computed(tmp_path / "report")


# --- what was changed is found --------------------------------------------------------------------
@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "report"
    write(folder, lively(30))
    return folder


@pytest.fixture
def report(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "report"))


def tamper(report: Path, change: Change) -> None:
    path = report / "analysis.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    change(result)
    path.write_text(json.dumps(result), encoding="utf-8")


def test_the_oracle_knows_every_number(report: Path) -> None:
    """All that can be changed at once, by a millionth, and counts by one."""
    path = report / "analysis.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    given = {name: result.pop(name) for name in GIVEN} | {"items": {"case": result["items"].pop("case")}}
    n_changed = len(numbers_in(result, ""))
    changed = _changed(result)
    changed["items"] |= given.pop("items")
    path.write_text(json.dumps(changed | given), encoding="utf-8")
    assert n_changed > 5_000
    assert len(compared(report).different) == n_changed


def _changed(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _changed(one) for name, one in tree.items()}
    if isinstance(tree, list):
        return [_changed(one) for one in tree]
    if isinstance(tree, bool) or not isinstance(tree, int | float):
        return tree
    return tree + 1 if isinstance(tree, int) else tree * (1 + 1e-6) if tree else 1e-6


def _drop_flag(result: dict[str, Any]) -> None:
    post_hoc = [one for one in result["comparisons"] if not one["planned"]]
    post_hoc[-1]["p"]["flags"] = []


def _drop_variant(result: dict[str, Any]) -> None:
    del result["variants"]["with_slips"]


def _unplan(result: dict[str, Any]) -> None:
    del result["plan"]["pairs"]


def _swap_seed(result: dict[str, Any]) -> None:
    result["settings"]["seed"] += 1


def _claim(result: dict[str, Any]) -> None:
    result["comparisons"][0]["superior"] = not result["comparisons"][0]["superior"]


def _add(result: dict[str, Any]) -> None:
    result["time"]["all"]["mode"] = 3


@pytest.mark.parametrize("change", [_drop_flag, _drop_variant, _unplan, _swap_seed, _claim, _add])
def test_the_oracle_finds_what_else_was_changed(report: Path, change: Change) -> None:
    tamper(report, change)
    assert differences(report)


def _accuracy(result: dict[str, Any]) -> str:
    result["panels"]["presence"]["raters"][0]["accuracy"]["ci95"][1] += 2e-6
    return "presence, R0, accuracy"


def _difference(result: dict[str, Any]) -> str:
    result["panels"]["All tasks"]["pairs"][0]["difference"]["ci95"][0] -= 2e-6
    return "All tasks, M0, =1 and M1, =1, difference"


def _kappa(result: dict[str, Any]) -> str:
    result["panels"]["All tasks"]["pairs"][0]["cohen_kappa"]["value"] += 2e-6
    return "All tasks, M0, =1 and M1, =1, cohen_kappa"


def _limit_of_a_bootstrap(result: dict[str, Any]) -> str:
    result["panels"]["All tasks"]["groups"]["all"]["fleiss_kappa"]["ci95"][1] += 0.2
    return "All tasks, all, fleiss_kappa"


def _contrast(result: dict[str, Any]) -> str:
    result["mrmc"]["readers"]["ci95"][0] += 2e-6
    return "All tasks, mean of the readers"


def _p_of_a_planned_pair(result: dict[str, Any]) -> str:
    [one] = [one for one in result["comparisons"] if (one["first"], one.get("second")) == ("R0", "R1")]
    one["p_holm"]["value"] *= 1 - 2e-6
    return "All tasks, R0 and R1, p_holm"


@pytest.mark.parametrize(
    "change", [_accuracy, _difference, _kappa, _limit_of_a_bootstrap, _contrast, _p_of_a_planned_pair]
)
def test_the_script_names_the_number_that_was_changed(report: Path, change: Callable[[dict[str, Any]], str]) -> None:
    named: list[str] = []
    tamper(report, lambda result: named.append(change(result)))
    assert disagreeing(report) == named


def test_a_changed_rating_is_found(report: Path) -> None:
    path = report / "data" / "ratings.csv"
    text = path.read_bytes().decode()
    path.write_bytes(text.replace(",answered,A,", ",answered,B,", 1).encode())
    assert any(one.startswith("items.answers.R") for one in differences(report))
    assert disagreeing(report)


def test_files_that_cannot_be_read(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = report / "data" / "ratings.csv"
    text = path.read_text(encoding="utf-8")
    for changed, told in (
        (text + text.splitlines()[1] + "\n", "duplicate entries"),
        (text.replace(",presence,", ",location,", 1), "a case has two keys, tasks or clusters"),
        (text.replace("\nR0,", "\nR5,", 1), "a rater is not in the analysis"),
    ):
        path.write_text(changed, encoding="utf-8", newline="")
        assert recompute.main(report) == 2
        assert told in capsys.readouterr().out
    assert recompute.RULE == RULE
    tamper(report, lambda result: result["software"].update(rule="analysis-1"))
    assert recompute.main(report) == 2
    assert f"by the rule analysis-1, not {RULE}" in capsys.readouterr().out
    (report / "analysis.json").unlink()
    assert recompute.main(report) == 2


def test_the_script_runs_far_from_this_program(report: Path) -> None:
    """Isolated: neither this project nor its variables are seen; it says every number twice and whether they agree."""
    shutil.copy(SCRIPT, report)
    command = [sys.executable, "-I", "-W", "error", SCRIPT.name]
    ran = subprocess.run(command, cwd=report, capture_output=True, text=True, check=False)
    assert (ran.stderr, ran.returncode) == ("", 0), ran.stdout
    title, head, first, *_lines, last = ran.stdout.splitlines()
    assert title.split() == ["Trial", "SIMULATED", "DATA"]
    assert head.split() == ["name", "in", "the", "report", "here", "agrees"]
    assert re.fullmatch(r"All tasks, R0, accuracy +(0\.\d+ \(0\.\d+ to 0\.\d+\)) +\1 +yes", first)
    assert re.fullmatch(r"all \d+ agree", last)


def test_the_script_says_what_does_not_agree(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tamper(report, _kappa)
    assert recompute.main(report) == 1
    lines = capsys.readouterr().out.splitlines()
    [wrong] = [line for line in lines if line.endswith(" NO")]
    assert wrong.startswith("All tasks, M0, =1 and M1, =1, cohen_kappa ")
    assert re.fullmatch(r"1 of \d+ do not agree", lines[-1])


def test_the_script_needs_public_libraries_only() -> None:
    packages = {module.partition(".")[0] for module in imports_of(SCRIPT)}
    assert packages - sys.stdlib_module_names == {"numpy", "pandas", "scipy", "statsmodels"}
