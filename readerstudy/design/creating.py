"""A plan becomes a study: one that was written, one that lists its cases, or that of another study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.models import QuestionBank, Revision, User
from annotation.site.sentences import free_slug, listed
from readerstudy.design.case_selection import (
    ALL_CASES,
    CaseSelection,
    ChosenCase,
    case_rows_of,
    preview_draw,
    resolve,
    store_case_rows,
)
from readerstudy.design.drafting import check_contact, check_name
from readerstudy.design.kernels.analysis_plan import proposed_analysis, read_analysis
from readerstudy.design.kernels.documents import Rules, read_rules, text_sha256
from readerstudy.design.kernels.drawing import drawn_document, read_request
from readerstudy.design.kernels.plan import Plan, PlannedArm, PlannedCase, PlannedSet
from readerstudy.design.questions import Name, accepted_among, contested_among, mates_of_patient
from readerstudy.enums import Aid, Block, Information
from readerstudy.models import Arm, ReaderStudy, StudyCase
from readerstudy.study.permissions import StudyRefused


@transaction.atomic
def create_study(plan: Plan, *, actor: User | None, at: datetime, copy_of: ReaderStudy | None = None) -> ReaderStudy:
    """A draft with its arms, sets and cases; cases are drawn where the plan asks for a draw and lists none.

    Refused for a name that is taken, an unknown or archived bank, cases that cannot be had and a draw that cannot be
    read; then nothing is stored.
    """
    bank = find_bank(plan.bank)
    name = check_name(plan.name)
    study = ReaderStudy.objects.create(
        name=name,
        slug=free_slug(name, among=ReaderStudy.objects.all(), otherwise="study"),
        bank=bank,
        copy_of=copy_of,
        seed=plan.seed,
        draw=dict(plan.draw),
        rules=plan.rules.as_json(),
        analysis=plan.analysis.as_json(),
        n_readers=plan.n_readers,
        n_orders=plan.n_orders,
        instructions=plan.instructions,
        consent=plan.consent,
        consent_version=plan.consent_version,
        contact=check_contact(plan.contact),
        deadline_at=plan.deadline_at,
        time_zone=plan.time_zone,
        simulated=bank.simulated if plan.simulated is None else plan.simulated,
        created_by=actor,
        created_at=at,
    )
    for number, arm in enumerate(plan.arms, 1):
        Arm.objects.create(study=study, number=number, information=arm.information, aid=arm.aid)
    store_case_rows(study, _selection(plan, study))
    facts = {"bank": bank.slug, "n_cases": study.cases.count(), "seed": study.seed}
    record("study.created", actor=actor, at=at, subject=study, facts=facts)
    return study


def find_bank(wanted: str) -> QuestionBank:
    """The bank at this address, by which plans name it, or else of this name.

    Raises StudyRefused where there is none, and for an archived one.
    """
    called = {bank.slug: bank for bank in QuestionBank.objects.filter(Q(name=wanted) | Q(slug=wanted))}
    bank = called.get(wanted) or next(iter(called.values()), None)
    if bank is None:
        names = ", ".join(QuestionBank.objects.values_list("name", flat=True)[:20]) or _("none so far")
        sentence = _("There is no bank named “%(name)s”. Banks: %(names)s.") % {"name": wanted, "names": names}
        raise StudyRefused("unknown_bank", sentence)
    if bank.archived_at is not None:
        raise StudyRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    return bank


def _selection(plan: Plan, study: ReaderStudy) -> CaseSelection:
    if plan.draw and not plan.cases:
        return _drawn(plan, study)
    found = resolve(study.bank, [case.question for case in (*plan.cases, *plan.practice)])
    _check_wording((*plan.cases, *plan.practice), found)
    whole: list[tuple[str, Sequence[int]]] = [(ALL_CASES, range(1, len(plan.cases) + 1))]
    for one in plan.sets:
        if not all(1 <= number <= len(plan.cases) for number in one.cases) or len(set(one.cases)) < len(one.cases):
            sentence = _("The set “%(name)s” names a case twice or one that is not there.") % {"name": one.name}
            raise StudyRefused("bad_set", sentence)
        if not 1 <= len(one.name) <= 60:
            sentence = _("The name of a set has 1 to 60 characters: “%(name)s”.") % {"name": one.name[:80]}
            raise StudyRefused("bad_set", sentence)
    return CaseSelection(
        [ChosenCase(found[case.question], case.accepted_because) for case in plan.cases],
        [ChosenCase(found[case.question], case.accepted_because) for case in plan.practice],
        [(one.name, one.cases) for one in plan.sets] or whole,
    )


def _drawn(plan: Plan, study: ReaderStudy) -> CaseSelection:
    if plan.practice or plan.sets:
        sentence = _("A plan that draws its cases draws practice block and sets as well: list neither.")
        raise StudyRefused("drawn_and_listed", sentence)
    request = read_request(plan.draw, plan.rules)
    reason = str(plan.draw.get("accepted_because") or "")
    drawing = preview_draw(study.bank, request, seed=plan.seed, accepted_because=reason)
    study.draw = drawn_document(request, drawing, reason)
    study.save(update_fields=["draw"])
    return case_rows_of(study.bank, drawing, reason)


def _check_wording(cases: Iterable[PlannedCase], found: dict[int | str, int]) -> None:
    """Raises StudyRefused where the bank holds another wording than the plan means."""
    revisions = Revision.objects.in_bulk(list(found.values()))
    other = []
    for case in cases:
        revision = revisions[found[case.question]]
        if case.text_sha256:
            differs = text_sha256(revision.stem, revision.options) != case.text_sha256
        else:
            differs = bool(case.revision) and case.revision != revision.number
        if differs:
            other.append(str(case.question))
    if other:
        sentence = _("The bank holds another wording of these questions than the plan means: %(names)s.")
        raise StudyRefused("other_wording", sentence % {"names": listed(other)})


def plan_of(study: ReaderStudy) -> Plan:
    """The plan that makes this study again: the same cases, sets, rules and seed."""
    rows = StudyCase.objects.filter(study=study).select_related("revision__question").order_by("number")
    cases = {block: tuple(_planned(row) for row in rows if row.block == block) for block in Block}
    through = StudyCase.sets.through.objects.filter(caseset__study=study)
    numbers: dict[int, list[int]] = {}
    for set_id, number in through.order_by("studycase__number").values_list("caseset_id", "studycase__number"):
        numbers.setdefault(set_id, []).append(number)
    return Plan(
        name=study.name,
        bank=study.bank.slug,
        seed=study.seed,
        cases=cases[Block.MAIN],
        practice=cases[Block.PRACTICE],
        draw=study.draw,
        sets=tuple(PlannedSet(one.name, tuple(numbers.get(one.pk, ()))) for one in study.sets.order_by("number")),
        arms=tuple(PlannedArm(Information(arm.information), Aid(arm.aid)) for arm in study.arms.order_by("number")),
        rules=read_rules(study.rules),
        analysis=read_analysis(study.analysis),
        n_readers=study.n_readers,
        n_orders=study.n_orders,
        instructions=study.instructions,
        consent=study.consent,
        consent_version=study.consent_version,
        contact=study.contact,
        deadline_at=study.deadline_at,
        time_zone=study.time_zone,
        simulated=study.simulated,
    )


def _planned(row: StudyCase) -> PlannedCase:
    revision = row.revision
    return PlannedCase(
        revision.question.number, revision.number, text_sha256(revision.stem, revision.options), row.accepted_because
    )


# --- copies of a study ----------------------------------------------------------------------------
@transaction.atomic
def copy_study(study: ReaderStudy, *, actor: User | None, at: datetime, name: str = "") -> ReaderStudy:
    """A draft with the same cases, sets, rules, texts and seed, under ``name`` or the next free one.

    Cases whose question was revised since come in the current wording. Raises StudyRefused as create_study does.
    """
    plan = plan_of(study)
    cases, practice = (
        [replace(case, revision=None, text_sha256="") for case in block] for block in (plan.cases, plan.practice)
    )
    chosen = name.strip() or next_free_name(study.name)
    plan = replace(plan, name=chosen, cases=tuple(cases), practice=tuple(practice))
    return create_study(plan, actor=actor, at=at, copy_of=study)


def next_free_name(name: str) -> str:
    """ "Trial" becomes "Trial (2)", which becomes "Trial (3)"."""
    stem, bracket, number = name.removesuffix(")").rpartition(" (")
    if not (bracket and name.endswith(")") and number.isdigit()):
        stem = name
    taken = set(ReaderStudy.objects.filter(name__startswith=stem[:190]).values_list("name", flat=True))
    place = 2
    while f"{stem[:190]} ({place})" in taken:
        place += 1
    return f"{stem[:190]} ({place})"


# --- a study of cases that somebody lists by name, as the command line does -----------------------
def plan_of_list(
    bank: QuestionBank,
    names: Sequence[Name],
    *,
    name: str,
    source: str,
    practice: Sequence[Name] = (),
    accept_reason: str = "",
    seed: int = 1,
    n_readers: int = 3,
) -> Plan:
    """A plan for these questions. Raises StudyRefused, naming what is wrong.

    A question that no round judged is used because it is listed, and the reason says so. One that was judged and not
    accepted needs ``accept_reason``. Where a patient has several of the questions, the rules allow it: whoever
    lists cases has chosen them.
    """
    found = resolve(bank, [*names, *practice])
    accepted = accepted_among(found.values())
    against = contested_among(found.values())
    contested = [str(name) for name, pk in found.items() if pk in against]
    if contested and not accept_reason.strip():
        sentence = _("Reviews do not accept these questions: %(names)s. Leave them out, or give a reason to use them.")
        raise StudyRefused("not_accepted", sentence % {"names": listed(contested)})
    reason = accept_reason.strip() or _("listed in %(file)s; not reviewed") % {"file": source}

    def planned(one: Name) -> PlannedCase:
        return PlannedCase(one, accepted_because="" if found[one] in accepted else reason)

    several = mates_of_patient(bank, [found[one] for one in names])
    return Plan(
        name=name,
        bank=bank.slug,
        seed=seed,
        cases=tuple(planned(one) for one in names),
        practice=tuple(planned(one) for one in practice),
        rules=Rules(several_per_patient=bool(several)),
        analysis=proposed_analysis(n_readers),
        n_readers=n_readers,
    )
