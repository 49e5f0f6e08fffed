"""A complete plain run becomes predictions, by the rule of files; nothing else of a run ever does."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.call_enums import BatchState, CallOutcome, SentImages
from annotation.enums import Role
from annotation.jobs.running import run as run_job
from annotation.model_calls.kernels.extraction import RULE
from annotation.models import AuditEvent, Job, ModelCall, QuestionBank, Revision, User
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.publishing import KIND, changed_letters, publish, publish_later, read_again
from readerstudy.models import ModelRun, Prediction, PredictionRun, PublishedRepeat
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import Target
from readerstudy.predictions.runs import withdraw_run
from tests.annotation.review.cases import NOON, OPTIONS, images_are_there
from tests.conftest import make_person
from tests.readerstudy.model_runs.made import answer, end, make_prompt, name_endpoints, planned
from tests.readerstudy.predictions.made import import_file, lines
from tests.readerstudy.predictions.made import keyed_bank as keyed
from tests.readerstudy.studies import make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _endpoints(settings: Settings) -> None:
    name_endpoints(settings)


@pytest.fixture
def bank() -> QuestionBank:
    return keyed(5)


def complete(bank: QuestionBank, say: dict[int, str], **fields: object) -> ModelRun:
    """A run whose answers are ``say`` by the number of the question, else "C"."""
    run = planned(Target(bank), **fields)
    answer(run, lambda call: say.get(_number(call), "C"))
    end(run)
    return run


def _number(call: ModelCall) -> int:
    assert call.revision is not None
    return call.revision.question.number


def options_of(run: PredictionRun) -> dict[int, str]:
    rows = run.predictions.values_list("revision__question__number", "option")
    return dict(rows.order_by("revision__question__number"))


def test_a_run_is_published_as_a_file_with_the_same_answers_would_be(bank: QuestionBank) -> None:
    say = {1: "B", 2: "The answer is (D).", 3: OPTIONS[0], 4: "I cannot tell.", 5: "<think>B?</think> A"}
    run = complete(bank, say)
    [published] = publish(run, actor=None, at=NOON)
    records = [{"id": f"Q{number}", "pred_answer": text} for number, text in say.items()]
    from_file = import_file(run.entry, Target(bank), lines(*records)).run
    assert from_file is not None
    assert options_of(published) == options_of(from_file) == {1: "B", 2: "D", 3: "A", 4: "", 5: "A"}
    assert (published.form, published.rule, published.number, published.is_named) == ("run", RULE, 1, True)
    assert (published.n_read, published.n_matched, published.n_failed, published.n_missing) == (5, 5, 1, 0)
    raw = dict(published.predictions.values_list("revision__question__number", "raw"))
    assert raw == say
    assert AuditEvent.objects.filter(act="predictions.imported", subject_id=run.entry.public_id).count() == 2


def test_refused_and_cut_answers_name_no_option_whatever_stands_in_them(bank: QuestionBank) -> None:
    run = planned(Target(bank))
    answer(run, outcomes={1: CallOutcome.REFUSED, 2: CallOutcome.CUT})
    end(run)
    [published] = publish(run, actor=None, at=NOON)
    by_row = dict(published.predictions.values_list("row", "option"))
    assert by_row == {1: "", 2: "", 3: "B", 4: "B", 5: "B"}
    assert published.predictions.get(row=1).raw == "B"
    assert (published.n_failed, published.n_matched) == (2, 5)


def test_what_the_server_refused_or_broke_is_missing_and_never_wrong(bank: QuestionBank, client: Client) -> None:
    run = planned(Target(bank))
    answer(run, outcomes={1: CallOutcome.REJECTED, 2: CallOutcome.BROKEN, 3: CallOutcome.TWO})
    end(run, BatchState.PAUSED)
    client.force_login(make_person("Cora", Role.COORDINATOR))
    page = client.get(f"/models/at-work/{run.batch.public_id}/").content.decode()
    assert "400: At most 1 image(s) may be provided." in page
    asked = client.post(f"/models/at-work/{run.batch.public_id}/end/")
    assert "End this run without the refused questions?" in asked.content.decode()
    client.post(f"/models/at-work/{run.batch.public_id}/end/", {"confirmed": "yes"})
    run.batch.refresh_from_db()
    assert run.batch.state == BatchState.COMPLETE
    [published] = publish(run, actor=None, at=NOON)
    assert dict(published.predictions.values_list("row", "option")) == {3: "", 4: "B", 5: "B"}
    assert (published.n_failed, published.n_missing) == (1, 2)


def test_a_run_of_this_site_is_read_again_from_its_responses(bank: QuestionBank) -> None:
    run = planned(Target(bank))
    answer(run, outcomes={1: CallOutcome.CUT})
    end(run)
    [published] = publish(run, actor=None, at=NOON)
    PredictionRun.objects.filter(pk=published.pk).update(rule="letter-1")
    published.refresh_from_db()
    new = read_again(published, actor=None, at=NOON)
    assert dict(new.predictions.values_list("row", "option")) == {1: "", 2: "B", 3: "B", 4: "B", 5: "B"}
    assert changed_letters(new) == []


def test_publishing_again_changes_nothing(bank: QuestionBank) -> None:
    run = complete(bank, {})
    [one], [again] = publish(run, actor=None, at=NOON), publish(run, actor=None, at=NOON)
    assert one == again
    assert (PredictionRun.objects.count(), Prediction.objects.count()) == (1, 5)


def test_each_repeat_is_a_run_of_its_own_even_where_they_say_the_same(bank: QuestionBank) -> None:
    run = complete(bank, {}, n_repeats=3)
    published = publish(run, actor=None, at=NOON)
    assert [one.number for one in published] == [1, 2, 3]
    assert len({one.file_sha256 for one in published}) == 3
    assert [one.is_named for one in published] == [True, False, False]
    assert PublishedRepeat.objects.filter(model_run=run).count() == 3


def test_of_four_orders_only_the_one_of_the_bank_is_published(bank: QuestionBank) -> None:
    run = planned(Target(bank), n_orders=4)
    answer(run, lambda call: "ABCD"[call.rotation])
    end(run)
    [published] = publish(run, actor=None, at=NOON)
    assert set(options_of(published).values()) == {"A"}
    assert Prediction.objects.count() == 5


def test_a_run_with_a_call_that_was_not_asked_is_never_published(bank: QuestionBank) -> None:
    run = planned(Target(bank))
    answer(run, n=4)
    for state in BatchState:
        end(run, state)
        with refuses(RunningRefused, "incomplete", match="1 call has no answer"):
            publish(run, actor=None, at=NOON)
    assert not PredictionRun.objects.exists()


def test_a_stopped_run_is_not_published_even_when_it_was_stopped_at_the_last_call(bank: QuestionBank) -> None:
    run = complete(bank, {})
    end(run, BatchState.STOPPED)
    with refuses(RunningRefused, "incomplete"):
        publish(run, actor=None, at=NOON)


@pytest.mark.parametrize("images", [SentImages.NONE, SentImages.BLANK, SentImages.FIRST])
def test_a_variant_is_never_published(bank: QuestionBank, images: SentImages) -> None:
    images_are_there(bank)
    run = complete(bank, {}, prompt=make_prompt("all", images=SentImages.ALL), images=images)
    with refuses(RunningRefused, "variant", match="compared with a plain run"):
        publish(run, actor=None, at=NOON)
    assert not PredictionRun.objects.exists()


def test_letter_alone_with_all_images_is_published_though_its_prompt_names_the_first(bank: QuestionBank) -> None:
    images_are_there(bank)
    run = complete(bank, {}, prompt=make_prompt("letter alone", images=SentImages.FIRST), images=SentImages.ALL)
    [published] = publish(run, actor=None, at=NOON)
    assert (published.entry, published.n_matched) == (run.entry, 5)
    assert run.entry.decoding == "settings of the endpoint; all images, quarter-1"


def test_a_complete_run_that_was_no_plain_run_once_can_be_published(
    bank: QuestionBank, cora: User, client: Client
) -> None:
    images_are_there(bank)
    run = complete(bank, {}, prompt=make_prompt("letter alone", images=SentImages.FIRST), images=SentImages.ALL)
    client.force_login(cora)
    address = f"/models/at-work/{run.batch.public_id}/"
    assert "are not published yet" in client.get(address).content.decode()
    assert client.post(f"{address}publish/").status_code == 302
    assert client.post(f"{address}publish/").status_code == 302
    job = Job.objects.get(kind=KIND)
    run_job(job.public_id, clock=lambda: NOON)
    assert PredictionRun.objects.get().entry == run.entry
    assert "Publish its answers" not in client.get(address).content.decode()
    waiting = planned(Target(bank), version="2")
    refused = client.post(f"/models/at-work/{waiting.batch.public_id}/publish/", follow=True)
    assert "5 calls have no answer of the model yet" in refused.content.decode()


def test_answers_stand_for_the_wording_that_was_asked(bank: QuestionBank) -> None:
    run = complete(bank, {})
    asked = set(run.batch.calls.values_list("revision", flat=True))
    Revision.objects.filter(pk=min(asked)).update(superseded_by=Revision.objects.get(pk=min(asked)).bank_import)
    [published] = publish(run, actor=None, at=NOON)
    assert set(published.predictions.values_list("revision", flat=True)) == asked


def test_a_run_of_a_study_belongs_to_the_study() -> None:
    study = make_study()
    run = planned(Target.of_study(study))
    answer(run)
    end(run)
    [published] = publish(run, actor=None, at=NOON)
    assert (published.study, published.n_matched, published.named_before_unblinding) == (study, 3, True)


def test_the_explanation_of_a_json_answer_is_kept_apart(bank: QuestionBank) -> None:
    said = json.dumps({"option": "D", "explanation": "No line.\0\ud800"})
    run = complete(bank, {1: said, 2: "{broken"})
    [published] = publish(run, actor=None, at=NOON)
    one = published.predictions.get(revision__question__number=1)
    assert (one.option, one.explanation, one.raw) == ("D", "No line.\ufffd\ufffd", said)
    assert published.predictions.get(revision__question__number=2).explanation == ""


def test_characters_that_no_database_takes_do_not_stop_a_run(bank: QuestionBank) -> None:
    run = complete(bank, {1: "B\0", 2: "\ud83d B"})
    [published] = publish(run, actor=None, at=NOON)
    assert published.predictions.get(revision__question__number=1).raw == "B\ufffd"


def test_the_answer_that_decided_a_call_is_published_not_a_later_one(bank: QuestionBank) -> None:
    run = complete(bank, {})
    call = run.batch.calls.get(number=1)
    first = call.attempts.get()
    first.pk, first.number = None, 2
    first.body = first.body.replace('"C"', '"D"')
    first.save()
    [published] = publish(run, actor=None, at=NOON)
    assert published.predictions.get(row=1).option == "C"


def test_a_bank_that_was_archived_meanwhile_takes_nothing(bank: QuestionBank) -> None:
    run = complete(bank, {})
    bank.archived_at = NOON
    bank.save()
    with refuses(PredictionsRefused, "archived"):
        publish(run, actor=None, at=NOON)
    assert not PublishedRepeat.objects.exists()


def test_a_withdrawn_run_is_not_published_anew(bank: QuestionBank) -> None:
    run = complete(bank, {})
    [published] = publish(run, actor=None, at=NOON)
    withdraw_run(published, "wrong prompt", actor=None, at=NOON)
    assert publish(run, actor=None, at=NOON) == [published]


def test_a_job_publishes_once_the_last_answer_is_there(bank: QuestionBank, cora: User) -> None:
    run = complete(bank, {})
    run.batch.created_by = cora
    run.batch.save()
    publish_later(run.batch, NOON)
    publish_later(run.batch, NOON)
    job = Job.objects.get(kind=KIND)
    run_job(job.public_id, clock=lambda: NOON)
    job.refresh_from_db()
    published = PredictionRun.objects.get()
    assert job.result == {"runs": [published.public_id]}
    assert published.imported_by == cora


def test_no_job_for_a_variant(bank: QuestionBank) -> None:
    images_are_there(bank)
    publish_later(complete(bank, {}, images=SentImages.BLANK).batch, NOON)
    assert not Job.objects.exists()
