"""A draft changes and is frozen: each change in the audit log, and afterwards nothing of its design changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from annotation.case.kernels.display import CONDITIONS, RULE
from annotation.enums import Role
from annotation.models import AnswerKey, AuditEvent, User
from annotation.people.invitations import Grant, store_link
from readerstudy.conducting.lifecycle import close_study
from readerstudy.design import freezing
from readerstudy.design.case_selection import draw_cases, list_cases
from readerstudy.design.checking import problems_of
from readerstudy.design.creating import copy_study, create_study, plan_of
from readerstudy.design.drafting import (
    update_analysis,
    update_arm,
    update_readers,
    update_rules,
    update_seed,
    update_texts,
)
from readerstudy.design.freezing import commitment_holds, freeze_study, opening_of
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.design.kernels.documents import Rules, canonical, read_rules, sha256_of
from readerstudy.design.kernels.drawing import DrawRequest, Quota
from readerstudy.design.kernels.plan import plan_document, read_plan
from readerstudy.enrolment.inviting import KIND
from readerstudy.enums import Block, Information, StudyState
from readerstudy.models import CaseSet, PresentedCase, ReaderStudy, StudyInvitation
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON, SECRETS
from tests.readerstudy.design.made import REASON, make_questions, plan_for, revision_of, same_patient

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


# --- frozen ----------------------------------------------------------------------------------------
def freeze(plan_n: int = 4, **fields: Any) -> ReaderStudy:
    bank = make_questions(8)
    study = create_study(plan_for(bank, plan_n, practice=(7, 8), **fields), actor=None, at=NOON)
    return freeze_study(study, actor=None, at=NOON, salt="salt")


def test_every_order_has_the_practice_block_and_then_all_cases() -> None:
    study = freeze(n_readers=3)
    assert study.state == StudyState.FROZEN
    assert study.orders.count() == 6
    for order in study.orders.all():
        places = list(order.places.all())
        assert [place.case.number for place in places if place.block == Block.PRACTICE] == [1, 2]
        assert sorted(place.case.number for place in places if place.block == Block.MAIN) == [1, 2, 3, 4]
        assert [place.block for place in places] == [Block.PRACTICE] * 2 + [Block.MAIN] * 4


def test_the_protocol_says_what_was_decided_and_gives_nothing_away() -> None:
    study = freeze(rules=Rules(shuffle_options=True))
    protocol = json.loads(study.protocol)
    assert sha256_of(study.protocol) == study.protocol_sha256
    assert len(protocol["orders"]) == study.n_orders
    assert protocol["cases"][0] == {
        "accepted_because": "checked by hand",
        "block": "main",
        "number": 1,
        "question": 1,
        "revision": 1,
        "shown_sha256": study.cases.get(block="main", number=1).shown_sha256,
    }
    hidden = [SECRETS["explanation"], SECRETS["findings"], SECRETS["category"], "easy", '"hard"', "geometric", "salt"]
    assert [word for word in hidden if word in study.protocol] == []


def test_a_protocol_says_that_names_of_readers_are_shown_and_so_does_its_plan() -> None:
    study = freeze(rules=Rules(reader_names=True), consent="You agree.")
    assert json.loads(study.protocol)["rules"]["reader_names"] is True
    assert plan_document(plan_of(study))["rules"]["reader_names"] is True


def test_a_protocol_says_how_displays_are_checked_and_which_conditions_are_asked() -> None:
    said = json.loads(freeze().protocol)["display_check"]
    assert (said["rule"], said["levels"][:3], said["n_needed"], said["bits_shown"]) == (RULE, [13, 13, 13], 3, 8)
    assert set(said["conditions"]) == set(CONDITIONS)


def test_rules_without_names_have_the_text_that_they_had_before_there_was_that_rule() -> None:
    """What was frozen then has the same hash when it is frozen again."""
    before = (
        '{"break_every":null,"cannot_tell":false,"confidence":false,"hidden_tools":[],"least_height":null,'
        '"least_width":null,"may_pause":true,"n_ready":2,"practice_pass":null,"several_per_patient":false,'
        '"show_results":false,"shuffle_options":false,"slips":true,"time_limit_s":null}'
    )
    assert canonical(Rules().as_json()) == before
    assert read_rules(json.loads(before)) == Rules()
    assert "reader_names" not in freeze().protocol


def test_names_of_readers_need_a_consent_text() -> None:
    with pytest.raises(StudyRefused, match="Names of readers are shown"):
        freeze(rules=Rules(reader_names=True), consent="")


def test_the_same_plan_gives_the_same_protocol_but_for_the_salt() -> None:
    study = freeze(rules=Rules(shuffle_options=True))
    again = copy_study(study, actor=None, at=NOON)
    freeze_study(again, actor=None, at=NOON, salt="another salt")
    first, second = json.loads(study.protocol), json.loads(again.protocol)
    assert first.pop("keys_commitment") != second.pop("keys_commitment")
    assert (first.pop("study"), second.pop("study")) == ("Trial", "Trial (2)")
    assert first == second


def test_copies_of_a_study_keep_the_rule_that_drew_its_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same design and seed have the same orders, also over a copy that was never frozen."""
    with monkeypatch.context() as before:
        before.setattr(freezing, "RULE", "latin-1")
        study = freeze(n_readers=3)
    draft = copy_study(study, actor=None, at=NOON)
    again = freeze_study(copy_study(draft, actor=None, at=NOON), actor=None, at=NOON)
    first, second = json.loads(study.protocol), json.loads(again.protocol)
    assert first["order_rule"] == second["order_rule"] == {"name": "latin-1", "group": 3}
    assert first["orders"] == second["orders"]
    assert set(again.orders.values_list("rule", flat=True)) == {"latin-1"}
    other = freeze_study(
        create_study(plan_for(study.bank, 4, name="New", n_readers=3), actor=None, at=NOON), actor=None, at=NOON
    )
    assert json.loads(other.protocol)["order_rule"]["name"] == "latin-2"


