"""People and questions are found however capitals and accents are written, on both databases."""

from __future__ import annotations

import pytest
from django.http import QueryDict
from django.test import Client

from annotation.models import User
from annotation.people.accounts import people_matching
from tests.annotation.review.cases import make_bank, make_revisions

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
APART = "Noe\u0301mie Co\u0302te\u0301"  # each accent after its letter
NAMES = ("Jörg Müller", "Łukasz Nowak", "Sinéad O’Brien", APART, "Émile Rey")


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("MÜLLER", "Jörg Müller"),
        ("Mu\u0308ller", "Jörg Müller"),
        ("łukasz", "Łukasz Nowak"),
        ("Noémie", APART),
        ("NOÉMIE CÔTÉ", APART),
        ("émile", "Émile Rey"),
        ("rey", "Émile Rey"),
    ],
)
def test_people_are_found_by_their_names(search: str, found: str) -> None:
    for number, name in enumerate(NAMES):
        User.objects.create_user(f"person{number}@example.org", None, name=name)
    assert [one.name for one in people_matching(search)] == [found]


@pytest.mark.parametrize("search", ["ödem", "ÖDEM", "O\u0308dem"])
def test_questions_are_found_by_their_words(coordinator: Client, search: str) -> None:
    make_revisions(
        make_bank("Mine"), {1: {"stem": "Ödem im rechten Unterfeld?"}, 2: {"stem": "O\u0308dem links?"}, 3: {}}
    )
    asked = QueryDict(mutable=True)
    asked["q"] = search
    page = coordinator.get(f"/banks/mine/?{asked.urlencode()}").content.decode()
    assert "rechten Unterfeld" in page
    assert "links?" in page
    assert "/banks/mine/questions/3/" not in page
