"""The page that compares models: who sees it, what stands on it, when it is stale, and what it costs."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import docx
import openpyxl
import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.enums import ImportState, JobState, Role
from annotation.jobs import running
from annotation.models import AnswerKey, AuditEvent, BankImport, Job, QuestionBank, Revision, User
from readerstudy.analysis.comparing_models import compare_models, gather
from readerstudy.analysis.kernels.panel_result import StoredComparison
from readerstudy.model_runs.publishing import publish
from readerstudy.models import ModelComparison, PredictionRun
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import Target
from readerstudy.predictions.runs import withdraw_run
from readerstudy.results.comparison_job import result_of
from tests.annotation.review.cases import make_revision
from tests.conftest import NOON, make_person
from tests.readerstudy.design.made import same_patient
from tests.readerstudy.model_runs.made import answer, end, name_endpoints, planned
from tests.readerstudy.predictions.made import answers, entry_named, import_file, keyed_bank
from tests.readerstudy.studies import make_study
from tests.refusals import refuses

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
PAGE, START, FILE = "/models/compare/", "/models/compare/bank/start/", "/models/compare/bank.csv"


@pytest.fixture
def bank() -> QuestionBank:
    return keyed_bank(3)


def send(bank: QuestionBank, name: str, submitter: User | None = None, **said: str) -> PredictionRun:
    run = import_file(entry_named(name, submitter=submitter), Target(bank), answers(**said)).run
    assert run is not None
    return run


def compare(bank: QuestionBank) -> ModelComparison:
    return compare_models(bank, actor=None, at=timezone.now())


def test_from_the_button_to_the_tables(coordinator: Client, bank: QuestionBank) -> None:
    assert "No model has predictions for a whole bank yet" in coordinator.get(PAGE).content.decode()
    send(bank, "<i>Good", Q1="B", Q2="B", Q3="B")
    send(bank, "Poor", Q1="A", Q2="no idea")
    assert "are not compared yet" in coordinator.get(PAGE).content.decode()
    assert coordinator.get(FILE).status_code == 404
    for _twice in range(2):
        assert coordinator.post(START)["Location"] == PAGE + "?bank=bank"
    assert "A comparison is running" in coordinator.get(PAGE).content.decode()
    job = Job.objects.get(kind="compare_models")
    running.run(job.public_id, clock=timezone.now)
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED
    page = coordinator.get(PAGE, {"bank": "bank"}).content.decode()
    for words in (
        "&lt;i&gt;Good",
        "100.00",
        "Rank bands",
        "1 to 2",
        "Accuracy by category",
        "whatever split it came in with",
    ):
        assert words in page
    assert "Out of date" not in page
    assert AuditEvent.objects.filter(act="bank.models_compared").count() == 1


def test_the_file_holds_what_the_page_shows(coordinator: Client, bank: QuestionBank) -> None:
    send(bank, "=Good", Q1="B", Q2="B", Q3="A")
    compare(bank)
    response = coordinator.get(FILE)
    assert AuditEvent.objects.get(act="bank.comparison_taken").actor is not None
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert rows[0]["model"] == "'=Good"
    assert (float(rows[0]["accuracy"]), rows[0]["n"], rows[0]["missing"]) == (2 / 3, "3", "0")
    assert response["Content-Disposition"].startswith('attachment; filename="bank-models-')


def test_the_tables_as_the_paper_prints_them(coordinator: Client, bank: QuestionBank) -> None:
    """In every form with the same numbers; each time it is noted who took them."""
    send(bank, "=Good & <i>", Q1="B", Q2="B", Q3="A")
    compare(bank)
    answers = {form: coordinator.get(FILE.replace("csv", form)) for form in ("tex", "docx", "xlsx")}
    assert AuditEvent.objects.filter(act="bank.comparison_taken").count() == 3
    tex = answers["tex"].content.decode()
    assert r"=Good \& \textless{}i\textgreater{} & 66.7" in tex
    assert tex.count(r"\caption{") == 2
    assert "Bank: Bank." in tex
    models, categories = docx.Document(io.BytesIO(answers["docx"].content)).tables
    assert models.rows[1].cells[0].text == "=Good & <i>"
    assert [row.cells[0].text for row in categories.rows][-2].replace("\xa0", " ") == "All questions (n = 3)"
    book = openpyxl.load_workbook(io.BytesIO(answers["xlsx"].content))
    assert book["models"]["A2"].value == "=Good & <i>"
    assert book["models"]["A2"].data_type == "s"
    assert all(row[3].value for row in book["codebook"].rows), "every column is explained"
    assert answers["xlsx"]["Content-Disposition"].endswith('.xlsx"')
    assert coordinator.get(FILE.replace("csv", "pdf")).status_code == 404
    page = coordinator.get(PAGE).content.decode()
    assert all(FILE.replace("csv", form) in page for form in ("csv", "tex", "docx", "xlsx"))


def test_the_same_again_is_the_row_that_is_there_and_another_input_makes_it_stale(
    coordinator: Client, bank: QuestionBank, cora: User
) -> None:
    run = send(bank, "Good", Q1="B", Q2="B")
    send(bank, "Poor", Q1="A")
    assert compare(bank) == compare(bank)
    assert "Out of date" not in coordinator.get(PAGE).content.decode()
    withdraw_run(run, "wrong file", actor=cora, at=NOON)
    assert "Compare again" in coordinator.get(PAGE).content.decode()
    again = compare(bank)
    assert ModelComparison.objects.count() == 2
    page = coordinator.get(PAGE)
    assert page.context["comparison"] == again
    assert [row[0].text for row in page.context["tables"][0].rows] == ["Poor"]


def brought_later(bank: QuestionBank) -> BankImport:
    """A published import of the day after the predictions."""
    at = NOON + timedelta(days=1)
    fields = {"file_name": "later.json", "started_at": at, "heartbeat_at": at, "finished_at": at}
    return BankImport.objects.create(bank=bank, state=ImportState.PUBLISHED, **fields)


def make_bank_grow(bank: QuestionBank, n: int) -> None:
    made = [make_revision(bank, number).pk for number in range(101, 101 + n)]
    Revision.objects.filter(pk__in=made).update(bank_import=brought_later(bank))


def accuracy_of(result: StoredComparison) -> tuple[float | None, int]:
    (model,) = result["models"]
    return model["accuracy"]["value"], model["accuracy"]["n"]


def test_the_accuracy_of_a_file_stays_when_its_bank_grows(coordinator: Client, bank: QuestionBank) -> None:
    send(bank, "Good", Q1="B", Q2="B")
    before = accuracy_of(result_of(compare(bank)))
    make_bank_grow(bank, 4)
    result = result_of(compare(bank))
    assert accuracy_of(result) == before == (2 / 3, 3), "questions that came later may not be held against a run"
    assert [(one["n_missing"], one["n_not_asked"], one["n_earlier"]) for one in result["models"]] == [(1, 4, 0)]
    assert "4 not asked" in " ".join(coordinator.get(PAGE).content.decode().split())
    row = next(csv.DictReader(io.StringIO(coordinator.get(FILE).content.decode())))
    assert (row["n"], row["missing"], row["not_asked"], row["earlier_wording"]) == ("3", "1", "4", "0")


def test_the_accuracy_of_a_run_of_this_site_is_over_its_calls(bank: QuestionBank, settings: Settings) -> None:
    name_endpoints(settings)
    run = planned(Target(bank))
    answer(run, lambda call: "B")
    end(run)
    make_bank_grow(bank, 4)
    publish(run, actor=None, at=NOON + timedelta(days=2))  # the bank has grown between asking and publishing
    result = result_of(compare(bank))
    assert accuracy_of(result) == (1, 3)
    assert [(one["n_missing"], one["n_not_asked"]) for one in result["models"]] == [(0, 4)]


def test_a_question_in_another_wording_is_of_an_earlier_revision(coordinator: Client, bank: QuestionBank) -> None:
    send(bank, "Good", Q1="B", Q2="B")
    later = brought_later(bank)
    for number in (1, 3):  # 3 was asked and left out by the file
        old = Revision.objects.get(question__bank=bank, question__number=number)
        Revision.objects.filter(pk=old.pk).update(superseded_by=later)
        new = Revision.objects.get(pk=old.pk)
        new.pk, new.number, new.stem, new.superseded_by, new.bank_import = None, 2, "Another wording?", None, later
        new.save(force_insert=True)
        AnswerKey.objects.filter(revision=old).update(revision=new)
    assert gather(bank).entrants[0].facts["n_elsewhere"] == 1
    result = result_of(compare(bank))
    assert accuracy_of(result) == (1, 1)
    assert [(one["n_missing"], one["n_not_asked"], one["n_earlier"]) for one in result["models"]] == [(0, 0, 2)]
    assert "2 of an earlier revision" in " ".join(coordinator.get(PAGE).content.decode().split())


def test_clusters_are_patients_where_known(bank: QuestionBank) -> None:
    send(bank, "Good", Q1="B")
    same_patient(bank, 1, 2)
    arrays = gather(bank)
    assert (arrays.cluster.tolist(), arrays.cluster_level) == ([0, 0, 1], "patient where known, else exam")


def test_without_a_run_or_a_key_nothing_is_compared(bank: QuestionBank) -> None:
    with refuses(PredictionsRefused, "nothing_to_compare", match="main run"):
        compare(bank)


def test_who_sees_it_is_led_to_it(client: Client, bank: QuestionBank, cora: User, ada: User) -> None:
    """Not the submitter of a model on the bank: scores would tell them the keys."""
    mona = make_person("Mona", Role.MODEL_SUBMITTER)
    send(bank, "Mine", mona, Q1="B")
    compare(bank)
    for person, knows in ((cora, True), (ada, True), (mona, False)):
        client.force_login(person)
        assert (PAGE in client.get("/models/").content.decode()) == knows
        assert {client.get(one).status_code for one in (PAGE, FILE)} == {200 if knows else 403}


def test_runs_of_a_study_are_no_part_of_it(coordinator: Client) -> None:
    study = make_study("Trial", n_cases=1)
    import_file(entry_named("Model"), Target.of_study(study), answers(**{"1": "B"}))
    assert coordinator.get(PAGE).context["bank"] is None
    assert coordinator.get(PAGE, {"bank": study.bank.slug}).status_code == 404


@pytest.mark.parametrize("n", [1, 6])
def test_the_page_costs_few_queries(
    coordinator: Client, bank: QuestionBank, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(n):
        send(bank, f"M{number}", Q1="A", Q2="B")
        make_revision(bank, 100 + number)
    compare(bank)
    # session, person, roles; banks; comparison; job; runs and imports that would be read now; runs with explanations
    with django_assert_num_queries(9):
        coordinator.get(PAGE)
