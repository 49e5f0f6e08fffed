"""A plan goes into JSON and comes back the same, whatever it holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readerstudy.analysis.kernels.contrasts import NAMED as COMPUTED
from readerstudy.analysis.kernels.contrasts import is_planned
from readerstudy.design.kernels.analysis_plan import (
    FIXED_READERS,
    INFERENCES,
    PRIMARY,
    RANDOM_BOTH,
    AnalysisPlan,
    parts_read,
    read_analysis,
    with_choices,
)
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.documents import DesignRefused, Rules
from readerstudy.design.kernels.drawing import DrawRequest, Quota, cells_of, read_request, request_document
from readerstudy.design.kernels.plan import Plan, PlannedArm, PlannedCase, PlannedSet, plan_document, read_plan
from readerstudy.enums import Aid, Information
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
