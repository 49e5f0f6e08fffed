"""A draft becomes a protocol: orders are drawn and stored, what is shown is hashed, keys go behind a commitment."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.case.kernels import display
from annotation.models import AnswerKey, QuestionBank, User
from annotation.models.fields import public_id
from annotation.questionbank.bulk import insert_rows
from annotation.site.sorted_tables import analyze
from readerstudy.design.checking import FROZEN, READ, check_indications_read, problems_of
from readerstudy.design.conflicts import note_study_keys
from readerstudy.design.creating import plan_of
from readerstudy.design.drafting import forecast_document
from readerstudy.design.kernels.analysis_plan import read_analysis, with_choices
from readerstudy.design.kernels.documents import FORMAT, Rules, canonical, commitment, read_rules, sha256_of
from readerstudy.design.kernels.drawing import cells_of
from readerstudy.design.kernels.ordering import (
    LETTERS,
    RULE,
    Purpose,
    branch,
    draw_orders,
    group_size,
    orders_needed,
    shown_order,
)
from readerstudy.design.kernels.plan import plan_document
from readerstudy.design.shown import hash_of, shown_now
from readerstudy.enums import Block, StudyState
from readerstudy.models import CaseSet, PresentationOrder, PresentedCase, ReaderStudy, ShownImage, StudyCase
from readerstudy.study.permissions import StudyRefused, check_draft, check_not_archived, lock_study

_PRESENTED = ("public_id", "order_id", "block", "position", "case_id", "options")


@transaction.atomic
def freeze_study(
    study: ReaderStudy,
    *,
    actor: User | None,
    at: datetime,
    seen: str = "",
    indications_read: str = "",
    read_elsewhere: bool = False,
    salt: str = "",
) -> ReaderStudy:
    """From now on nothing of the design changes. Raises StudyRefused with everything that blocks it.

    Draws and stores the orders of every set, hashes what each case shows, and writes the protocol with its hash and
    with what was forecast, under which assumptions, and who made them.
    ``seen``: the hash of the design that the actor looked at; where it is another by now, it is refused.
    ``indications_read`` is the actor's statement that those with this hash were read and none gives an answer away;
    where the arm shows indications it is needed. ``read_elsewhere``: its readings are imported, so that nobody misses
    images that are not here; it opens only with all of them. ``salt`` is for tests; otherwise it is made here.
    """
    lock_study(study)
    QuestionBank.objects.select_for_update().get(pk=study.bank_id)
    check_draft(study)
    check_not_archived(study)
    problems = problems_of(study, read_elsewhere=read_elsewhere)
    if problems:
        raise StudyRefused("has_problems", " ".join(problems))
    if seen and seen != design_sha256(study):
        raise StudyRefused(
            "changed_meanwhile",
            _("Somebody changed the design since you opened this page. Look at it again; it was not frozen."),
        )
    were_read = check_indications_read(study, indications_read)
    cases = keep_shown(study)
    study.n_orders = orders_needed(study.n_readers, study.n_orders)
    study.analysis = with_choices(read_analysis(study.analysis)).as_json()
    rule = order_rule_of(study)
    _store_orders(study, cases, rule)
    study.keys_salt = salt or secrets.token_hex(32)
    statement: dict[str, Any] = {"indications_read_at": at.isoformat()} if were_read else {}
    if read_elsewhere:
        statement["read_elsewhere"] = True
    promised = {"forecast": forecast_document(study, actor=actor, at=at)}
    study.protocol = canonical({**protocol_of(study, cases), **statement, **promised})
    study.protocol_sha256 = sha256_of(study.protocol)
    study.state, study.frozen_at = StudyState.FROZEN, at
    columns = ["n_orders", "analysis", "keys_salt", "protocol", "protocol_sha256", "state", "frozen_at"]
    study.save(update_fields=columns)
    facts = {"protocol_sha256": study.protocol_sha256, "n_cases": len(cases), "n_orders": study.n_orders, "rule": rule}
    record(FROZEN, actor=actor, at=at, subject=study, facts={**facts, READ: True} if were_read else facts)
    return study


def design_sha256(study: ReaderStudy) -> str:
    """Of everything that a plan of the study says: by this a change between looking and freezing is noticed."""
    return sha256_of(canonical(plan_document(plan_of(study))))


def keep_shown(study: ReaderStudy) -> list[StudyCase]:
    """Store what each case shows its readers, with its hash: from now on they get this."""
    cases = list(study.cases.select_related("revision__question").order_by("block", "number"))
    shown = shown_now(study, cases)
    for case in cases:
        case.information = shown[case.pk].information
        case.shown_sha256 = hash_of(case, shown[case.pk])
    StudyCase.objects.bulk_update(cases, ["information", "shown_sha256"], batch_size=500)
    ShownImage.objects.bulk_create((one for case in cases for one in shown[case.pk].images), batch_size=500)
    analyze(len(cases), ShownImage)
    return cases


def order_rule_of(study: ReaderStudy) -> str:
    """Of a copy the rule that drew the orders of what it copies: the same design and seed have the same orders."""
    copied = study.copy_of
    while copied is not None:
        drawn_by = copied.orders.values_list("rule", flat=True).first()
        if drawn_by:
            return drawn_by
        copied = copied.copy_of
    return RULE


def _store_orders(study: ReaderStudy, cases: Sequence[StudyCase], rule: str) -> None:
    """The practice block first, the same for everybody, then the main block of the set in the order drawn."""
    arm, rules = study.arms.get(), read_rules(study.rules)
    by_number = {case.number: case for case in cases if case.block == Block.MAIN}
    practice = [case for case in cases if case.block == Block.PRACTICE]
    sets = list(study.sets.order_by("number"))
    group = group_size(study.n_readers, len(sets))
    for case_set in sets:
        numbers = list(case_set.cases.values_list("number", flat=True))
        drawn = draw_orders(
            numbers, n_orders=study.n_orders, group=group, seed=study.seed, stream=case_set.number, rule=rule
        )
        orders = PresentationOrder.objects.bulk_create(
            PresentationOrder(study=study, arm=arm, case_set=case_set, number=number, rule=rule)
            for number in range(1, study.n_orders + 1)
        )
        places = [
            (public_id(), order.pk, str(block), position, case.pk, _options(study, rules, case_set, order.number, case))
            for order, main in zip(orders, drawn, strict=True)
            for block, chosen in ((Block.PRACTICE, practice), (Block.MAIN, [by_number[number] for number in main]))
            for position, case in enumerate(chosen, 1)
        ]
        insert_rows(PresentedCase, _PRESENTED, places)
        analyze(len(places), PresentedCase)


def _options(study: ReaderStudy, rules: Rules, case_set: CaseSet, order: int, case: StudyCase) -> str:
    """The options of a place. In the practice block they have one order for everybody, as its cases do."""
    if not rules.shuffle_options:
        return LETTERS
    path = (0, 0, case.number) if case.block == Block.PRACTICE else (case_set.number, order, case.number)
    return shown_order(case.revision.stem, case.revision.options, branch(study.seed, Purpose.OPTIONS, *path))


def protocol_of(study: ReaderStudy, cases: Sequence[StudyCase]) -> dict[str, Any]:
    """What the hash covers. No key, explanation, task or difficulty of a case: these are covered by the commitment."""
    return {
        "format": FORMAT,
        "study": study.name,
        "bank": study.bank.name,
        "simulated": study.simulated,
        "seed": study.seed,
        "draw": {name: value for name, value in study.draw.items() if name not in ("cells", "n_pool")},
        "arms": [
            {"number": arm.number, "information": arm.information, "aid": arm.aid}
            for arm in study.arms.order_by("number")
        ],
        "cases": [_case_entry(case) for case in cases],
        "sets": [
            {
                "number": one.number,
                "name": one.name,
                "cases": list(one.cases.order_by("number").values_list("number", flat=True)),
            }
            for one in study.sets.order_by("number")
        ],
        "order_rule": {"name": order_rule_of(study), "group": group_size(study.n_readers, study.sets.count())},
        "orders": _order_entries(study),
        "n_readers": study.n_readers,
        "n_orders": study.n_orders,
        "rules": read_rules(study.rules).as_json(),
        "display_check": display.PROTOCOL,
        "analysis": read_analysis(study.analysis).as_json(),
        "instructions": study.instructions,
        "consent": study.consent,
        "consent_version": study.consent_version,
        "contact": study.contact,
        "keys_commitment": commitment(study.keys_salt, sealed_of(study)),
    }


def _case_entry(case: StudyCase) -> dict[str, Any]:
    entry = {
        "block": case.block,
        "number": case.number,
        "question": case.revision.question.number,
        "revision": case.revision.number,
        "shown_sha256": case.shown_sha256,
    }
    return {**entry, "accepted_because": case.accepted_because} if case.accepted_because else entry


def _order_entries(study: ReaderStudy) -> list[dict[str, Any]]:
    """Each order as the numbers of its main cases; the options of its places only where some are shuffled."""
    places: dict[int, list[tuple[int, str]]] = {}
    rows = PresentedCase.objects.filter(order__study=study, block=Block.MAIN).order_by("order", "position")
    for order_id, number, options in rows.values_list("order_id", "case__number", "options"):
        places.setdefault(order_id, []).append((number, options))
    entries = []
    for order in study.orders.select_related("case_set", "arm").order_by("case_set__number", "number"):
        mine = places.get(order.pk, [])
        entry: dict[str, Any] = {
            "set": order.case_set.number,
            "arm": order.arm.number,
            "number": order.number,
            "cases": [number for number, _options in mine],
        }
        if any(options != LETTERS for _number, options in mine):
            entry["options"] = [options for _number, options in mine]
        entries.append(entry)
    return entries


def sealed_of(study: ReaderStudy) -> dict[str, Any]:
    """What the commitment holds: key, explanation, task, category and difficulty of each case, and the cells drawn."""
    cases = list(study.cases.select_related("revision__question").order_by("block", "number"))
    truths = AnswerKey.objects.in_bulk([case.revision_id for case in cases])
    return {
        "cases": [
            {
                "block": case.block,
                "number": case.number,
                "question": case.revision.question.number,
                "key": truths[case.revision_id].key,
                "explanation_sha256": sha256_of(truths[case.revision_id].explanation),
                "task": case.revision.task,
                "category": case.revision.category,
                "difficulty": case.revision.difficulty,
            }
            for case in cases
        ],
        "cells": [[cell.task, cell.difficulty, cell.n_pool, cell.n_drawn] for cell in cells_of(study.draw)],
    }


def commitment_holds(study: ReaderStudy) -> bool:
    """Whether protocol and keys are those that were frozen: the hash fits, and the salt opens the commitment."""
    if not study.protocol or sha256_of(study.protocol) != study.protocol_sha256:
        return False
    promised: str = json.loads(study.protocol)["keys_commitment"]
    return commitment(study.keys_salt, sealed_of(study)) == promised


def opening_of(study: ReaderStudy) -> Mapping[str, Any] | None:
    """Salt and sealed content of a study that is closed: with these anybody can check the commitment. None before."""
    if study.state not in (StudyState.CLOSED, StudyState.ANALYSED):
        return None
    return {"salt": study.keys_salt, "sealed": sealed_of(study), "holds": commitment_holds(study)}


@transaction.atomic
def take_protocol(study: ReaderStudy, *, actor: User, at: datetime) -> str:
    """The frozen protocol as it was hashed, to be kept; empty for a draft."""
    if study.protocol:
        facts = {"protocol_sha256": study.protocol_sha256}
        record("study.protocol_taken", actor=actor, at=at, subject=study, facts=facts)
    return study.protocol


@transaction.atomic
def export_protocol(study: ReaderStudy, *, actor: User | None, at: datetime) -> dict[str, Any]:
    """The plan; for a frozen study also the protocol and its hash; for a closed one what opens the commitment."""
    document: dict[str, Any] = {**plan_document(plan_of(study)), "state": study.state, "exported_at": at.isoformat()}
    if study.protocol:
        document["protocol"] = json.loads(study.protocol)
        document["protocol_sha256"] = study.protocol_sha256
    opening = opening_of(study)
    if opening is not None:
        document["opening"] = dict(opening)
        note_study_keys(study, actor=actor, at=at)
    facts = {"protocol_sha256": study.protocol_sha256, "opened": opening is not None}
    record("study.protocol_exported", actor=actor, at=at, subject=study, facts=facts)
    return document
