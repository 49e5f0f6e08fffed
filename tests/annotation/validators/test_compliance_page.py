"""The page of compliance: all 18 identifiers with what was found for each."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.models import Finding, QuestionBank, Revision, User
from annotation.questionbank.checking import check_revisions, count_identifiers, dismiss
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.cases import make_bank, make_revisions, reviewing

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank() -> QuestionBank:
    """Two questions with a name, one of them with an e-mail address, too; one without."""
    made = make_bank("Compliant")
    stems = ["Was Dr. Quill told?", "Was Dr. Quill, q@example.org, told?", "What is seen?"]
    make_revisions(made, {number: {"stem": stem} for number, stem in enumerate(stems, start=1)})
    check_revisions(made, Revision.objects.in_bank(made).current(), actor=None, at=NOON)
    Finding.objects.exclude(place="stem").delete()  # of made-up reports
    return made


def test_each_of_the_18_says_its_rule_what_was_found_and_what_was_dismissed(
    client: Client, cora: User, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    dismiss(Finding.objects.get(rule="identifier_email"), reason="An example.", actor=cora, at=NOON)
    client.force_login(cora)
    with django_assert_max_num_queries(20):
        answer = client.get(reverse("bank-compliance", args=[bank.slug]))
    found = {one.identifier.letter: (one.n_open, one.n_dismissed) for one in answer.context["identifiers"]}
    assert "".join(found) == "ABCDEFGHIJKLMNOPQR"
    assert {letter: counts for letter, counts in found.items() if counts != (0, 0)} == {"A": (2, 0), "F": (0, 1)}
    text = answer.content.decode()
    assert f"{reverse('bank', args=[bank.slug])}?finding=identifier_name" in text
    assert "does not apply to text: a photograph is no text" in text
    listed = client.get(reverse("bank", args=[bank.slug]), {"finding": "identifier_name"}).content.decode()
    assert "q@example.org" in listed, "the link leads to the questions that are counted"


def test_what_a_reviewer_judges_is_not_counted(client: Client, bank: QuestionBank) -> None:
    olga, _asked = reviewing(bank, 2)
    client.force_login(olga)
    answer = client.get(reverse("bank-compliance", args=[bank.slug]))
    assert answer.context["identifiers"][0].n_open == 1
    assert "1 question that you review yourself" in answer.content.decode()
    assert count_identifiers(bank, bank.questions.none())[0].n_open == 2
