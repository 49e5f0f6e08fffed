"""A plan of a study as a document: what ``create_study`` reads and ``export_protocol`` writes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from readerstudy.design.kernels.drawn import read_request
from readerstudy.design.kernels.planfields import PlanRefused, Reader, reading
from readerstudy.design.kernels.rules import AnalysisPlan, Rules, proposed_analysis, read_new_analysis, read_rules
from readerstudy.enums import Aid, Information

FORMAT = "reader-study-plan 1"
N_READERS = 3  # where a plan does not say


@dataclass(frozen=True)
class PlannedCase:
    """A question by its number in the bank, or by its key at the source; which wording of it, where that is said."""

    question: int | str
    revision: int | None = None
    text_sha256: str = ""  # readerstudy.design.kernels.protocol.text_sha256: refused where the bank has another wording
    accepted_because: str = ""


@dataclass(frozen=True)
class PlannedArm:
    information: Information = Information.NONE
    aid: Aid = Aid.NONE


@dataclass(frozen=True)
class PlannedSet:
    name: str
    cases: tuple[int, ...]  # numbers of main cases, from 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that a coordinator decides. ``cases`` empty and ``draw`` given: the cases are still to be drawn."""

    name: str
    bank: str
    seed: int = 1
    cases: tuple[PlannedCase, ...] = ()
    practice: tuple[PlannedCase, ...] = ()
    draw: Mapping[str, Any] = field(default_factory=dict)  # drawn.py: asked for, and what came of it
    sets: tuple[PlannedSet, ...] = ()  # empty: one set of all cases
    arms: tuple[PlannedArm, ...] = (PlannedArm(),)
    rules: Rules = field(default_factory=Rules)
    analysis: AnalysisPlan = field(default_factory=partial(proposed_analysis, N_READERS))
    n_readers: int = N_READERS
    n_orders: int = 0  # of each set; 0: twice the readers
    instructions: str = ""
    consent: str = ""
    consent_version: int = 1
    contact: str = ""
    deadline_at: datetime | None = None
    time_zone: str = "UTC"
    simulated: bool | None = None  # None: as the bank


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan as JSON; ``read_plan`` makes the same plan of it."""
    return {
        "format": FORMAT,
        "name": plan.name,
        "bank": plan.bank,
        "seed": plan.seed,
        "cases": [_case_document(case) for case in plan.cases],
        "practice": [_case_document(case) for case in plan.practice],
        "draw": dict(plan.draw),
        "sets": [{"name": one.name, "cases": list(one.cases)} for one in plan.sets],
        "arms": [{"information": str(arm.information), "aid": str(arm.aid)} for arm in plan.arms],
        "rules": plan.rules.as_json(),
        "analysis": plan.analysis.as_json(),
        "n_readers": plan.n_readers,
        "n_orders": plan.n_orders,
        "instructions": plan.instructions,
        "consent": plan.consent,
        "consent_version": plan.consent_version,
        "contact": plan.contact,
        "deadline_at": plan.deadline_at.isoformat() if plan.deadline_at else None,
        "time_zone": plan.time_zone,
        "simulated": plan.simulated,
    }


def _case_document(case: PlannedCase) -> dict[str, Any]:
    parts = {"revision": case.revision, "text_sha256": case.text_sha256, "accepted_because": case.accepted_because}
    return {"question": case.question, **{name: value for name, value in parts.items() if value}}


# What an exported plan carries beside the plan: it says what the study became, and is not read back.
BESIDE = frozenset({"state", "protocol", "protocol_sha256", "exported_at", "opening"})


def read_plan(document: object) -> Plan:
    """A plan from JSON; what is not named keeps its default. Raises PlanRefused, which names the place."""
    reader = Reader(document, "")
    if reader.text("format", FORMAT) != FORMAT:
        raise PlanRefused("format", f"This is not a plan of the form “{FORMAT}”.")
    known = {*Plan.__dataclass_fields__, "format"} | BESIDE
    reader.refuse_others(known)
    rules, draw = reading("rules", read_rules, reader.mapping("rules")), reader.mapping("draw")
    n_readers = reader.number("n_readers", N_READERS, least=1, most=500)
    if draw:
        read_request(draw, rules)
    return Plan(
        name=reader.text("name"),
        bank=reader.text("bank"),
        seed=reader.number("seed", 1, least=0),
        cases=tuple(_read_case(one) for one in reader.items("cases")),
        practice=tuple(_read_case(one) for one in reader.items("practice")),
        draw=draw,
        sets=tuple(_read_set(one) for one in reader.items("sets")),
        arms=tuple(_read_arm(one) for one in reader.items("arms")) or (PlannedArm(),),
        rules=rules,
        analysis=reading("analysis", partial(read_new_analysis, n_readers=n_readers), reader.mapping("analysis")),
        n_readers=n_readers,
        n_orders=reader.number("n_orders", 0, least=0, most=2000),
        instructions=reader.text("instructions", ""),
        consent=reader.text("consent", ""),
        consent_version=reader.number("consent_version", 1, least=1, most=32_000),
        contact=reader.text("contact", ""),
        deadline_at=reader.moment("deadline_at"),
        time_zone=reader.time_zone("time_zone"),
        simulated=reader.truth("simulated"),
    )


def _read_case(reader: Reader) -> PlannedCase:
    if isinstance(reader.data, int | str):
        return PlannedCase(reader.question(reader.data))
    reader.refuse_others({"question", "revision", "text_sha256", "accepted_because"})
    return PlannedCase(
        question=reader.question(reader.value("question")),
        revision=reader.number("revision", 0, least=0) or None,
        text_sha256=reader.text("text_sha256", ""),
        accepted_because=reader.text("accepted_because", ""),
    )


def _read_set(reader: Reader) -> PlannedSet:
    reader.refuse_others({"name", "cases"})
    return PlannedSet(reader.text("name"), tuple(reader.numbers("cases")))


def _read_arm(reader: Reader) -> PlannedArm:
    reader.refuse_others({"information", "aid"})
    information, aid = reader.text("information", Information.NONE), reader.text("aid", Aid.NONE)
    if information not in Information.values():
        raise PlanRefused(reader.at("information"), f"One of: {', '.join(Information.values())}.")
    if aid not in Aid.values():
        raise PlanRefused(reader.at("aid"), f"One of: {', '.join(Aid.values())}.")
    return PlannedArm(Information(information), Aid(aid))