def test_the_protocol_is_the_same_whatever_keys_and_tasks_are() -> None:
    """Two banks that differ only in what readers must not know: the commitment alone differs."""
    protocols = []
    for name, key, hidden in (
        ("one", "B", {"task": "presence", "difficulty": "easy", "category": "Heart"}),
        ("two", "D", {"task": "geometric", "difficulty": "hard", "category": "Lungs"}),
    ):
        bank = make_questions(8, name=name, key=key, **dict[str, Any](hidden))
        plan = plan_for(bank, 6, practice=(7, 8), name=name, rules=Rules(shuffle_options=True))
        frozen = freeze_study(create_study(plan, actor=None, at=NOON), actor=None, at=NOON, salt="the same salt")
        protocols.append(json.loads(frozen.protocol))
    one, two = protocols
    assert one.pop("keys_commitment") != two.pop("keys_commitment")
    assert (one.pop("bank"), one.pop("study")) == ("one", "one")
    assert (two.pop("bank"), two.pop("study")) == ("two", "two")
    assert one == two


def test_a_changed_key_breaks_the_commitment() -> None:
    study = freeze()
    assert commitment_holds(study)
    assert opening_of(study) is None
    AnswerKey.objects.filter(revision=revision_of(study.bank, 1)).update(key="A")
    assert not commitment_holds(study)


def test_closing_opens_the_commitment() -> None:
    study = freeze()
    close_study(study, actor=None, at=NOON)
    opening = opening_of(study)
    assert opening is not None
    assert opening["holds"]
    assert opening["salt"] == "salt"
    assert {case["key"] for case in opening["sealed"]["cases"]} == {"B"}


def test_a_frozen_study_refuses_every_change(cora: User) -> None:
    study = freeze()
    with pytest.raises(StudyRefused, match="frozen"):
        update_readers(study, n_readers=9, actor=cora, at=NOON)
    with pytest.raises(StudyRefused, match="frozen"):
        freeze_study(study, actor=cora, at=NOON)


def test_freezing_says_everything_that_is_in_the_way() -> None:
    bank = make_questions(8)
    plan = plan_for(bank, 4, practice=(7,), rules=Rules(practice_pass=3))
    study = create_study(plan, actor=None, at=NOON)
    same_patient(bank, 1, 2, 7)
    study.cases.filter(number=4).update(accepted_because="")
    bank.archived_at = NOON
    bank.save()
    study.refresh_from_db()
    said = " ".join(problems_of(study))
    for words in ("archived", "3 right practice answers", "no reason says why they are used: 4", "practice block come"):
        assert words in said
    with pytest.raises(StudyRefused, match="Several questions of one patient"):
        freeze_study(study, actor=None, at=NOON)
    assert not PresentedCase.objects.exists()


def test_a_plan_comes_back_as_it_went() -> None:
    study = freeze(rules=Rules(time_limit_s=60, hidden_tools=("zoom",)), seed=7)
    plan = plan_of(study)
    assert read_plan(json.loads(json.dumps(plan_document(plan)))) == plan
