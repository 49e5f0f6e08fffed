"""What a coordinator changes in a draft, each change in the audit log; a frozen study refuses all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotation.enums import Role
from annotation.models import AuditEvent, User
from annotation.people.invitations import Grant, store_link
from readerstudy.design.case_selection import draw_cases, list_cases
from readerstudy.design.checking import problems_of
from readerstudy.design.creating import create_study
from readerstudy.design.drafting import (
    update_analysis,
    update_arm,
    update_readers,
    update_rules,
    update_seed,
    update_texts,
)
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.design.kernels.documents import Rules, read_rules
from readerstudy.design.kernels.drawing import DrawRequest, Quota
from readerstudy.enrolment.inviting import KIND
from readerstudy.enums import Block, Information
from readerstudy.models import CaseSet, ReaderStudy, StudyInvitation
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON
from tests.readerstudy.design.made import REASON, make_questions, plan_for, same_patient

pytestmark = pytest.mark.django_db
Change = Callable[[ReaderStudy, User], Any]


def draft(n: int = 4, **fields: Any) -> ReaderStudy:
    return create_study(plan_for(make_questions(12), n, **fields), actor=None, at=NOON)


CHANGES: dict[str, Change] = {
    "rules": lambda study, who: update_rules(study, Rules(confidence=True), actor=who, at=NOON),
    "analysis": lambda study, who: update_analysis(study, AnalysisPlan(notes="More."), actor=who, at=NOON),
    "readers": lambda study, who: update_readers(study, n_readers=5, actor=who, at=NOON),
    "seed": lambda study, who: update_seed(study, 99, actor=who, at=NOON),
    "texts": lambda study, who: update_texts(study, {"instructions": "Read."}, actor=who, at=NOON),
    "arm": lambda study, who: update_arm(study, information=Information.AGE_SEX, actor=who, at=NOON),
    "list": lambda study, who: list_cases(study, [1, 2], actor=who, at=NOON, accepted_because=REASON),
    "draw": lambda study, who: draw_cases(study, DrawRequest(n=2), actor=who, at=NOON, accepted_because=REASON),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_draft_takes_a_change_and_a_frozen_study_refuses_it(change: Change, cora: User) -> None:
    study = draft()
    change(study, cora)
    assert AuditEvent.objects.filter(act__startswith="study.", actor=cora).count() == 1
    freeze_study(study, actor=None, at=NOON)
    with pytest.raises(StudyRefused, match="is frozen and cannot change: copy it instead"):
        change(study, cora)
    assert AuditEvent.objects.filter(act__startswith="study.", actor=cora).count() == 1


def test_what_is_the_same_changes_nothing(cora: User) -> None:
    study = draft()
    update_rules(study, Rules(quiet_ms=300), actor=cora, at=NOON)
    update_readers(study, n_readers=3, actor=cora, at=NOON)
    assert not AuditEvent.objects.filter(actor=cora).exists()


def test_rules_stand_as_they_were_given(cora: User) -> None:
    study = draft()
    rules = Rules(time_limit_s=90, hidden_tools=("zoom",))
    update_rules(study, rules, actor=cora, at=NOON)
    assert read_rules(ReaderStudy.objects.get().rules) == rules


def test_another_consent_is_another_version(cora: User) -> None:
    study = draft()
    versions = []
    for text in ("You take part.", "You take part.", "You take part, unpaid."):
        update_texts(study, {"consent": text}, actor=cora, at=NOON)
        versions.append(study.consent_version)
    assert versions == [1, 1, 2]


def test_names_stay_different_and_texts_fit(cora: User) -> None:
    study = draft()
    other = create_study(plan_for(study.bank, 1, name="Other"), actor=None, at=NOON)
    for name, words in (("Trial", "exists already"), (" ", "Give the study a name"), ("x" * 201, "longer than 200")):
        with pytest.raises(StudyRefused, match=words):
            update_texts(other, {"name": name}, actor=cora, at=NOON)
    with pytest.raises(StudyRefused, match="The contact is longer"):
        update_texts(other, {"contact": "x" * 201}, actor=cora, at=NOON)
    update_texts(other, {"name": " Third "}, actor=cora, at=NOON)
    assert ReaderStudy.objects.get(pk=other.pk).name == "Third"


@pytest.mark.parametrize(("n_readers", "n_orders"), [(0, 0), (501, 0), (3, 2001)])
def test_numbers_of_readers_and_orders_have_bounds(n_readers: int, n_orders: int, cora: User) -> None:
    with pytest.raises(StudyRefused, match="1 to 500 readers"):
        update_readers(draft(), n_readers=n_readers, n_orders=n_orders, actor=cora, at=NOON)


def test_a_draw_stores_what_was_asked_and_what_came(cora: User) -> None:
    study = draft()
    request = DrawRequest(n=6, quotas=(Quota(2, task="geometric"),), n_practice=2, n_sets=2, n_shared=2)
    draw_cases(study, request, actor=cora, at=NOON, seed=5, accepted_because=REASON)
    study.refresh_from_db()
    assert (study.seed, study.draw["n"], study.draw["n_pool"]) == (5, 6, 12)
    assert sum(drawn for _task, _difficulty, _pool, drawn in study.draw["cells"]) == 6
    assert [study.cases.filter(block=block).count() for block in (Block.MAIN, Block.PRACTICE)] == [6, 2]
    assert [one.cases.count() for one in study.sets.all()] == [4, 4]
    assert set(study.cases.values_list("accepted_because", flat=True)) == {REASON}
    assert problems_of(study) == []


def test_a_draw_follows_the_rule_about_patients(cora: User) -> None:
    study = draft()
    same_patient(study.bank, *range(1, 9))
    with pytest.raises(StudyRefused, match="With one question per patient"):
        draw_cases(study, DrawRequest(n=12), actor=cora, at=NOON, accepted_because=REASON)
    assert study.cases.count() == 4
    update_rules(study, Rules(several_per_patient=True), actor=cora, at=NOON)
    draw_cases(study, DrawRequest(n=12), actor=cora, at=NOON, accepted_because=REASON)
    assert study.cases.count() == 12


def test_only_accepted_questions_are_drawn_without_a_reason(cora: User) -> None:
    with pytest.raises(StudyRefused, match="only 0 questions qualify"):
        draw_cases(draft(), DrawRequest(n=2), actor=cora, at=NOON)


def test_a_set_that_somebody_is_invited_to_stays(cora: User) -> None:
    study = draft()
    draw_cases(study, DrawRequest(n=6, n_sets=2), actor=cora, at=NOON, accepted_because=REASON)
    second = study.sets.get(number=2)
    issued = store_link([Grant(Role.READER)], email="", name="", actor=cora, at=NOON, kind=KIND)
    StudyInvitation.objects.create(invitation=issued.invitation, study=study, case_set=second)
    with pytest.raises(StudyRefused, match="revoke the invitation first"):
        list_cases(study, [1], actor=cora, at=NOON, accepted_because=REASON)
    draw_cases(study, DrawRequest(n=8, n_sets=2), actor=cora, at=NOON, accepted_because=REASON)
    assert CaseSet.objects.get(pk=second.pk).cases.count() == 4
