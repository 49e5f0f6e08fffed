"""Where freezing are read, and the box on the page that freezes."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.models import AnswerKey, Report, User
from readerstudy.enums import Information, StudyState
from readerstudy.models import ReaderStudy
from readerstudy.views.design import freezing
from tests.pages import markup
from tests.readerstudy.design.drafts import make_draft
from tests.readerstudy.studies import make_study

ADDRESS, FREEZE = "/studies/trial/freezing/", "/studies/trial/freeze/"


def tell(study: ReaderStudy, number: int, text: str) -> None:
    revision = study.cases.get(block="main", number=number).revision_id
    Report.objects.filter(pk__in=AnswerKey.objects.filter(pk=revision).values("report")).update(indication=text)


@pytest.fixture
def draft(cora: User) -> ReaderStudy:
    """Of four cases the second tells of the key, the third nothing at all."""
    study = make_draft(cora)
    study.arms.update(information=Information.INDICATION)
    for number, text in ((1, "Cough <b>"), (2, "Pneumothorax?"), (3, ""), (4, "Fever")):
        tell(study, number, text)
    return study


def test_all_are_listed_with_marked_words_and_who_has_none(coordinator: Client, draft: ReaderStudy) -> None:
    page = markup(coordinator.get(ADDRESS))
    assert "<mark>Pneumothorax</mark>?" in page
    assert "word of the key" in page
    assert "Cough &lt;b&gt;" in page
    assert "1 case has no indication in its report: 3." in " ".join(page.split())
    only = markup(coordinator.get(ADDRESS + "?marked"))
    assert "Pneumothorax" in only
    assert "Fever" not in only


def test_they_come_by_pages(coordinator: Client, draft: ReaderStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing, "PER_PAGE", 2)
    first, second = (coordinator.get(f"{ADDRESS}?page={n}").content.decode() for n in (1, 2))
    assert ("Cough" in first, "Fever" in first, "Fever" in second) == (True, False, True)


def test_where_none_shows_there_is_nothing_to_read(coordinator: Client, draft: ReaderStudy) -> None:
    draft.arms.update(information=Information.NONE)
    assert "nothing to read" in coordinator.get(ADDRESS).content.decode()
    assert "indications_read" not in coordinator.get(FREEZE).content.decode()


@pytest.mark.parametrize("n", [2, 8])
def test_queries_do_not_grow_with_the_cases(
    coordinator: Client, cora: User, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_draft(cora, n=n).arms.update(information=Information.INDICATION)
    coordinator.get(ADDRESS)
    with django_assert_num_queries(11):
        coordinator.get(ADDRESS)


def read_on(page: str) -> str:
    found = re.search(r'name="indications" value="(\w{64})"', page)
    assert found
    return found[1]


def test_freezing_needs_the_box_and_keeps_who_ticked_it(coordinator: Client, draft: ReaderStudy, cora: User) -> None:
    page = coordinator.get(FREEZE).content.decode()
    assert 'name="indications_read" required' in page
    assert "Read the 3 indications" in page
    read = read_on(page)
    assert "state that none" in coordinator.post(FREEZE, {"indications": read}, follow=True).content.decode()
    draft.refresh_from_db()
    assert draft.state == StudyState.DRAFT
    coordinator.post(FREEZE, {"indications": read, "indications_read": "on"})
    draft.refresh_from_db()
    assert draft.state == StudyState.FROZEN
    shown = " ".join(coordinator.get("/studies/trial/").content.decode().split())
    assert f"read in all cases, none gives an answer away: {cora.name}" in shown


def test_what_changed_since_the_page_was_shown_has_to_be_read_again(coordinator: Client, draft: ReaderStudy) -> None:
    read = read_on(coordinator.get(FREEZE).content.decode())
    tell(draft, 4, "Nodule")
    answer = coordinator.post(FREEZE, {"indications": read, "indications_read": "on"}, follow=True)
    assert "as they stand now" in answer.content.decode()
    draft.refresh_from_db()
    assert draft.state == StudyState.DRAFT


def test_a_study_that_was_frozen_before_says_that_nobody_stated_it(coordinator: Client) -> None:
    study = make_study("Trial", n_cases=1, state=StudyState.DRAFT)
    study.arms.update(information=Information.INDICATION)
    ReaderStudy.objects.filter(pk=study.pk).update(state=StudyState.FROZEN)
    assert "nobody stated that they were read" in coordinator.get("/studies/trial/").content.decode()
