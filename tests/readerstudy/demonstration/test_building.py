"""The studies of the demonstration: from accepted questions, labelled simulated, made once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.test import Client

from annotation.contributions import contributed
from annotation.demonstration.simulated_exams import EXAMS
from annotation.enums import QuestionState, Role
from annotation.models import Assignment, Exam, Image, QuestionBank, Review, User
from readerstudy.analysis.comparing_models import inputs_now
from readerstudy.demonstration import finished
from readerstudy.demonstration.finished import (
    ASKED_TWICE,
    BANK,
    MODELS,
    OPEN_STUDY,
    READERS,
    STUDY,
    Predicted,
    Read,
    SimulatedCase,
    add_studies,
    simulate,
)
from readerstudy.enums import Block, StudyState
from readerstudy.models import Analysis, PredictionRun, ReaderStudy, Response, Voiding
from readerstudy.results.comparison_job import newest_comparison
from readerstudy.results.looking import stored_result
from tests.annotation.review.cases import NOON, good_judgement, make_round
from tests.annotation.review.pixels import give_pixels
from tests.conftest import make_person

pytestmark = pytest.mark.check


@pytest.fixture
def bank(db: None, rita: User) -> QuestionBank:
    """Eight simulated questions of eight exams, accepted by Rita."""
    review_round = make_round(rita, n_questions=8, name="Pilot")
    for assignment in Assignment.objects.filter(round=review_round):
        judged = good_judgement()
        Review.objects.create(
            assignment=assignment, grades=dict(judged.grades), verdict="accept", submitted_at=NOON, simulated=True
        )
    for seed, image in enumerate(Image.objects.all()):
        give_pixels(image, seed=seed)
    bank = review_round.plan.bank
    bank.questions.update(state=QuestionState.ACCEPTED)
    bank.simulated = True
    bank.save()
    for account in contributed().accounts:
        User.objects.create_user(account.email, account.password, name=account.name)
    return bank


def build(bank: QuestionBank, folder: Path, cora: User) -> None:
    """With two chests of one patient, of which four small exams are made."""

    def tell(words: str, done: int, total: int, /) -> None:
        assert 0 <= done <= total

    add_studies(bank, exams=(EXAMS[9], EXAMS[21]), folder=folder, coordinator=cora, at=NOON, tell=tell)


def test_one_study_waits_for_its_readers_and_one_is_finished(bank: QuestionBank, tmp_path: Path) -> None:
    cora = make_person("Cora", Role.COORDINATOR)
    build(bank, tmp_path / "files", cora)
    waiting, finished = (ReaderStudy.objects.get(name=name) for name in (OPEN_STUDY, STUDY))
    assert (waiting.state, finished.state) == (StudyState.OPEN, StudyState.ANALYSED)
    assert waiting.cases.filter(block=Block.MAIN).count() == 6
    assert {one.reader.email for one in waiting.enrolments.all() if one.reader} == {
        one.email for one in contributed().accounts if one.role == Role.READER
    }
    check_simulated(waiting, finished)
    check_finished(finished)
    check_first_page(finished, cora)

    build(bank, tmp_path / "files", cora)
    assert ReaderStudy.objects.count() == 2
    assert Analysis.objects.count() == 2
    assert Voiding.objects.count() == 2
    assert not (tmp_path / "files").exists()
    check_compared(finished.bank)


def check_simulated(waiting: ReaderStudy, finished: ReaderStudy) -> None:
    assert waiting.simulated
    assert finished.simulated
    assert finished.bank.simulated
    assert finished.bank.name == BANK
    images = Image.objects.filter(exam__bank=finished.bank)
    assert {(image.simulated, image.attribution) for image in images} == {(True, "made by this program")}
    names = [*READERS, *MODELS, *PredictionRun.objects.values_list("file_name", flat=True)]
    assert all("imulated" in name for name in names)


def check_finished(study: ReaderStudy) -> None:
    """Read, predicted, one case voided before and one after the first look, analysed both times."""
    assert Response.objects.filter(reading__enrolment__study=study).count() == 3 * 20
    assert PredictionRun.objects.filter(study=study, is_named=True, n_missing=0, n_unknown=0).count() == len(MODELS)
    newest, first = Analysis.objects.filter(study=study)
    assert study.unblinded_at == first.created_at
    result, before = stored_result(newest), stored_result(first)
    assert [one["decided"] for one in before["excluded"]] == ["before_unblinding"]
    assert sorted(one["decided"] for one in result["excluded"]) == ["after_unblinding", "before_unblinding"]
    assert set(result["variants"]) == {"with_voided", "without_all_voided"}
    assert result["order"][:3] == [*READERS]
    assert len(result["time"]["readers"]) == len(READERS)


def check_first_page(study: ReaderStudy, cora: User) -> None:
    """It shows what a study can have: a limit of time, and cases with an exam of the same patient from before."""
    client = Client()
    client.force_login(cora)
    said = " ".join(client.get(f"/studies/{study.slug}/").content.decode().split())
    assert "180 seconds for a case" in said
    assert "shown beside 10 cases" in said
    for exam in Exam.objects.filter(bank=study.bank, prior__isnull=False).select_related("prior"):
        assert exam.prior
        assert exam.patient_pseudonym == exam.prior.patient_pseudonym
        assert (exam.age_years or 0) - (exam.prior.age_years or 0) == EXAMS[21].spec.age - EXAMS[9].spec.age


def check_compared(bank: QuestionBank) -> None:
    """The models stand compared on the whole bank from the first start, and one of them has answered it twice."""
    runs = PredictionRun.objects.filter(bank=bank, study=None, n_missing=0, n_unknown=0)
    assert sorted(runs.filter(is_named=True).values_list("entry__name", flat=True)) == sorted(MODELS)
    assert [*runs.filter(is_named=False).values_list("entry__name", flat=True)] == [ASKED_TWICE]
    comparison = newest_comparison(bank)
    assert comparison is not None
    assert comparison.inputs_sha256 == inputs_now(bank)
    result = json.loads(comparison.result)
    assert result["simulated"]
    assert len(result["models"]) == len(MODELS)


def test_the_simulated_answers_have_a_plausible_shape_and_are_always_the_same() -> None:
    cases = [
        SimulatedCase(number, "ABCD"[number % 4], ("easy", "medium", "hard")[number % 3]) for number in range(1, 201)
    ]
    readers, models = simulate(cases)
    assert (readers, models) == simulate(cases)
    assert all(0.6 < share_right(readers[name]) < 0.85 for name in READERS)
    assert all(0.15 < share_right(models[name]) < 0.9 for name in MODELS)
    assert sum(not one.option for answers in models.values() for one in answers) > 5
    for answers in readers.values():
        assert sorted(one.position for one in answers) == list(range(1, 201))
        assert all((one.active_ms is None) == (one.option == "") for one in answers)


def share_right(answers: Sequence[Read] | Sequence[Predicted]) -> float:
    return sum(one.option == one.asked.key for one in answers) / len(answers)


def test_a_reader_of_the_demonstration_begins_with_the_consent(
    bank: QuestionBank, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finished, "add_finished_study", lambda *_given, **_named: None)
    build(bank, tmp_path / "files", make_person("Cora", Role.COORDINATOR))
    client.force_login(User.objects.get(email=contributed().accounts[0].email))
    page = client.get("/read/reader-study/", follow=True)
    assert page.status_code == 200
    assert "This is a demonstration" in page.content.decode()
