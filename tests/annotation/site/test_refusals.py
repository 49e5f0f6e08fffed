"""A refusal that no view shows in a place of its own: a page for people, JSON for scripts, one line for commands."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

from annotation.management.base import ActCommand
from annotation.models import QuestionBank, ReviewRound
from annotation.refusals import Refused
from annotation.site.sentences import the_one
from rexvqa_site.urls import urlpatterns as site_urls
from tests.annotation.review.cases import NOON, make_round

FULL = Refused("full", "The round is full. Choose another one.", left=0)


def refuse(request: HttpRequest, status: int) -> HttpResponse:
    raise Refused("full", "The round is full. Choose another one.", status=status, left=0)


urlpatterns = [path("refuse/<int:status>/", refuse), *site_urls]


@pytest.mark.parametrize(
    ("status", "title"), [(409, "This was not done"), (422, "This was not done"), (403, "Not allowed")]
)
@override_settings(ROOT_URLCONF=__name__)
def test_a_person_reads_the_sentence_on_a_page(reviewer: Client, status: int, title: str) -> None:
    answer = reviewer.get(f"/refuse/{status}/")
    assert answer.status_code == status
    assert title in answer.text
    assert "The round is full. Choose another one." in answer.text


@override_settings(ROOT_URLCONF=__name__)
def test_a_script_gets_the_word_the_sentence_and_the_facts(reviewer: Client) -> None:
    for headers in ({"HX-Request": "true"}, {"Accept": "application/json"}):
        answer = reviewer.get("/refuse/409/", headers=headers)
        assert answer.status_code == 409
        assert answer.json() == {"reason": "full", "message": "The round is full. Choose another one.", "left": 0}


@override_settings(ROOT_URLCONF=__name__)
def test_what_nobody_may_know_of_is_not_found(reviewer: Client) -> None:
    answer = reviewer.get("/refuse/404/")
    assert answer.status_code == 404
    assert "full" not in answer.text


class RefusedCommand(ActCommand):
    unchanged = "Nothing was written."

    def handle(self, *args: Any, **options: Any) -> None:
        raise options["error"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FULL, "The round is full. Choose another one. Nothing was written."),
        (FileNotFoundError(2, "No such file or directory", "a.csv"), "a.csv: No such file or directory. Nothing was"),
        (OSError("the pipe broke"), "the pipe broke. Nothing was written."),
    ],
)
def test_a_command_says_it_in_one_line(error: Exception, said: str) -> None:
    options = {"force_color": False, "no_color": True, "skip_checks": True, "stdout": None, "stderr": None}
    with pytest.raises(CommandError, match=said) as caught:
        RefusedCommand().execute(error=error, **options)
    assert caught.value.returncode == 2


# --- which row a word on the command line means ---


COMMANDS = [
    ("import_predictions", "answers.json", "--model", "M", "--bank", "twice"),
    ("export_reviews", "--round", "round", "--format", "csv", "--output", "reviews.csv"),
]


@pytest.mark.django_db
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_word_that_could_mean_two_is_refused(command: tuple[str, ...]) -> None:
    QuestionBank.objects.create(name="One", slug="twice", created_at=NOON)
    QuestionBank.objects.create(name="twice", slug="two", created_at=NOON)
    other = make_round(n_questions=1, name="Other")
    ReviewRound.objects.filter(pk=other.pk).update(name="round", slug="other")
    make_round(n_questions=1, name="First")
    ReviewRound.objects.filter(name="First").update(slug="round")
    with pytest.raises(CommandError, match=r"could mean .* and .*: give what only one of them is called") as refusal:
        call_command(*command)
    assert refusal.value.returncode == 2


@pytest.mark.django_db
def test_name_and_address_of_one_row_are_one_meaning() -> None:
    one = QuestionBank.objects.create(name="one", slug="one", created_at=NOON)
    assert the_one(QuestionBank.objects.all(), "one", "bank") == one
    with pytest.raises(CommandError, match=r"There is no bank named 'two'\. Banks: one"):
        the_one(QuestionBank.objects.all(), "two", "bank")
