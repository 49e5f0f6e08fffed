"""A frozen study is changed by copying it; its protocol is a document that can be imported again."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.db import transaction
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.design.conflicts import note_study_keys
from readerstudy.design.creating import create_study, plan_of
from readerstudy.design.freezing import opening_of
from readerstudy.design.kernels.plan import plan_document
from readerstudy.models import ReaderStudy


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
