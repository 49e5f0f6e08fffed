"""From arrays to the result: which questions count, what is labelled, and that nothing depends on chance or order."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from annotation.statistics.kernels.catalogue import CATALOGUE, ShownOn, shown_at
from annotation.statistics.kernels.cautions import FLAGS, METHODS, REASONS
from annotation.statistics.kernels.comparing import holm_adjusted
from readerstudy.analysis.kernels.arrays import NOT_COUNTED, State, Voided
from readerstudy.analysis.kernels.result import StoredAnalysis, values_of
from readerstudy.analysis.kernels.scoring import Settings, score
from readerstudy.analysis.storing import as_text
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.design.kernels.documents import DesignRefused
from tests.readerstudy.analysis import result_page
from tests.readerstudy.analysis.made import computed, make_arrays, paper_shaped
from tests.readerstudy.analysis.test_stored_bytes import WRITTEN
from tests.readerstudy.report.random_studies import random_study
from tests.refusals import refuses
from tests.sweeps import share

QUICK = Settings(seed=7, draws=100)
KEY = "ABCDABCDABCD"
READERS = {"R1": "ABCDABCDABAA", "R2": "ABCDABCAABCC", "R3": "ABCDABBBABCD"}
MODELS = {"M1": "ABCDDDDDABCD", "M2": "ABxDABCDDDDD"}


def pair_of(panel: Any, *names: str) -> Any:
    [found] = [one for one in panel["pairs"] if {one["first"], one["second"]} == set(names)]
    return dict(found)


def rater_of(panel: Any, name: str) -> Any:
    [found] = [one for one in panel["raters"] if one["name"] == name]
    return dict(found)


def test_the_states_count_as_the_table_of_the_documentation_says() -> None:
    state = np.array([list(State)], dtype=np.int8)
    arrays = replace(
        make_arrays({"R1": "A" * len(State)}, {}, "A" * len(State)),
        state=state,
        option=np.where(np.isin(state, [State.DECLINED, State.TIMED_OUT, State.FAILED]), -1, 0).astype(np.int8),
    )
    scored = score(arrays, QUICK)
    expected = {
        State.NOT_ASSIGNED: (-2, -1),
        State.MISSING: (-2, -1),
        State.ANSWERED: (0, 1),
        State.UNCONFIRMED: (0, 1),
        State.DECLINED: (-1, 0),
        State.TIMED_OUT: (-1, 0),
        State.LATE: (-1, 0),
        State.FAILED: (-1, 0),
    }
    found = zip(scored.answers[0].tolist(), scored.correct[0].tolist(), strict=True)
    assert dict(zip(State, found, strict=True)) == expected


# --- best guesses ---------------------------------------------------------------------------------
DECLINING = {"R1": "ABCDABCD??A?", "R2": "ABCDABCDABCD"}


def guesses(said: str) -> np.ndarray[Any, Any]:
    """Of R1; nobody else has guessed."""
    row = ["ABCD".find(letter) for letter in said]
    return np.array([row, *[[-1] * 12] * 3], dtype=np.int8)


def test_a_best_guess_counts_in_an_accuracy_of_its_own() -> None:
    """By hand: 8 of 12 right, three declined, of which one was guessed right, one wrong and one not."""
    arrays = make_arrays(DECLINING, MODELS, KEY, guess=guesses("........AC.."))
    panel = computed(arrays, QUICK)["panels"]["All tasks"]
    first = rater_of(panel, "R1")
    assert (first["n_declined"], first["n_guessed"]) == (3, 2)
    assert (first["accuracy"]["value"], first["accuracy"]["n"]) == (8 / 12, 12)
    guessed = first["accuracy_best_guess"]
    assert (guessed["value"], guessed["n"], guessed["method"], guessed["reason"]) == (9 / 12, 12, "wilson", None)
    assert guessed["ci95"] == pytest.approx([0.46769, 0.91106], abs=1e-5)
    for name in ("R2", "M1", "M2"):
        other = rater_of(panel, name)
        assert (other["accuracy_best_guess"], other["n_guessed"]) == (other["accuracy"], 0)


def test_a_guess_changes_no_other_number_and_counts_only_beside_cannot_tell() -> None:
    """Not beside an option, a late answer, the end of the time or nothing at all."""
    state = make_arrays(DECLINING, MODELS, KEY).state
    state[0, 9:] = [State.LATE, State.TIMED_OUT, State.MISSING]
    plain = make_arrays(DECLINING, MODELS, KEY, state=state)
    guessed = replace(plain, guess=guesses("BAAAAAAAABCD"))
    assert score(guessed, QUICK).guessed.tolist()[0] == [*[1] * 9, 0, 0, NOT_COUNTED]  # type: ignore[union-attr]
    one, other = computed(plain, QUICK), computed(guessed, QUICK)
    for panel in other["panels"].values():
        for rater in panel["raters"]:
            del rater["accuracy_best_guess"], rater["n_guessed"]
    assert other["settings"].pop("accuracy_best_guess").endswith("wrong in both; wilson")
    assert other == one


def test_how_sure_somebody_was_of_a_guess_is_held_against_the_guess() -> None:
    arrays = make_arrays(DECLINING, MODELS, KEY, guess=guesses("........AC.."))
    arrays.confidence[0, 8:] = [25, 25, 0, 25]
    [one] = computed(arrays, QUICK)["tables"]["confidence"]
    assert (one["accuracy"]["25"]["value"], one["accuracy"]["25"]["n"]) == (1 / 3, 3)
    [one] = computed(replace(arrays, guess=None), QUICK)["tables"]["confidence"]
    assert one["accuracy"]["25"]["value"] == 0


def test_voided_cases_take_their_guesses_along() -> None:
    voided = {8: Voided.BEFORE_UNBLINDING}
    arrays = make_arrays(DECLINING, MODELS, KEY, guess=guesses("........AC.."), voided=voided)
    result = computed(arrays, QUICK)
    first = rater_of(result["panels"]["All tasks"], "R1")
    assert (first["accuracy_best_guess"]["value"], first["n_guessed"]) == (8 / 11, 1)
    before = rater_of(result["variants"]["with_voided"]["panels"]["All tasks"], "R1")
    assert before["accuracy_best_guess"]["value"] == 9 / 12


def test_guesses_are_inputs_and_a_study_without_them_keeps_its_hash() -> None:
    plain = make_arrays(DECLINING, MODELS, KEY)
    asked = replace(plain, guess=guesses("............"))
    hashes = {one.sha256() for one in (plain, asked, replace(plain, guess=guesses("........A...")))}
    assert len(hashes) == 3
    assert plain.sha256() == "6771ca2d813d110509c42f09a387eff0583378e2a6d1d37cdce30a343b66418f"


def test_the_switches_for_failed_extractions() -> None:
    arrays = make_arrays(READERS, MODELS, KEY)
    left_out = score(arrays, replace(QUICK, failed_in_accuracy="exclude"))
    assert (left_out.correct[4, 2], left_out.answers[4, 2]) == (NOT_COUNTED, -1)
    fifth = score(arrays, replace(QUICK, failed_in_agreement="own_category"))
    assert (fifth.correct[4, 2], fifth.answers[4, 2], fifth.q) == (0, 4, 5)
    with refuses(DesignRefused, "setting", match="one of: wrong, exclude"):
        replace(QUICK, failed_in_accuracy="drop")


def test_a_result_says_its_panels_pairs_and_groups_and_is_plain_json() -> None:
    arrays = make_arrays(READERS, MODELS, KEY, tasks=["presence"] * 8 + ["location"] * 4)
    result = computed(arrays, QUICK)
    assert json.loads(as_text(result)) == result
    assert list(result["panels"]) == ["All tasks", "presence", "location"]
    whole = result["panels"]["All tasks"]
    assert (whole["n"], whole["unit"], len(whole["raters"]), len(whole["pairs"])) == (12, "question", 5, 10)
    assert rater_of(whole, "M2")["n_failed"] == 1
    pair = pair_of(whole, "M2", "R1")
    assert (pair["first"], pair["kinds"]) == ("M2", ["model", "reader"])
    assert pair["cohen_kappa"]["n"] == 11  # the failed extraction is no rating
    assert sum(pair["table"].values()) == 12  # and wrong
    assert set(whole["groups"]) == {"readers", "models", "all"}
    assert result["order"] == ["R1", "R2", "R3", "M1", "M2"]
    assert result["items"]["answers"]["M2"] == MODELS["M2"]


def test_the_planned_family_is_adjusted_and_everything_else_is_post_hoc() -> None:
    tasks = ["presence"] * 8 + ["location"] * 4
    arrays = make_arrays(READERS, MODELS, KEY, tasks=tasks, plan=AnalysisPlan(margin=0.9).as_json())
    result = computed(arrays, QUICK)
    planned = [one for one in result["comparisons"] if one["planned"]]
    assert [(one["panel"], one["first"], one["second"]) for one in planned] == [
        ("All tasks", "M1", "mean of the readers"),
        ("All tasks", "M2", "mean of the readers"),
    ]
    smaller, larger = sorted(planned, key=lambda one: float(one["p"]["value"]))
    assert smaller["p_holm"]["value"] == pytest.approx(min(1, 2 * smaller["p"]["value"]))
    assert larger["p_holm"]["method"] == "holm over 2"
    assert all(one["non_inferior"] for one in planned)
    others = [one for one in result["comparisons"] if not one["planned"]]
    assert len(others) == 4
    assert all("post_hoc" in one["p"]["flags"] for one in others)
    own_words = replace(arrays, plan=AnalysisPlan(primary="readers among themselves").as_json())
    assert not any(one["planned"] for one in computed(own_words, QUICK)["comparisons"])


def test_a_voided_question_changes_nothing_else() -> None:
    """With answers of every kind to it; it is named, and counted in a labelled variant only."""
    plain = computed(make_arrays(READERS, MODELS, KEY), QUICK)
    more = {name: said + "D" for name, said in READERS.items()}
    models = {"M1": MODELS["M1"] + "x", "M2": MODELS["M2"] + "A"}
    voided = computed(make_arrays(more, models, KEY + "A", voided={12: Voided.BEFORE_UNBLINDING}), QUICK)
    for part in ("panels", "comparisons", "mrmc", "time", "tables"):
        assert voided[part] == plain[part]
    assert voided["items"]["discrimination"][:12] == plain["items"]["discrimination"]
    assert plain["variants"] == {}
    assert voided["questions"]["n_scored"] == 12
    assert voided["variants"]["with_voided"]["panels"]["All tasks"]["n"] == 13
    assert voided["items"]["voided"][-1] == "before"


def test_a_question_voided_after_unblinding_stays_in_the_primary_result() -> None:
    arrays = make_arrays(READERS, MODELS, KEY, voided={11: Voided.AFTER_UNBLINDING})
    result = computed(arrays, QUICK)
    assert result["panels"]["All tasks"]["n"] == 12
    plain = computed(make_arrays(READERS, MODELS, KEY), QUICK)
    assert result["items"]["discrimination"] == plain["items"]["discrimination"]
    [(name, variant)] = result["variants"].items()
    assert (name, variant["n"]) == ("without_all_voided", 11)
    assert variant["label"].startswith("sensitivity")


def test_slips_count_in_a_labelled_variant_only() -> None:
    arrays = make_arrays(READERS, MODELS, KEY)
    slip = arrays.slip.copy()
    slip[0, 10] = 2
    result = computed(replace(arrays, slip=slip), QUICK)
    assert rater_of(result["panels"]["All tasks"], "R1")["n_correct"] == 10
    assert rater_of(result["variants"]["with_slips"]["panels"]["All tasks"], "R1")["n_correct"] == 11


def test_answers_in_doubt_count_as_too_late_in_a_labelled_variant_only() -> None:
    arrays = make_arrays(READERS, MODELS, KEY)
    plain = computed(arrays, QUICK)
    doubted = np.zeros(arrays.state.shape, dtype=np.bool_)
    doubted[0, 0] = True
    result = computed(replace(arrays, doubted=doubted), QUICK)
    assert replace(arrays, doubted=doubted).sha256() != arrays.sha256()
    assert {**result, "variants": {}} == {**plain, "variants": {}}, "a doubt changes no number of the primary result"
    right = rater_of(result["panels"]["All tasks"], "R1")["n_correct"]
    [(name, variant)] = result["variants"].items()
    assert (name, variant["label"].partition(":")[0]) == ("doubts_as_late", "sensitivity")
    assert rater_of(variant["panels"]["All tasks"], "R1")["n_correct"] == right - 1


def test_the_same_inputs_give_the_same_bytes_and_another_seed_other_intervals() -> None:
    def text(seed: int) -> str:
        return as_text(computed(make_arrays(READERS, MODELS, KEY), replace(QUICK, seed=seed)))

    assert text(7) == text(7)
    first, second = json.loads(text(7)), json.loads(text(8))
    kappas = [pair_of(one["panels"]["All tasks"], "R1", "R2")["cohen_kappa"] for one in (first, second)]
    assert kappas[0]["value"] == kappas[1]["value"]
    assert kappas[0]["ci95"] != kappas[1]["ci95"]


def test_a_study_without_models_and_one_with_a_single_reader() -> None:
    result = computed(make_arrays({"R1": READERS["R1"]}, {}, KEY), QUICK)
    assert result["comparisons"] == []
    assert result["panels"]["All tasks"]["groups"]["readers"]["fleiss_kappa"]["reason"] == "one_rater"
    models_only = computed(make_arrays({}, MODELS, KEY), QUICK)
    assert models_only["mrmc"]["readers"]["value"] is None
    assert models_only["comparisons"][0]["difference"]["reason"]


def timed(seconds: list[float], censored: list[int]) -> Any:
    """The times of the first reader, one after the other; those at the places ``censored`` ended at the limit."""
    arrays = make_arrays(READERS, MODELS, KEY)
    active, ended = np.full(arrays.state.shape, np.nan), np.zeros(arrays.state.shape, dtype=bool)
    position = np.zeros(arrays.state.shape, dtype=np.int32)
    active[0], ended[0, censored], position[0] = np.array(seconds) * 1000, True, np.arange(1, 13)
    state = arrays.state.copy()
    state[0, censored] = State.TIMED_OUT
    times = replace(arrays.times, active_ms=active, censored=ended)
    result: Any = computed(replace(arrays, state=state, times=times, position=position), QUICK)["time"]
    return result


def test_a_time_that_ended_at_the_limit_stands_in_the_order_there() -> None:
    """Left out, twelve times of which six ended at 40 s had a median of 20."""
    time = timed([15, 16, 18, 22, 30, 36, *[40] * 6], [6, 7, 8, 9, 10, 11])
    first, second, _third = time["readers"]
    assert (first["q1"]["value"], first["median"]["n"], first["n_censored"]) == (21, 12, 6)
    assert (first["median"]["value"], first["median"]["reason"]) == (None, "censored")
    assert (first["geometric_mean"]["value"], first["geometric_mean"]["reason"]) == (None, "censored")
    assert (second["median"]["value"], second["median"]["reason"]) == (None, "zero_trials")
    assert (time["all"]["n_censored"], time["sensitivity"]["winsorised"]["n_censored"]) == (6, 6)


def test_what_needs_exact_times_is_over_those_and_says_so() -> None:
    first = timed([*range(1, 12), 12], [11])["readers"][0]
    for name in ("log_slope_per_position", "percent_per_ten", "spearman_time_vs_position"):
        assert (first[name]["n"], first[name]["flags"]) == (11, ["censored"])
    assert first["log_slope_per_position"]["value"] > 0
    two = timed([*range(1, 12), 12], [10, 11])["readers"][0]  # more than a tenth
    assert {two[name]["reason"] for name in ("percent_per_ten", "spearman_time_vs_position")} == {"censored"}


def test_a_change_along_fewer_than_ten_times_is_not_known() -> None:
    """Three times gave a percentage for ten cases."""
    time = timed([10, 20, 40, *[np.nan] * 9], [])
    for one in (time["readers"][0], time["all"]):
        assert (one["percent_per_ten"]["value"], one["percent_per_ten"]["reason"]) == (None, "too_few")


def test_variances_of_times_say_why_there_are_none() -> None:
    parts = timed([*range(1, 13)], [])["all"]["log_time_variance_components"]
    assert (parts["reader"], parts["reason"], parts["n_readers"], parts["n"]) == (None, "too_few", 3, 0)


GOLDEN = "stats/golden/paper_shaped_study.json"


@pytest.fixture(scope="module")
def paper(shared_data: Path) -> tuple[Any, Any]:
    arrays, expected = paper_shaped(shared_data.parent / GOLDEN)
    return computed(arrays, Settings(seed=7, draws=100)), expected


@pytest.mark.parametrize("task", ["all", "negation", "presence", "differential", "location", "geometric"])
def test_every_kappa_of_the_paper_shaped_study(paper: tuple[Any, Any], task: str) -> None:
    result, expected = paper
    names = expected["rater_order"]["value"]
    panel = result["panels"]["All tasks" if task == "all" else task]
    for row, first in enumerate(names):
        for column, second in enumerate(names[:row]):
            found = pair_of(panel, first, second)["cohen_kappa"]
            assert found["n"] == expected[f"kappa_n {task}"]["value"][row][column]
            value = expected[f"kappa {task}"]["value"][row][column]
            assert found["value"] == (None if value is None else pytest.approx(value, abs=1e-9))
            assert (found["value"] is None) == (found["reason"] is not None)


def test_the_rest_of_the_paper_shaped_study(paper: tuple[Any, Any]) -> None:
    result, expected = paper
    whole = result["panels"]["All tasks"]
    for name, value in expected["accuracy_cluster_se"]["value"].items():
        assert rater_of(whole, name)["accuracy_cluster"]["accuracy_cluster_se"] == pytest.approx(value, abs=1e-8)
    for group in ("readers", "models", "all"):
        for name in ("percent_agreement", "fleiss_kappa", "conger_kappa", "gwet_ac1", "brennan_prediger"):
            value = expected[f"{group}, all: {name}"]["value"]
            assert whole["groups"][group][name]["value"] == pytest.approx(value, abs=1e-9)
    for name, value in expected["mcnemar_exact_p"]["value"].items():
        model, reader = name.split(" vs ")
        found = pair_of(whole, model, reader)
        assert found["mcnemar_exact_p"]["value"] == pytest.approx(value, abs=1e-9)
        table = expected["paired tables model vs reader"]["value"][name]
        assert list(found["table"].values()) == table
    for one in result["comparisons"][:8]:
        se = expected[f"{one['first']} minus mean of readers se_random_readers_random_cases"]["value"]
        found = result["mrmc"]["models"][one["first"]]
        random = found["by_question"]["random_readers_random_questions"]
        assert (random["se"], random["p"]) == (pytest.approx(se, abs=1e-7), None)  # of three readers p is by MOVER
        assert one["p"]["value"] == found["by_cluster"]["mover_p"]


# --- models against the mean of the readers -------------------------------------------------------
def spread_over(n: int, rights: dict[str, str]) -> tuple[dict[str, str], str]:
    """Answers of so many questions from patterns of right (B), wrong (A), missing (.) that are repeated."""
    return {name: (said * n)[:n] for name, said in rights.items()}, "B" * n


def test_case_sets_that_share_nothing_have_a_primary_result() -> None:
    """It was null: no question counted for all readers, while the forecast promised power."""
    readers, key = spread_over(40, {"R1": "BBBA", "R2": "BABB", "R3": "BBAB", "R4": "ABBBA"})
    arrays = make_arrays(readers, {"M": ("BBBBA" * 8)}, key)
    state = arrays.state.copy()
    state[:2, 20:], state[2:4, :20] = State.NOT_ASSIGNED, State.NOT_ASSIGNED
    arrays = replace(arrays, state=state, option=np.where(state == State.NOT_ASSIGNED, -1, arrays.option))
    result = computed(arrays, QUICK)
    [one] = [one for one in result["comparisons"] if one["family"] == "primary"]
    assert one["difference"]["value"] == pytest.approx(0.8 - 0.75, abs=0.05)
    assert one["difference"]["ci95"] is not None
    assert one["p"]["value"] is not None
    assert result["mrmc"]["models"]["M"]["model_accuracy"] == 0.8  # that of the accuracy table
    found = result["mrmc"]["readers"]
    assert (found["n_readers"], found["n_questions"], found["n_cells"], found["n_missing"]) == (4, 40, 80, 0)
    assert not {"questions_dropped", "answers_missing", "readers_dropped"}.intersection(one["difference"]["flags"])


def test_a_reader_who_stops_cuts_nobody_and_is_said() -> None:
    """One of six who stopped after 60 of 200 questions cut all of them to 60, without a word."""
    readers, key = spread_over(200, {f"R{row}": "BBBA"[row % 4 :] + "BBA"[: row + 1] for row in range(6)})
    readers["R5"] = readers["R5"][:60] + "." * 140
    result = computed(make_arrays(readers, {"M": "BBBBA" * 40}, key), QUICK)
    [one] = [one for one in result["comparisons"] if one["family"] == "primary"]
    found = result["mrmc"]["models"]["M"]
    assert (one["difference"]["n"], found["n_cells"], found["n_missing"]) == (200, 1060, 140)
    assert "answers_missing" in one["difference"]["flags"]
    assert (found["complete_rows"]["n"], found["complete_rows"]["ci95"] is not None) == (60, True)
    assert found["difference_by_reader"][5]["n"] == 60


def test_readers_of_the_plan_without_an_answer_are_said() -> None:
    gone = [{"kind": "reader", "reader": f"R{row}", "reason": reason} for row, reason in enumerate(GONE, 7)]
    result = computed(replace(make_arrays(READERS, MODELS, KEY), excluded=tuple(gone)), QUICK)
    for found in (result["mrmc"]["readers"], *result["mrmc"]["models"].values()):
        assert found["n_readers_dropped"] == 2
        assert "readers_dropped" in found["flags"]
    assert "readers_dropped" in result["comparisons"][0]["difference"]["flags"]


GONE = ("withdrawn", "replaced", "no answers")  # the place of one who was replaced is another's


def test_the_unit_is_the_cluster_where_questions_share_one() -> None:
    readers, key = spread_over(48, {"R1": "BBBAB", "R2": "BABBA", "R3": "BBA"})
    clusters = [place // 3 for place in range(48)]
    found = computed(make_arrays(readers, {"M": "BBBBA" * 9 + "BBB"}, key, clusters=clusters), QUICK)
    model, [one] = found["mrmc"]["models"]["M"], found["comparisons"][:1]
    by_cluster, method = model["by_cluster"], "by_cluster random_readers_random_questions"
    assert (model["unit"], one["difference"]["method"]) == ("by_cluster", f"{method}, MOVER")
    assert (one["difference"]["ci95"], one["p"]["value"]) == (by_cluster["mover_ci95"], by_cluster["mover_p"])
    assert (one["ci90"], one["p"]["method"]) == (by_cluster["mover_ci90"], f"MOVER test, {method}")
    assert by_cluster["random_readers_random_questions"]["ci95"] is None
    assert by_cluster["mover_ci95"] != model["by_question"]["mover_ci95"]
    assert {each["method"] for each in model["difference_by_reader"]} == {"cluster_t"}


def test_non_inferiority_is_a_family_of_its_own() -> None:
    readers, key = spread_over(40, {"R1": "BBBA", "R2": "BABB", "R3": "BBAB", "R4": "ABBBA", "R5": "BBBBA"})
    models = {"Good": "B" * 40, "Same": "BBBAB" * 8, "Poor": "BA" * 20}
    plan = AnalysisPlan(margin=0.1).as_json()
    found = computed(make_arrays(readers, models, key, plan=plan), QUICK)
    good, same, poor = (one for one in found["comparisons"] if one["family"] == "primary")
    tests = [one["noninferiority_p"]["value"] for one in (good, same, poor)]
    assert tests[0] < tests[1] < tests[2]
    adjusted = [one["noninferiority_p_holm"]["value"] for one in (good, same, poor)]
    assert adjusted == pytest.approx([3 * tests[0], 2 * tests[1], tests[2]])
    assert [one["non_inferior"] for one in (good, same, poor)] == [p <= 0.025 for p in adjusted]
    assert (good["non_inferior"], poor["non_inferior"]) == (True, False)
    within = [one["equivalence_p"]["value"] for one in (good, same, poor)]
    adjusted_within = holm_adjusted(within)
    assert adjusted_within == [one["equivalence_p_holm"]["value"] for one in (good, same, poor)]
    assert [one["equivalent"] for one in (good, same, poor)] == [p is not None and p <= 0.05 for p in adjusted_within]
    without = computed(make_arrays(readers, models, key), QUICK)["comparisons"][0]
    assert (without["noninferiority_p"], without["non_inferior"], without["equivalent"]) == (None, None, None)


SEEDS = range(1, 40)


def stored(seed: int) -> Any:
    return json.loads(json.dumps(computed(*random_study(seed))))


@pytest.fixture(scope="module")
def analyses() -> list[Any]:
    then = [json.loads(line) for line in gzip.decompress(WRITTEN.read_bytes()).decode().splitlines()]
    return [*then, *map(stored, share(SEEDS))]


@pytest.mark.sweep
def test_an_analysis_holds_what_is_declared_and_nothing_else(analyses: list[Any]) -> None:
    """What is not declared would be lost on the way, and what is not there refused."""
    for one in analyses:
        assert msgspec.convert(one, StoredAnalysis) == one


@pytest.mark.sweep
def test_every_value_is_in_the_catalogue_with_its_cautions_and_its_method(analyses: list[Any]) -> None:
    """Nothing reaches a page, a codebook or a table without a name, a meaning and a rule."""
    for one in analyses:
        for about, entry in entries_of(one):
            for name, value in values_of(entry):
                known = CATALOGUE.get((about, name)) or (about == "group" and name.startswith("mean_"))
                assert known, f"{about} {name}"
                assert value["reason"] is None or value["reason"] in REASONS, value
                assert set(value["flags"]) <= FLAGS.keys(), value
                assert value["method"] in METHODS or about == "group" or value["method"].startswith("mcnemar"), value


def entries_of(result: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [("calibration", one) for one in result["tables"].get("calibration", ())]
    for panel in result["panels"].values():
        found += [("rater", one) for one in panel["raters"]] + [("panel", panel)]
        found += [("pair", one) for one in panel["pairs"]] + [("group", one) for one in panel["groups"].values()]
    return [*found, *(("time", one) for one in (*result["time"]["readers"], result["time"]["all"]))]


def test_what_is_shown_is_computed(analyses: list[Any]) -> None:
    pair = next(pair for one in reversed(analyses) for pair in one["panels"]["All tasks"]["pairs"])
    for place in (ShownOn.PAIR, ShownOn.PAIRS, ShownOn.PRINTED_PAIRS, ShownOn.HEATMAP):
        assert {one.name for one in shown_at(place)} <= pair.keys()


def test_docs_list_the_shape_and_the_statistics() -> None:
    page = Path(result_page.PAGE).read_text(encoding="utf-8")
    assert page == result_page.written(page), "run python -m tests.readerstudy.analysis.result_page"
