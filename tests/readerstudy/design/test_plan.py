"""A plan goes into JSON and comes back the same; its pairs of raters, and which run stands for a model."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readerstudy.analysis.kernels.contrasts import NAMED as COMPUTED
from readerstudy.analysis.kernels.contrasts import is_planned
from readerstudy.design.checking import notes_of
from readerstudy.design.creating import copy_study, create_study, plan_of
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.analysis_plan import (
    FIXED_READERS,
    GROUPS,
    INFERENCES,
    PRIMARY,
    RANDOM_BOTH,
    AnalysisPlan,
    Pair,
    folded,
    pairs_of_text,
    parts_read,
    read_analysis,
    run_number,
    runs_of_text,
    text_of,
    with_choices,
)
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.documents import DesignRefused, Rules, canonical
from readerstudy.design.kernels.drawing import DrawRequest, Quota, cells_of, read_request, request_document
from readerstudy.design.kernels.plan import Plan, PlannedArm, PlannedCase, PlannedSet, plan_document, read_plan
from readerstudy.enums import Aid, EntryState, Information
from readerstudy.models import ModelEntry, ReaderStudy
from tests.conftest import NOON
from tests.readerstudy.design.made import make_questions, plan_for
from tests.refusals import refuses

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
NAMES = st.one_of(st.integers(1, 10**6), TEXT.map(str.strip).filter(bool))
CASES = st.lists(
    st.builds(
        PlannedCase,
        question=NAMES,
        revision=st.one_of(st.none(), st.integers(1, 9)),
        text_sha256=st.sampled_from(["", "ab" * 32]),
        accepted_because=TEXT,
    ),
    max_size=6,
).map(tuple)
RULES = st.builds(
    Rules,
    time_limit_s=st.one_of(st.none(), st.integers(5, 3600)),
    shuffle_options=st.booleans(),
    confidence=st.booleans(),
    n_ready=st.integers(2, 10),
    reader_names=st.booleans(),
    practice_pass=st.one_of(st.none(), st.integers(1, 100)),
    hidden_tools=st.lists(st.sampled_from(["zoom", "line"]), unique=True).map(tuple),
)
OFFSETS = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))
MOMENTS = st.one_of(st.none(), st.datetimes(datetime(2026, 1, 1), datetime(2040, 1, 1), timezones=OFFSETS))  # noqa: DTZ001
PLANS = st.builds(
    Plan,
    name=TEXT,
    bank=TEXT,
    seed=st.integers(0, 2**63 - 1),
    cases=CASES,
    practice=CASES,
    draw=st.sampled_from([{}, {"n": 12, "quotas": [{"task": "presence", "n": 3}]}]),
    sets=st.lists(st.builds(PlannedSet, TEXT, st.lists(st.integers(1, 9)).map(tuple)), max_size=3).map(tuple),
    arms=st.lists(st.builds(PlannedArm, st.sampled_from(Information), st.sampled_from(Aid)), min_size=1).map(tuple),
    rules=RULES,
    analysis=st.builds(
        AnalysisPlan,
        inference=st.sampled_from([*INFERENCES, "as we please"]),
        margin=st.one_of(st.none(), st.floats(0.01, 0.5)),
        margin_reason=st.just("what two readers differ by"),
        assumptions=st.sampled_from([None, Assumptions(), Assumptions(delta=0.05, models=8, made_by="Cora")]),
        pairs=st.sampled_from([(), (("Model A", "each reader"), ("R1", "R2"))]),
        notes=TEXT,
    ),
    n_readers=st.integers(1, 500),
    n_orders=st.integers(0, 2000),
    consent=TEXT,
    consent_version=st.integers(1, 100),
    deadline_at=MOMENTS,
    time_zone=st.sampled_from(["UTC", "Europe/Zurich"]),
    simulated=st.sampled_from([None, True, False]),
)


@given(plan=PLANS)
def test_a_plan_comes_back_as_it_went(plan: Plan) -> None:
    assert read_plan(json.loads(json.dumps(plan_document(plan)))) == plan


def test_what_an_export_carries_beside_the_plan_is_not_read_back() -> None:
    document = plan_document(Plan(name="Trial", bank="bank"))
    beside = {"state": "closed", "protocol": {}, "protocol_sha256": "0", "exported_at": "now", "opening": {}}
    assert read_plan({**document, **beside}) == Plan(name="Trial", bank="bank")


def test_only_a_name_and_a_bank_are_needed() -> None:
    assert read_plan({"name": "Trial", "bank": "bank"}) == Plan(name="Trial", bank="bank")
    cases = (PlannedCase(3), PlannedCase("key"))
    assert read_plan({"name": "Trial", "bank": "bank", "cases": [3, " key "]}).cases == cases


def test_a_deadline_needs_its_offset() -> None:
    plan = read_plan({"name": "T", "bank": "b", "deadline_at": "2027-01-31T18:00:00+01:00"})
    assert plan.deadline_at == datetime(2027, 1, 31, 17, tzinfo=UTC)


@given(
    n=st.integers(1, 1000),
    quotas=st.lists(st.builds(Quota, st.integers(0, 9), st.just("presence"), st.sampled_from(["any", "easy", ""]))),
    several=st.booleans(),
)
def test_a_request_for_a_draw_comes_back(n: int, quotas: list[Quota], several: bool) -> None:
    request = DrawRequest(n=n, quotas=tuple(quotas), n_sets=2, n_shared=1, several_per_patient=several)
    document = json.loads(json.dumps(request_document(request, "why")))
    assert read_request(document, Rules(several_per_patient=several)) == request
    assert cells_of(document) == []


@pytest.mark.parametrize("quota", [{"task": "painting", "n": 1}, {"difficulty": "extreme"}, {"n": -1}, {"m": 1}, 3])
def test_a_quota_that_cannot_be_says_where(quota: object) -> None:
    with refuses(DesignRefused, "bad_value") as refused:
        read_request({"quotas": [quota]}, Rules())
    assert refused.value.field.startswith("draw, quotas 1")


@pytest.mark.parametrize(("n_readers", "proposed"), [(1, FIXED_READERS), (4, FIXED_READERS), (5, RANDOM_BOTH)])
def test_few_readers_are_proposed_as_these_readers_and_a_named_inference_stays(n_readers: int, proposed: str) -> None:
    document = {"name": "T", "bank": "b", "n_readers": n_readers}
    assert read_plan(document).analysis.inference == proposed
    assert read_plan({**document, "analysis": {"inference": RANDOM_BOTH}}).analysis.inference == RANDOM_BOTH


@pytest.mark.parametrize(
    ("analysis", "place", "words"),
    [
        ({"margin": 0.05}, "analysis, margin_reason", "Say in one line why"),
        ({"margin": 0.05, "margin_reason": "  "}, "analysis, margin_reason", "Say in one line why"),
        ({"margin": 0.05, "margin_reason": "a\nb"}, "analysis, margin_reason", "one line"),
        (
            {"assumptions": {"discordant_readers": 0.6}},
            "analysis, assumptions, discordant_model_reader",
            "at least 31 % for model and reader",
        ),
        ({"assumptions": {"sd_reader": 0.4}}, "analysis, assumptions, sd_reader", "at most 31.62 points"),
        ({"assumptions": {"var_case": 0.022}}, "analysis, assumptions, var_case", "no such assumption"),
        ({"assumptions": 3}, "analysis, assumptions", "named values"),
    ],
)
def test_a_margin_without_a_reason_and_contradictions_are_refused_with_their_place(
    analysis: dict[str, object], place: str, words: str
) -> None:
    with pytest.raises(DesignRefused) as refused:
        read_plan({"name": "T", "bank": "b", "analysis": analysis})
    assert refused.value.field == place
    assert words in refused.value.sentence


def test_a_study_frozen_before_reasons_were_asked_for_is_read_as_it_is() -> None:
    old = {"margin": 0.05, "inference": RANDOM_BOTH}
    assert read_analysis(old).as_json() == AnalysisPlan(margin=0.05).as_json()
    assert not {"margin_reason", "assumptions", "pairs"} & set(read_analysis(old).as_json())


def test_what_the_program_reads_as_planned_is_what_the_analysis_makes() -> None:
    for inference in (*INFERENCES, " Fixed readers, random questions", "as we please"):
        for primary in (PRIMARY, "another"):
            plan = AnalysisPlan(inference=inference, primary=primary)
            assert bool(with_choices(plan).own_words) != is_planned(plan.as_json())
    assert INFERENCES == COMPUTED


@pytest.mark.parametrize("part", ["primary", "inference", "family", "late_answers", "voids"])
def test_every_part_that_the_program_acts_on_is_a_choice_or_makes_the_result_post_hoc(part: str) -> None:
    document = {"name": "T", "bank": "b"}
    made = getattr(AnalysisPlan(), part)
    same = with_choices(read_plan({**document, "analysis": {part: f" {made.upper()}."}}).analysis)
    assert (getattr(same, part), same.own_words) == (made, ())
    assert "own_words" not in same.as_json()
    other = with_choices(read_plan({**document, "analysis": {part: "as we please"}}).analysis)
    assert (getattr(other, part), other.own_words) == ("as we please", (part,))
    assert not is_planned(other.as_json())


@pytest.mark.parametrize("part", ["family", "late_answers", "voids"])
def test_a_plan_frozen_when_these_parts_were_free_text_is_read_as_before(part: str) -> None:
    old = AnalysisPlan().as_json() | {part: "in words of 2024"}
    assert read_analysis(old).as_json() == old
    assert is_planned(old)
    read = parts_read(read_analysis(old))[part]
    assert (read.words, read.is_made) == ("in words of 2024", True)


def test_parts_in_own_words_are_named_by_their_names() -> None:
    with pytest.raises(DesignRefused, match="own_words"):
        read_plan({"name": "T", "bank": "b", "analysis": {"own_words": ["shoes"]}})


# --- pairs of raters -------------------------------------------------------------------------------
PLANNED = AnalysisPlan(pairs=(("Model A", "each reader"), ("R1", "R2")))
LETTERS = st.characters(categories=["L", "N", "P", "S"], exclude_characters="|")
RATERS = st.one_of(st.sampled_from(["each reader", "each model", "R1"]), st.text(LETTERS, min_size=1, max_size=20))


def one_each(pairs: list[Pair]) -> tuple[Pair, ...]:
    """Those that a plan may name: not the same twice, and no name beside itself."""
    found = {frozenset(map(folded, pair)): pair for pair in pairs if folded(pair[0]) != folded(pair[1])}
    return tuple(found.values())


PAIRS = st.lists(st.tuples(RATERS, RATERS), max_size=5).map(one_each)


@given(pairs=PAIRS)
def test_pairs_come_back_from_json_and_from_lines_of_text(pairs: tuple[Pair, ...]) -> None:
    plan = AnalysisPlan(pairs=pairs)
    assert read_analysis(json.loads(json.dumps(plan.as_json()))) == plan
    assert pairs_of_text(text_of(pairs)) == pairs


def test_spaces_and_letters_do_not_matter_where_they_tell_nothing() -> None:
    text = "\n  Model  A |Each Reader\r\n\r\nEACH MODEL | each model\n"
    assert pairs_of_text(text) == (("Model A", "each reader"), ("each model", "each model"))
    assert read_analysis({"pairs": []}) == AnalysisPlan()


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ("Model A", "The pairs are a list, each of two names"),
        ({"Model A": "R1"}, "The pairs are a list"),
        (None, "The pairs are a list"),
        ([["A", "R1"], "AB"], "Pair 2: two names are expected."),
        ([["A"]], "Pair 1: two names are expected."),
        ([["A", "B", "C"]], "Pair 1: two names are expected."),
        ([["A", 7]], "Pair 1: a name is a text that is not empty."),
        ([["A", " "]], "Pair 1: a name is a text that is not empty."),
        ([["A", "R" * 302]], "Pair 1: a name has 301 characters at the most."),
        ([["A", "B|C"]], "Pair 1: a name has no | and no sign that cannot be seen."),
        ([["A", "B\0"]], "Pair 1: a name has no |"),
        ([["A", "R1"], ["b", " B "]], "Pair 2 has the same name on both sides."),
        ([["A", "R1"], ["A", "R2"], ["r1", "a"]], "Pair 3 is the same as pair 1."),
        ([[f"M{n}", "R1"] for n in range(101)], "A plan names 100 pairs at the most; these are 101."),
    ],
)
def test_pairs_that_cannot_be_say_which_and_why(pairs: Any, sentence: str) -> None:
    with refuses(DesignRefused, "bad_pairs") as refused:
        read_analysis({"pairs": pairs})
    assert (refused.value.field, str(refused.value).startswith(sentence)) == ("pairs", True)
    with refuses(DesignRefused, "bad_pairs") as in_plan:
        read_plan({"name": "Trial", "bank": "bank", "analysis": {"pairs": pairs}})
    assert in_plan.value.field == "analysis, pairs"


def test_a_line_without_two_names_is_refused() -> None:
    for text in ("A | B\n\nModel A and R1", "A | B\nA | B | C"):
        with pytest.raises(
            DesignRefused, match=r"Pair 2: two names are expected on the line, with one \| between them"
        ):
            pairs_of_text(text)
    with pytest.raises(DesignRefused, match="Pair 1: a name is a text that is not empty"):
        pairs_of_text("A |")


def test_a_plan_without_pairs_has_the_text_that_it_had_before_there_could_be_any() -> None:
    """What was frozen then has the same hash when it is frozen again, and its analysis the same inputs."""
    before = (
        '{"family":"Holm over the models","inference":"random readers, random questions","late_answers":"counted '
        'wrong","margin":null,"notes":"","primary":"each model minus the mean of the readers, all tasks",'
        '"voids":"left out when decided before unblinding, a sensitivity line afterwards"}'
    )
    assert canonical(AnalysisPlan().as_json()) == before
    assert read_analysis(json.loads(before)) == AnalysisPlan()


# --- in a study -----------------------------------------------------------------------------------
@pytest.fixture
def draft(db: None) -> ReaderStudy:
    return create_study(plan_for(make_questions(4), 4, analysis=PLANNED), actor=None, at=NOON)


def test_the_protocol_its_plan_and_a_copy_name_the_pairs(draft: ReaderStudy) -> None:
    study = freeze_study(draft, actor=None, at=NOON, salt="salt")
    written = [["Model A", "each reader"], ["R1", "R2"]]
    assert json.loads(study.protocol)["analysis"]["pairs"] == written
    document = json.loads(json.dumps(plan_document(plan_of(study))))
    assert document["analysis"]["pairs"] == written
    assert read_plan(document).analysis == PLANNED
    again = freeze_study(copy_study(study, actor=None, at=NOON), actor=None, at=NOON, salt="salt")
    assert json.loads(again.protocol)["analysis"] == json.loads(study.protocol)["analysis"]


def test_names_that_no_listed_model_has_are_worth_a_look(draft: ReaderStudy) -> None:
    def noted() -> list[str]:
        return [note for note in notes_of(draft, at=NOON) if "planned pairs" in note]

    [note] = noted()
    assert "so far: Model A. A name that" in note  # neither "each reader" nor what readers are called
    entry = ModelEntry.objects.create(name="Model", version="a", created_at=NOON)
    assert noted() == []
    entry.state = EntryState.WITHDRAWN
    entry.save()
    assert len(noted()) == 1
    draft.analysis = {"pairs": "nonsense"}
    assert noted() == []  # the problems name it
    assert set(GROUPS) == {"each reader", "each model"}


RUNS_PLANNED = AnalysisPlan(runs=(("Model A", "mean of all runs"), ("Model B 2", "run 12")))


def test_runs_come_back_from_json_and_from_lines_of_text() -> None:
    assert read_analysis(json.loads(json.dumps(RUNS_PLANNED.as_json()))) == RUNS_PLANNED
    assert runs_of_text(text_of(RUNS_PLANNED.runs)) == RUNS_PLANNED.runs
    assert runs_of_text("\n Model  A |Mean of  all runs\r\n\r\nModel B 2 | RUN 12 ") == RUNS_PLANNED.runs
    assert [run_number(said) for _name, said in RUNS_PLANNED.runs] == [None, 12]


def test_a_plan_without_runs_does_not_mention_them() -> None:
    assert "runs" not in AnalysisPlan().as_json()
    assert read_analysis({"runs": []}) == AnalysisPlan()


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ("Model A", "The runs are a list, each of two texts"),
        (None, "The runs are a list"),
        ([["A", "run 1"], "AB"], "Line 2: write the name of a model, one |, and “mean of all runs”, or “run 2”"),
        ([["A"]], "Line 1: write the name of a model"),
        ([["A", "run 1", "run 2"]], "Line 1: write the name of a model"),
        ([["A", "run 1"], ["", "run 1"]], "Line 2: a name is a text that is not empty."),
        ([[7, "run 1"]], "Line 1: a name is a text that is not empty."),
        ([["A|B", "run 1"]], "Line 1: a name has no |"),
        ([["Each model", "run 1"]], "Line 1: name one model, not “Each model”."),
        ([["A", "best run"]], "Line 1: “best run” is no run. Write “mean of all runs”, or “run 2” for the second."),
        ([["A", "run 0"]], "Line 1: “run 0” is no run."),
        ([["A", 2]], "Line 1: the run is missing. Write “mean of all runs”"),
        ([["A", "run 1"], ["B", "run 1"], [" a ", "run 2"]], "Line 3: “a” is on line 1 already."),
        ([[f"M{n}", "run 1"] for n in range(101)], "A plan names the runs of 100 models at the most; these are 101."),
    ],
)
def test_runs_that_cannot_be_say_which_and_what_would_do(runs: Any, sentence: str) -> None:
    with refuses(DesignRefused, "bad_runs") as refused:
        read_analysis({"runs": runs})
    assert (refused.value.field, str(refused.value).startswith(sentence)) == ("runs", True)
    with refuses(DesignRefused, "bad_runs") as in_plan:
        read_plan({"name": "Trial", "bank": "bank", "analysis": {"runs": runs}})
    assert in_plan.value.field == "analysis, runs"


def test_a_line_is_named_by_its_number_in_the_text() -> None:
    with pytest.raises(DesignRefused, match=r"^Line 4: “a” is on line 2 already"):
        runs_of_text("\nA | run 1\n\na | mean of all runs")
    with pytest.raises(DesignRefused, match=r"^Line 1: write the name of a model"):
        runs_of_text("Model A, run 2")
