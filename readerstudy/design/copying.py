"""A frozen study is changed by copying it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.db import transaction

from annotation.models import User
from readerstudy.design.creating import create_study, plan_of
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
