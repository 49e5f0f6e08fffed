"""A draft becomes a protocol; afterwards nothing of its design changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.case.kernels.display import CONDITIONS, RULE
from annotation.models import AnswerKey, User
from readerstudy.conducting.lifecycle import close_study
from readerstudy.design import freezing
from readerstudy.design.checking import problems_of
from readerstudy.design.creating import copy_study, create_study, plan_of
from readerstudy.design.drafting import (
    update_readers,
)
from readerstudy.design.freezing import commitment_holds, freeze_study, opening_of
from readerstudy.design.kernels.documents import Rules, canonical, read_rules, sha256_of
from readerstudy.design.kernels.plan import plan_document, read_plan
from readerstudy.enums import Block, StudyState
from readerstudy.models import PresentedCase, ReaderStudy
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON, SECRETS
from tests.readerstudy.design.made import make_questions, plan_for, revision_of, same_patient

pytestmark = pytest.mark.django_db


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
