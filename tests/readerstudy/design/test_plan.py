"""A plan goes into JSON and comes back the same, whatever it holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readerstudy.design.drawing import DrawRequest, Quota
from readerstudy.design.drawn import cells_of, read_request, request_document
from readerstudy.design.plan import Plan, PlannedArm, PlannedCase, PlannedSet, plan_document, read_plan
from readerstudy.design.planfields import PlanRefused
from readerstudy.design.rules import AnalysisPlan, Rules
from readerstudy.enums import Aid, Information

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
        margin=st.one_of(st.none(), st.floats(0.01, 0.5)),
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
    with pytest.raises(PlanRefused, match="draw, quotas 1"):
        read_request({"quotas": [quota]}, Rules())
