"""Which row a word on the command line means."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from annotation.models import QuestionBank, ReviewRound
from annotation.site.sentences import the_one
from tests.annotation.review.cases import NOON, make_round

pytestmark = pytest.mark.django_db
COMMANDS = [
    ("import_predictions", "answers.json", "--model", "M", "--bank", "twice"),
    ("export_reviews", "--round", "round", "--format", "csv", "--output", "reviews.csv"),
]


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


def test_name_and_address_of_one_row_are_one_meaning() -> None:
    one = QuestionBank.objects.create(name="one", slug="one", created_at=NOON)
    assert the_one(QuestionBank.objects.all(), "one", "bank") == one
    with pytest.raises(CommandError, match=r"There is no bank named 'two'\. Banks: one"):
        the_one(QuestionBank.objects.all(), "two", "bank")
