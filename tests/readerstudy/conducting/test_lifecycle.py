"""The life of a study: opened with the images that were frozen, closed with a word about who is left, put away."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.audit.deleting import BinRefused, move_to_bin
from annotation.ingest.quarantine import quarantine_image, remove
from annotation.models import AuditEvent, Exam, Image, Rendition, Report, User
from annotation.questionbank.bank_life import check_unused
from annotation.questionbank.kernels.entries import BankRefused
from readerstudy.conducting.lifecycle import archive, bring_back, close_study, open_study
from readerstudy.design.case_selection import list_cases
from readerstudy.design.checking import cases_with_information, sha256_of_information
from readerstudy.design.creating import copy_study, create_study, next_free_name
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.plan import PlannedArm
from readerstudy.enums import Information, StudyState
from readerstudy.models import ReaderStudy
from readerstudy.study.kernels.states import TRANSITIONS
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.pixels import give_pixels
from tests.conftest import NOON
from tests.readerstudy.design.drafts import make_draft
from tests.readerstudy.design.made import make_questions, plan_for
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def frozen(*, pixels: bool = True, indication: str = "", **fields: Any) -> ReaderStudy:
    bank = make_questions(3, pixels=pixels)
    Report.objects.update(indication=indication)
    study = create_study(plan_for(bank, 3, **fields), actor=None, at=NOON)
    read = sha256_of_information(cases_with_information(study))
    return freeze_study(study, actor=None, at=NOON, indications_read=read, read_elsewhere=not pixels)


def test_a_study_opens_once_with_the_images_that_were_frozen(cora: User) -> None:
    study = frozen()
    open_study(study, actor=cora, at=NOON)
    open_study(study, actor=cora, at=NOON)
    assert study.state == StudyState.OPEN
    assert AuditEvent.objects.filter(act="study.opened").count() == 1


def test_missing_images_keep_it_from_opening_and_late_ones_are_not_those_of_the_protocol(cora: User) -> None:
    study = frozen(pixels=False)
    with pytest.raises(StudyRefused, match="3 of 3 cases lack an image that may be shown"):
        open_study(study, actor=cora, at=NOON)
    for seed, image in enumerate(Image.objects.all()):
        give_pixels(image, seed=seed)
    with pytest.raises(StudyRefused, match="something else than when the study was frozen: 1, 2, 3"):
        open_study(study, actor=cora, at=NOON)


def test_an_image_that_changed_since_keeps_it_from_opening(cora: User) -> None:
    study = frozen()
    Image.objects.filter(exam__questions__number=2, position=0).update(pixels_sha256="f" * 64)
    with pytest.raises(StudyRefused, match="when the study was frozen: 2"):
        open_study(study, actor=cora, at=NOON)


@pytest.mark.parametrize(
    ("information", "told"),
    [
        (Information.NONE, None),
        (Information.AGE_SEX, {"age": 58, "sex": "F"}),
        (Information.INDICATION, {"age": 58, "sex": "F", "indication": "Cough"}),
    ],
)
def test_what_the_arm_tells_is_frozen_as_well(information: Information, told: object, cora: User) -> None:
    """What the bank says of the exam afterwards is for the next study."""
    study = frozen(arms=(PlannedArm(information),), indication="Cough")
    Exam.objects.update(age_years=33)
    Report.objects.update(indication="Fever")
    open_study(study, actor=cora, at=NOON)
    assert study.cases.get(number=1).information == told


def test_a_masked_or_removed_image_keeps_a_frozen_study_from_opening(dina: User, cora: User) -> None:
    study = frozen()
    masked, removed = (Image.objects.filter(exam__questions__number=number)[0] for number in (1, 2))
    Rendition.objects.filter(image=masked, kind="full").update(name="made-anew", sha256="f" * 64)
    quarantine_image(removed, reason="a name", actor=dina, at=NOON)
    remove(Image.objects.get(pk=removed.pk), reason="a name", actor=dina, at=NOON)
    with pytest.raises(StudyRefused, match=r"1 of 3 cases lacks an image .*: 2\. .*when the study was frozen: 1"):
        open_study(study, actor=cora, at=NOON)


def test_a_draft_neither_opens_nor_closes(cora: User) -> None:
    study = create_study(plan_for(make_questions(2), 2), actor=cora, at=NOON)
    for act in (open_study, close_study):
        with pytest.raises(StudyRefused, match="The study is draft; it cannot become"):
            act(study, actor=cora, at=NOON)


def test_closing_tells_how_many_readers_are_not_done(cora: User, rita: User, remo: User) -> None:
    study = make_study()
    enrol(study, rita)
    done = enrol(study, remo)
    done.finished_at = NOON
    done.save()
    with refuses(StudyRefused, "not_complete") as caught:
        close_study(study, actor=cora, at=NOON)
    assert caught.value.facts["n_open"] == 1
    close_study(study, actor=cora, at=NOON, confirmed_open=1)
    close_study(study, actor=cora, at=NOON)
    assert (study.state, study.closed_at) == (StudyState.CLOSED, NOON)
    assert AuditEvent.objects.filter(act="study.closed").count() == 1


def test_archiving_waits_for_the_end_and_can_be_taken_back(cora: User) -> None:
    study = make_study()
    with pytest.raises(StudyRefused, match="close it before"):
        archive(study, actor=cora, at=NOON)
    close_study(study, actor=cora, at=NOON)
    archive(study, actor=cora, at=NOON)
    assert ReaderStudy.objects.filter(archived_at=NOON).exists()
    bring_back(study, actor=cora, at=NOON)
    assert ReaderStudy.objects.filter(archived_at=None).exists()
    acts = AuditEvent.objects.filter(act__startswith="study.").values_list("act", flat=True)
    assert list(acts) == ["study.closed", "study.archived", "study.brought_back"]


def test_what_is_archived_is_neither_frozen_nor_opened(cora: User) -> None:
    study = frozen()
    draft = copy_study(study, actor=cora, at=NOON)
    for one in (study, draft):
        archive(one, actor=cora, at=NOON)
    with pytest.raises(StudyRefused, match="“Trial” is archived: bring it back first"):
        open_study(study, actor=cora, at=NOON)
    with pytest.raises(StudyRefused, match="is archived: bring it back first"):
        freeze_study(draft, actor=cora, at=NOON)


def test_only_a_draft_is_deleted(cora: User) -> None:
    study = frozen()
    draft = copy_study(study, actor=cora, at=NOON)
    with pytest.raises(BinRefused, match="archive it instead"):
        move_to_bin(study, actor=cora, at=NOON)
    move_to_bin(draft, actor=cora, at=NOON)
    assert list(ReaderStudy.objects.all()) == [study]


def test_a_bank_with_a_study_stays(cora: User) -> None:
    bank = make_questions(2, pixels=False)
    check_unused(bank)
    create_study(plan_for(bank, 2), actor=cora, at=NOON)
    with refuses(BankRefused, "in_use", match="A reader study uses questions"):
        check_unused(bank)


def test_a_copy_is_a_draft_with_the_same_cases(cora: User) -> None:
    study = frozen()
    copied = copy_study(study, actor=cora, at=NOON)
    assert (copied.state, copied.copy_of, copied.seed) == (StudyState.DRAFT, study, study.seed)
    pairs = [list(one.cases.values_list("number", "revision", "accepted_because")) for one in (study, copied)]
    assert pairs[0] == pairs[1]
    list_cases(copied, [2], actor=cora, at=NOON, accepted_because="enough")
    assert copied.cases.count() == 1
    assert study.cases.count() == 3
    assert next_free_name("Trial (2)") == "Trial (3)"
    assert next_free_name("Other (x)") == "Other (x) (2)"


def test_a_copy_stays_with_its_bank_whatever_another_one_is_called() -> None:
    """A plan names its bank by the address, which can be the name of another bank."""
    bank = make_questions(name="Übung")
    study = create_study(plan_for(bank), actor=None, at=NOON)
    other = make_questions(name="Other")
    other.name = bank.slug
    other.save()
    assert copy_study(study, actor=None, at=NOON).bank == bank


def test_every_state_can_be_reached_and_all_but_the_last_be_left() -> None:
    assert set(TRANSITIONS) == set(StudyState)
    assert {to for after in TRANSITIONS.values() for to in after} == set(StudyState) - {StudyState.DRAFT}
    assert [state for state, after in TRANSITIONS.items() if not after] == [StudyState.ANALYSED]
    assert StudyState.CLOSED in TRANSITIONS[StudyState.FROZEN]


# --- on pages --------------------------------------------------------------------------------------
ACTS = ["open", "close", "copy", "archive", "bring-back", "delete"]
YES = {"confirmed": "yes"}


@pytest.mark.parametrize("act", ["open", "close", "copy", "archive"])
def test_nothing_happens_before_it_is_confirmed(coordinator: Client, act: str) -> None:
    make_study("Trial", n_cases=1, state=StudyState.FROZEN)
    answer = coordinator.post(f"/studies/trial/{act}/")
    assert answer.status_code == 200
    assert 'name="confirmed" value="yes"' in answer.content.decode()
    study = ReaderStudy.objects.get()
    assert (study.state, study.archived_at) == (StudyState.FROZEN, None)


def test_a_frozen_study_with_its_images_opens(coordinator: Client) -> None:
    study = make_study("Trial", n_cases=1, state=StudyState.FROZEN, pixels=True)
    assert coordinator.post("/studies/trial/open/", YES).status_code == 302
    study.refresh_from_db()
    assert study.state == StudyState.OPEN
    assert AuditEvent.objects.filter(act="study.opened").exists()


def test_a_refusal_is_read_on_the_page(coordinator: Client, cora: User) -> None:
    make_draft(cora)
    page = coordinator.post("/studies/trial/open/", YES, follow=True).content.decode()
    assert "The study is draft; it cannot become open." in page


def test_closing_names_the_readers_who_are_not_done(coordinator: Client, rita: User) -> None:
    study = make_study("Trial", n_cases=1)
    enrol(study, rita)
    assert "Close without 1 reader" in coordinator.post("/studies/trial/close/").content.decode()
    answer = coordinator.post("/studies/trial/close/", {**YES, "confirmed_open": "0"})
    assert answer.status_code == 200
    for nonsense in ("x", "9" * 30, "²"):
        assert coordinator.post("/studies/trial/close/", {**YES, "confirmed_open": nonsense}).status_code == 200
    assert coordinator.post("/studies/trial/close/", {**YES, "confirmed_open": "1"}).status_code == 302
    study.refresh_from_db()
    assert study.state == StudyState.CLOSED


def test_a_copy_is_a_draft_under_a_name_of_its_own(coordinator: Client, cora: User) -> None:
    make_draft(cora)
    assert 'value="Trial (2)"' in coordinator.post("/studies/trial/copy/").content.decode()
    answer = coordinator.post("/studies/trial/copy/", {**YES, "name": "Trial"})
    assert answer.status_code == 422
    assert "exists already" in answer.content.decode()
    assert coordinator.post("/studies/trial/copy/", {**YES, "name": ""}).status_code == 422
    answer = coordinator.post("/studies/trial/copy/", {**YES, "name": "Second"})
    assert answer.url == "/studies/second/"  # type: ignore[attr-defined]
    copied = ReaderStudy.objects.get(slug="second")
    assert (copied.state, copied.copy_of.slug if copied.copy_of else "") == (StudyState.DRAFT, "trial")
    assert copied.cases.count() == 4


def test_archiving_and_bringing_back(coordinator: Client) -> None:
    study = make_study("Trial", n_cases=1, state=StudyState.CLOSED)
    coordinator.post("/studies/trial/archive/", YES)
    study.refresh_from_db()
    assert study.archived_at is not None
    assert timezone.now() - study.archived_at < timedelta(minutes=5)
    assert "Bring back" in coordinator.get("/studies/trial/").content.decode()
    coordinator.post("/studies/trial/bring-back/")
    study.refresh_from_db()
    assert study.archived_at is None


def test_an_open_study_is_not_archived(coordinator: Client) -> None:
    study = make_study("Trial", n_cases=1)
    page = coordinator.post("/studies/trial/archive/", YES, follow=True).content.decode()
    assert "close it before you archive it" in page
    study.refresh_from_db()
    assert study.archived_at is None


def test_only_a_draft_offers_to_be_deleted(coordinator: Client, cora: User) -> None:
    make_study("Frozen", n_cases=1, state=StudyState.FROZEN)
    make_draft(cora)
    page = coordinator.post("/studies/frozen/delete/", YES, follow=True).content.decode()
    assert "archive it instead" in page
    assert coordinator.post("/studies/trial/delete/", YES).url == "/studies/"  # type: ignore[attr-defined]
    assert [study.slug for study in ReaderStudy.objects.all()] == ["frozen"]
