"""People and questions are found however capitals and accents are written, on both databases."""

from __future__ import annotations

from importlib import import_module
from unicodedata import normalize

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.http import QueryDict
from django.test import Client

from annotation.audit.recording import record
from annotation.models import User
from annotation.people.accounts import people_matching, places_with
from annotation.questionbank.kernels.fields import FieldCheck, read_options
from tests.annotation.review.cases import NOON, make_bank, make_revisions

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
        ("Lukasz", "Łukasz Nowak"),
    ],
)
def test_people_are_found_by_their_names(search: str, found: str) -> None:
    for number, name in enumerate(NAMES):
        User.objects.create_user(f"person{number}@example.org", None, name=name)
    assert [one.name for one in people_matching(search)] == [normalize("NFC", found)]


def test_names_are_stored_in_one_form() -> None:
    made = User.objects.create_user("noemie@example.org", None, name=APART)
    assert made.name == User.objects.get(name=APART).name == normalize("NFC", APART)
    made.name = APART
    made.save()
    assert User.objects.filter(name=normalize("NFC", APART)).exists()
    User.objects.update(name=APART)
    assert User.objects.get().name == normalize("NFC", APART)


def test_wordings_of_a_file_are_stored_in_one_form() -> None:
    check = FieldCheck({"question": "O\u0308dem?", "study_id": "e\u0301"})
    assert (check.text("question"), check.text("study_id")) == ("Ödem?", "e\u0301"), "names of files stay"
    assert read_options("options", ["a", "b", "c", "Ö\u0308"])[0][3] == normalize("NFC", "Ö\u0308")


def test_names_are_sorted_as_people_do() -> None:
    names = ["adam", "Adam", "Ärzte", "Birne", "Łukasz", "Lutz", "Zoe", "Émile", "Ernst"]
    for number, name in enumerate(names):
        User.objects.create_user(f"person{number}@example.org", None, name=name)
    found = [one.name for one in people_matching("")]
    assert [one for one in found if one.casefold() != "adam"] == [
        "Ärzte", "Birne", "Émile", "Ernst", "Łukasz", "Lutz", "Zoe",
    ]  # fmt: skip
    assert {one.casefold() for one in found[:2]} == {"adam"}


def test_programs_list_banks_in_the_order_and_by_the_words_of_pages(coordinator: Client) -> None:
    for name in ("Birne", "Ödem", "Ärzte", "adam", "Łunge"):
        make_bank(name)
    names, address = [], "/api/v1/banks/?sort=name&limit=2"
    while address:
        page = coordinator.get(address).json()
        names += [one["name"] for one in page["results"]]
        address = page["next"]
    assert names == ["adam", "Ärzte", "Birne", "Łunge", "Ödem"]
    [found] = coordinator.get("/api/v1/banks/?name=O\u0308DEM").json()["results"]
    assert found["name"] == "Ödem"


def test_names_from_before_are_brought_into_one_form() -> None:
    bank, other = make_bank("Ödem"), make_bank("Other")
    for pk, name in ((bank.pk, "Ha\u0308nde"), (other.pk, "O\u0308dem")):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE annotation_questionbank SET name = %s WHERE id = %s", [name, pk])
    import_module("annotation.migrations.0015_as_read").compose(apps, None)
    assert set(type(bank).objects.values_list("name", flat=True)) == {"Hände", "Ödem"}
    with connection.cursor() as cursor:
        cursor.execute("UPDATE annotation_questionbank SET name = %s WHERE id = %s", ["Ha\u0308nde", other.pk])
    import_module("annotation.migrations.0015_as_read").compose(apps, None)
    assert type(bank).objects.filter(name="Hände").count() == 1, "another one is called so: it stays"


def test_what_is_left_of_a_person_is_found_in_any_spelling(cora: User) -> None:
    bank = make_bank("Mine")
    with transaction.atomic():
        record("bank.changed", actor=None, at=NOON, subject=bank, facts={"note": "asked MÜLLER about it"})
    assert places_with("Mu\u0308ller") == {"annotation_auditevent.facts": 1}


@pytest.mark.parametrize("search", ["ödem", "ÖDEM", "O\u0308dem", "Odem"])
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
