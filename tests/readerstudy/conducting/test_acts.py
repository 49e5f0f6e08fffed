"""Opening, closing, copying, putting away: asked back first, for coordinators only."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import AuditEvent, User
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from tests.readerstudy.design.drafts import make_draft
from tests.readerstudy.studies import enrol, make_study

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


def test_only_a_draft_is_deleted(coordinator: Client, cora: User) -> None:
    make_study("Frozen", n_cases=1, state=StudyState.FROZEN)
    make_draft(cora)
    page = coordinator.post("/studies/frozen/delete/", YES, follow=True).content.decode()
    assert "archive it instead" in page
    assert coordinator.post("/studies/trial/delete/", YES).url == "/studies/"  # type: ignore[attr-defined]
    assert [study.slug for study in ReaderStudy.objects.all()] == ["frozen"]
