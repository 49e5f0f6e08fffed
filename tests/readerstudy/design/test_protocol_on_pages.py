"""The hash of the frozen protocol stands on every page of a study."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import User
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.looking import share_results
from tests.annotation.review.cases import NOON
from tests.readerstudy.results.made import analysed_study
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db

OF_A_STUDY = (
    *("study", "study-cases", "study-arms", "study-rules", "study-readers", "study-dry-run", "study-freeze"),
    *("study-watch", "study-invite", "study-import", "study-rereview", "study-models", "study-data"),
)
OF_AN_ANALYSIS = (
    *("study-analysed", "study-agreement", "study-categories", "study-items", "study-times", "study-report"),
    "study-share",
)
SHARED = ("shared-analysed", "shared-agreement", "shared-categories", "shared-times")


@pytest.fixture
def analysis() -> Analysis:
    made = analysed_study()
    ReaderStudy.objects.update(unblinded_at=NOON)
    made.study.refresh_from_db()
    return made


def without(client: Client, pages: list[str], sha256: str) -> list[str]:
    """The pages on which the hash does not stand."""
    answers = {page: client.get(page) for page in pages}
    assert {page: answer.status_code for page, answer in answers.items() if answer.status_code != 200} == {}
    return [page for page, answer in answers.items() if sha256[:12] not in answer.content.decode()]


def test_on_the_pages_of_coordinators(coordinator: Client, analysis: Analysis) -> None:
    study = analysis.study
    pages = [reverse(name, args=[study.slug]) for name in OF_A_STUDY]
    assert without(coordinator, pages, study.protocol_sha256) == []


def test_a_frozen_design_asks_for_no_text_any_more(coordinator: Client, draft: ReaderStudy) -> None:
    ReaderStudy.objects.update(instructions="")
    assert "Write it" in coordinator.get("/studies/trial/dry-run/").content.decode()
    ReaderStudy.objects.update(state=StudyState.OPEN)
    assert "Write it" not in coordinator.get("/studies/trial/dry-run/").content.decode()


def test_on_the_page_of_one_reader_and_of_interim_results(coordinator: Client, rita: User) -> None:
    study = make_study(state=StudyState.OPEN)
    pages = [reverse("study-reader", args=[study.slug, enrol(study, rita).public_id])]
    assert without(coordinator, pages, study.protocol_sha256) == []
    reason = {"reason": "the ethics board asks for the numbers"}
    interim = coordinator.post(reverse("study-interim", args=[study.slug]), reason)
    assert interim.status_code == 200
    assert study.protocol_sha256[:12] in interim.content.decode()


def test_on_the_pages_of_results_that_of_the_study_that_was_analysed(
    client: Client, coordinator: Client, analysis: Analysis, cora: User
) -> None:
    sha256 = json.loads(analysis.result)["protocol_sha256"]
    args = [analysis.study.slug, analysis.public_id]
    pages = [reverse(name, args=args) for name in OF_AN_ANALYSIS]
    assert without(coordinator, [*pages, reverse("study-pair", args=[*args, 0, 2])], sha256) == []
    token = share_results(analysis, days=7, note="", actor=cora, at=timezone.now()).token
    client.logout()
    assert without(client, [reverse(name, args=[token]) for name in SHARED], sha256) == []
