"""Planning a run: its calls, their order, and everything that is refused with nothing stored."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.call_enums import PromptPurpose, SentImages
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.endpoints.sending_permissions import SendingRefused
from annotation.enums import ImageState
from annotation.ingest.serving import PictureRefused
from annotation.model_calls.call_batches import BatchRefused
from annotation.models import AuditEvent, CallBatch, Exam, Image, ModelCall, Question, QuestionBank, Revision, User
from annotation.questionbank.bank_life import check_unused
from annotation.questionbank.kernels.entries import BankRefused
from readerstudy.enums import StudyState
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.planning import plan_run, store_run
from readerstudy.models import ModelEntry, ModelRun
from readerstudy.predictions.entries import enter_model
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import NOON, images_are_there, make_bank, make_revisions
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import MODEL, make_prompt, name_endpoints, permit, planned, set_price, wanted
from tests.readerstudy.predictions.made import answers, give_keys, import_file
from tests.readerstudy.studies import make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _endpoints(settings: Settings) -> None:
    name_endpoints(settings)


@pytest.fixture
def bank() -> QuestionBank:
    """30 questions with two images each; nothing may be sent yet."""
    made = make_questions(30, pixels=False)
    images_are_there(made)
    return made


def asked_of(run: ModelRun) -> list[tuple[int, int, int]]:
    """Question, rotation and repeat of each call in its order."""
    columns = ("revision__question__number", "rotation", "repeat")
    return list(ModelCall.objects.filter(batch=run.batch).order_by("number").values_list(*columns))


def test_one_call_for_each_question_rotation_and_repeat(bank: QuestionBank) -> None:
    run = planned(Target(bank), n_orders=4, n_repeats=2, chat=ChatSettings(temperature=0.0, max_tokens=300))
    asked = asked_of(run)
    assert len(asked) == len(set(asked)) == run.batch.n_calls == 30 * 4 * 2
    assert run.batch.chat_settings == {"temperature": 0.0, "max_tokens": 300}
    assert {outcome for (outcome,) in run.batch.calls.values_list("outcome")} == {"not_asked"}
    event = AuditEvent.objects.get(act="model_run.planned")
    assert (event.subject_id, event.facts["calls"]) == (run.batch.public_id, 240)


def test_twenty_questions_come_first_and_the_rest_by_number(bank: QuestionBank) -> None:
    asked = asked_of(planned(Target(bank), n_orders=4))
    first, rest = asked[:20], asked[20:]
    assert {(rotation, repeat) for _number, rotation, repeat in first} == {(0, 0)}
    assert len({number for number, *_how in first}) == 20
    assert rest == sorted(rest)


def test_the_same_seed_draws_the_same_first_questions(bank: QuestionBank) -> None:
    permit(bank)

    def first(seed: int) -> list[int]:
        plan = plan_run(wanted(Target(bank), seed=seed), actor=None, at=NOON)
        return [one.number for one in plan.first]

    assert first(1) == first(1) != first(2)


def test_a_study_is_asked_in_its_own_wording_without_its_practice_block() -> None:
    study = make_study(n_cases=3, n_practice=2)
    run = planned(Target.of_study(study))
    asked = set(run.batch.calls.values_list("revision", flat=True))
    assert asked == set(study.cases.filter(block="main").values_list("revision", flat=True))
    assert run.study == study


def test_the_current_wording_of_a_bank_is_asked(bank: QuestionBank) -> None:
    run = planned(Target(bank))
    current = set(Revision.objects.in_bank(bank).current().values_list("pk", flat=True))
    assert set(run.batch.calls.values_list("revision", flat=True)) == current


@pytest.mark.parametrize(
    ("images", "has_exam"),
    [(SentImages.ALL, True), (SentImages.FIRST, True), (SentImages.BLANK, True), (SentImages.NONE, False)],
)
def test_a_call_names_the_exam_whose_images_are_sent(bank: QuestionBank, images: SentImages, has_exam: bool) -> None:
    run = planned(Target(bank), images=images)
    call = run.batch.calls.select_related("revision__question").get(number=1)
    assert call.revision is not None
    assert call.exam_id == (call.revision.question.exam_id if has_exam else None)
    assert run.batch.images == images


def test_images_are_those_of_the_prompt_unless_a_run_says_otherwise(bank: QuestionBank) -> None:
    prompt = make_prompt("with images", images=SentImages.ALL)
    assert planned(Target(bank), prompt=prompt).batch.images == SentImages.ALL
    assert planned(Target(bank), prompt=prompt, images=SentImages.NONE).batch.images == SentImages.NONE


def test_a_model_that_is_listed_is_taken_and_another_is_entered(bank: QuestionBank) -> None:
    one, again = planned(Target(bank), chat=ChatSettings(temperature=0.0)), planned(Target(bank))
    assert one.entry == again.entry
    assert (one.entry.name, one.entry.version, one.entry.decoding) == ("Model", "1", "temperature 0.0")
    assert "{{question}}" in one.entry.prompt


def test_a_new_model_without_a_version_has_the_one_of_its_endpoint(bank: QuestionBank) -> None:
    one, again = planned(Target(bank), version=""), planned(Target(bank), version="")
    assert (one.entry, one.entry.version) == (again.entry, MODEL)
    listed = enter_model({"name": "Listed"}, actor=None, at=NOON)
    assert planned(Target(bank), name="Listed", version="").entry == listed


def test_the_first_plain_run_says_what_an_entry_leaves_open(bank: QuestionBank) -> None:
    listed = enter_model({"name": "Model", "version": "1", "prompt": "Own words."}, actor=None, at=NOON)
    blank = planned(Target(bank), images=SentImages.BLANK)
    assert (blank.entry, blank.entry.decoding) == (listed, "")
    assert planned(Target(bank)).entry.decoding == "settings of the endpoint"
    listed.refresh_from_db()
    assert (listed.prompt, listed.decoding) == ("Own words.", "settings of the endpoint")


def test_a_run_says_nothing_of_predictions_that_came_before_it(bank: QuestionBank) -> None:
    listed = enter_model({"name": "Model", "version": "1"}, actor=None, at=NOON)
    give_keys(bank, Q1=1)
    import_file(listed, Target(bank), answers(Q1="A"))
    assert planned(Target(bank)).entry.prompt == ""


def test_a_name_stands_for_one_prompt_with_its_images(bank: QuestionBank) -> None:
    planned(Target(bank))
    letter = make_prompt("letter alone", images=SentImages.FIRST)
    for images in (SentImages.ALL, SentImages.FIRST):
        sentence = f"“Model 1” is .* “our reading v1” and no image.* such as “letter alone v1, {images.label}”"
        with refuses(RunningRefused, "asks_otherwise", match=sentence):
            planned(Target(bank), prompt=letter, images=images)
    assert ModelRun.objects.count() == 1
    variant = planned(Target(bank), prompt=letter, images=SentImages.NONE)
    own = planned(Target(bank), prompt=letter, images=SentImages.ALL, version="letter alone v1, all images")
    assert (str(variant.entry), str(own.entry)) == ("Model 1", "Model letter alone v1, all images")


def test_a_plan_says_it_all_and_stores_nothing(bank: QuestionBank) -> None:
    permit(bank)
    plan = plan_run(wanted(Target(bank), images=SentImages.ALL, n_orders=4), actor=None, at=NOON)
    told = plan.as_json()
    assert (told["run"], told["questions"], told["calls"], told["pictures"]) == (None, 30, 120, 240)
    assert len(told["first"]) == 20
    assert_nothing_is_stored()


def test_the_price_of_the_day_is_taken(bank: QuestionBank) -> None:
    price = set_price(valid_from=NOON.date() - timedelta(days=3))
    set_price(valid_from=NOON.date() + timedelta(days=1))
    run = planned(Target(bank), cap=Decimal("12.50"))
    assert (run.batch.price, run.batch.cap) == (price, Decimal("12.50"))


@pytest.mark.parametrize(
    ("images", "holds_quarters", "policy"),
    [
        (SentImages.ALL, False, "quarter-1"),
        (SentImages.ALL, True, "stored-1"),
        (SentImages.BLANK, False, "blank-1"),
        (SentImages.NONE, False, ""),
    ],
)
def test_how_images_become_pictures_is_kept(
    bank: QuestionBank, images: SentImages, holds_quarters: bool, policy: str
) -> None:
    bank.holds_quarters = holds_quarters
    bank.save()
    assert planned(Target(bank), images=images).batch.picture_policy == policy


def test_swapped_images_are_those_of_another_patient(bank: QuestionBank) -> None:
    for exam in Exam.objects.filter(bank=bank):
        exam.patient_pseudonym = f"patient {exam.pk // 2}"
        exam.save()
    run = planned(Target(bank), images=SentImages.SWAPPED)
    calls = run.batch.calls.select_related("exam", "revision__question__exam")
    patients = [
        (call.exam.patient_pseudonym, call.revision.question.exam.patient_pseudonym)
        for call in calls
        if call.exam is not None and call.revision is not None
    ]
    assert len(patients) == 30
    assert all(one != other for one, other in patients)


# --- refused, each in a sentence, with nothing stored ---------------------------------------------
def assert_nothing_is_stored() -> None:
    assert not CallBatch.objects.exists()
    assert not ModelRun.objects.exists()
    assert not ModelCall.objects.exists()
    assert not ModelEntry.objects.exists()
    assert not AuditEvent.objects.exists()


def refused(target: Target, room: Any, code: str, *, actor: User | None = None, match: str, **fields: Any) -> None:
    with refuses(room, code, match=match):
        plan_run(wanted(target, **fields), actor=actor, at=NOON)
    assert_nothing_is_stored()


def test_images_need_a_permission_of_their_own(bank: QuestionBank) -> None:
    permit(bank, images=False)
    refused(Target(bank), SendingRefused, "no_permission", match="send images of", images=SentImages.FIRST)
    assert plan_run(wanted(Target(bank), images=SentImages.BLANK), actor=None, at=NOON).n_calls == 30


def test_refused_for_an_archived_bank(bank: QuestionBank) -> None:
    permit(bank)
    bank.archived_at = NOON
    bank.save()
    refused(Target(bank), PredictionsRefused, "archived", match="bring it back first")


def test_refused_for_the_draft_of_a_study() -> None:
    study = make_study(state=StudyState.DRAFT)
    permit(study.bank)
    refused(Target.of_study(study), PredictionsRefused, "draft", match="Freeze it first")


def test_refused_for_an_empty_bank() -> None:
    bank = make_bank()
    permit(bank)
    refused(Target(bank), RunningRefused, "no_questions", match="holds no question")


def test_refused_for_a_prompt_of_another_purpose(bank: QuestionBank) -> None:
    permit(bank)
    prompt = make_prompt("bullets", purpose=PromptPurpose.BULLETS)
    refused(Target(bank), BatchRefused, "wrong_purpose", match="not to answer questions", prompt=prompt)


@pytest.mark.parametrize(
    ("room", "code", "match", "wrong"),
    [
        *((RunningRefused, "bad_orders", "4 rotations", {"n_orders": n}) for n in (0, 2, 3, 5)),
        *((RunningRefused, "bad_repeats", "1 to 20 times", {"n_repeats": n}) for n in (0, -1, 21)),
        *((RunningRefused, "bad_name", "1 to 200 characters", {"name": name}) for name in ("", "n" * 201)),
        (RunningRefused, "bad_name", "1 to 200 characters", {"version": "v" * 101}),
        (PictureRefused, "no_policy", "There is no policy 'tiny'", {"picture_policy": "tiny"}),
    ],
)
def test_refused_for_what_no_run_can_have(bank: QuestionBank, room: Any, code: str, match: str, wrong: Any) -> None:
    permit(bank)
    refused(Target(bank), room, code, match=match, **wrong)


def test_refused_while_images_are_missing_or_in_quarantine(bank: QuestionBank) -> None:
    permit(bank)
    exam = Exam.objects.get(questions__number=7, bank=bank)
    exam.images.update(state=ImageState.QUARANTINED)
    Image.objects.filter(exam__questions__number=9, position=0).update(state=ImageState.PENDING)
    words = r"1 missing, 2 in quarantine\. They belong to 2 questions \(7, 9\)"
    refused(Target(bank), RunningRefused, "images_waiting", match=words, images=SentImages.ALL)
    Question.objects.filter(number=5, bank=bank).update(exam=exam)
    words = r"1 missing, 2 in quarantine\. They belong to 3 questions \(5, 7, 9\)"  # each image once
    refused(Target(bank), RunningRefused, "images_waiting", match=words, images=SentImages.ALL)
    assert plan_run(wanted(Target(bank), images=SentImages.NONE), actor=None, at=NOON).n_calls == 30


def test_an_image_that_does_not_count_for_a_question_is_not_waited_for(bank: QuestionBank) -> None:
    image = Image.objects.get(exam__questions__number=9, position=0)
    Image.objects.filter(pk=image.pk).update(state=ImageState.PENDING)
    Revision.objects.filter(question__number=9, bank=bank).update(images_left_out=[image.public_id])
    assert planned(Target(bank), images=SentImages.ALL)


def test_only_the_first_image_is_waited_for_where_only_that_is_sent(bank: QuestionBank) -> None:
    Image.objects.filter(position=1).update(state=ImageState.PENDING)
    assert planned(Target(bank), images=SentImages.FIRST)


def test_refused_where_a_question_has_no_image_at_all(bank: QuestionBank) -> None:
    permit(bank)
    Image.objects.filter(exam__questions__number=3).update(state=ImageState.REMOVED)
    words = r"1 question \(3\): there is no image to send"
    refused(Target(bank), RunningRefused, "no_images", match=words, images=SentImages.ALL)


def test_refused_where_nobody_else_has_the_same_views(bank: QuestionBank) -> None:
    permit(bank)
    Exam.objects.filter(bank=bank).update(patient_pseudonym="the only one")
    words = r"30 questions \(1, 2, 3.*no exam of another patient"
    refused(Target(bank), RunningRefused, "no_other_exam", match=words, images=SentImages.SWAPPED)


def test_a_coordinator_plans(bank: QuestionBank, cora: User) -> None:
    permit(bank)
    plan = plan_run(wanted(Target(bank)), actor=cora, at=NOON)
    assert store_run(plan, actor=cora, at=NOON).stored_run.batch.created_by == cora


def test_a_bank_that_a_model_is_to_be_asked_about_is_not_deleted(bank: QuestionBank) -> None:
    """Its permission, without which nothing is planned, keeps it."""
    Image.objects.update(state=ImageState.PENDING)
    check_unused(bank)
    planned(Target(bank))
    with refuses(BankRefused, "in_use", match="archive the bank instead"):
        check_unused(bank)


def test_a_large_bank_is_planned_in_few_statements(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    bank = make_bank()
    make_revisions(bank, {number: {} for number in range(1, 5001)})
    images_are_there(bank)
    permit(bank)
    with django_assert_max_num_queries(30):
        plan = plan_run(wanted(Target(bank), images=SentImages.ALL, n_orders=4), actor=None, at=NOON)
        store_run(plan, actor=None, at=NOON)
    assert plan.n_calls == 20_000
    assert Counter(ModelCall.objects.values_list("rotation", flat=True)) == dict.fromkeys(range(4), 5000)
