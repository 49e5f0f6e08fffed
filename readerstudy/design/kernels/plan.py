"""A plan of a study as a document: what ``create_study`` reads and ``export_protocol`` writes. Pure."""

from __future__ import annotations

import zoneinfo
from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR, datetime
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, field
from msgspec.structs import asdict

from annotation.statistics.kernels.sampling import SEED_MAX
from readerstudy.design.kernels.analysis_plan import AnalysisPlan, proposed_analysis, read_new_analysis
from readerstudy.design.kernels.documents import (
    QUIET_MS,
    DesignRefused,
    Document,
    Rules,
    Text,
    decode,
    read_rules,
    within,
)
from readerstudy.design.kernels.drawing import read_request
from readerstudy.enums import Aid, Information

FORMAT = "reader-study-plan 1"
N_READERS = 3  # where a plan does not say
Number = Annotated[int, Meta(ge=1, le=SEED_MAX)]


class PlannedCase(Document, frozen=True):
    """A question by its number in the bank, or by its key at the source; which wording of it, where one is given."""

    question: Number | Annotated[Text, Meta(min_length=1)]
    revision: Annotated[int, Meta(ge=0, le=SEED_MAX)] | None = None
    text_sha256: Text = ""  # readerstudy.design.kernels.documents.text_sha256: refused where the bank's is another
    accepted_because: Text = ""


class PlannedArm(Document, frozen=True):
    information: Information = Information.NONE
    aid: Aid = Aid.NONE


class PlannedSet(Document, frozen=True):
    name: Text
    cases: tuple[Number, ...]  # numbers of main cases, from 1


class Plan(Document, frozen=True, kw_only=True):
    """Everything that a coordinator decides. ``cases`` empty and ``draw`` given: the cases are still to be drawn."""

    name: Text
    bank: Text
    seed: Annotated[int, Meta(ge=0, le=SEED_MAX)] = 1
    cases: tuple[PlannedCase, ...] = ()
    practice: tuple[PlannedCase, ...] = ()
    draw: dict[str, Any] = {}  # drawing.py: asked for, and what came of it
    sets: tuple[PlannedSet, ...] = ()  # empty: one set of all cases
    arms: tuple[PlannedArm, ...] = (PlannedArm(),)
    rules: Rules = Rules(quiet_ms=QUIET_MS)
    analysis: AnalysisPlan = field(default_factory=partial(proposed_analysis, N_READERS))
    n_readers: Annotated[int, Meta(ge=1, le=500)] = N_READERS
    n_orders: Annotated[int, Meta(ge=0, le=2000)] = 0  # of each set; 0: twice the readers
    instructions: Text = ""
    consent: Text = ""
    consent_version: Annotated[int, Meta(ge=1, le=32_000)] = 1
    contact: Text = ""
    deadline_at: datetime | None = None
    time_zone: Text = "UTC"
    simulated: bool | None = None  # None: as the bank


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan as JSON; ``read_plan`` makes the same plan of it."""
    return {
        "format": FORMAT,
        **asdict(plan),
        "cases": [_case_document(case) for case in plan.cases],
        "practice": [_case_document(case) for case in plan.practice],
        "draw": dict(plan.draw),
        "sets": [{"name": one.name, "cases": list(one.cases)} for one in plan.sets],
        "arms": [{"information": str(arm.information), "aid": str(arm.aid)} for arm in plan.arms],
        "rules": plan.rules.as_json(),
        "analysis": plan.analysis.as_json(),
        "deadline_at": plan.deadline_at.isoformat() if plan.deadline_at else None,
    }


def _case_document(case: PlannedCase) -> dict[str, Any]:
    return {name: value for name, value in asdict(case).items() if value}


# What an exported plan carries beside the plan: it says what the study became, and is not read back.
BESIDE = frozenset({"state", "protocol", "protocol_sha256", "exported_at", "opening"})
READ_APART = ("rules", "analysis", "deadline_at")


def read_plan(document: object) -> Plan:
    """A plan from JSON; what is not named keeps its default. Refused with the place of what is wrong before it."""
    try:
        return _read(document)
    except DesignRefused as refusal:
        sentence = f"{refusal.field}: {refusal.sentence}" if refusal.field else refusal.sentence
        raise DesignRefused(refusal.code, sentence, field=refusal.field) from refusal


def _read(document: object) -> Plan:
    given = dict(document) if isinstance(document, Mapping) else {}
    if given.pop("format", FORMAT) != FORMAT:
        raise DesignRefused("other_format", f"This is not a plan of the form “{FORMAT}”.", field="format")
    apart = {name: given.pop(name) for name in READ_APART if name in given}
    for block in ("cases", "practice"):
        if isinstance(given.get(block), list):
            given[block] = [_as_object(case) for case in given[block]]
    plain = {name: value for name, value in given.items() if name not in BESIDE}
    plan = decode(plain if isinstance(document, Mapping) else document, Plan)
    if plan.time_zone not in zoneinfo.available_timezones():
        sentence = "A name of a time zone is expected, such as Europe/Zurich."
        raise DesignRefused("bad_value", sentence, field="time_zone")
    with within("rules"):
        rules = read_rules(_object(apart.get("rules", {"quiet_ms": QUIET_MS})))
    if plan.draw:
        read_request(plan.draw, rules)
    with within("analysis"):
        analysis = read_new_analysis(_object(apart.get("analysis", {})), n_readers=plan.n_readers)
    with within("deadline_at"):
        deadline_at = _moment(apart.get("deadline_at"))
    more = {"rules": rules, "analysis": analysis, "deadline_at": deadline_at, "arms": plan.arms or (PlannedArm(),)}
    return Plan(**{**asdict(plan), **more})


def _as_object(case: object) -> object:
    """A question alone means a case of which nothing else is given."""
    named = {"question": case} if isinstance(case, int | str) else case
    if isinstance(named, dict) and isinstance(question := named.get("question"), str):
        return {**named, "question": question.strip()}
    return named


def _object(found: object) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise DesignRefused("bad_value", "An object with named values is expected.")
    return found


def _moment(found: object) -> datetime | None:
    if found is None:
        return None
    try:
        read = datetime.fromisoformat(str(found))
    except ValueError:
        raise DesignRefused("bad_value", "A moment is expected, such as 2027-01-31T18:00:00+01:00.") from None
    if read.tzinfo is None:
        raise DesignRefused("bad_value", "Say the offset from UTC, as in 2027-01-31T18:00:00+01:00.")
    if not MINYEAR < read.year < MAXYEAR:
        raise DesignRefused("bad_value", "Choose another year: in some time zone this one is no date.")
    return read
