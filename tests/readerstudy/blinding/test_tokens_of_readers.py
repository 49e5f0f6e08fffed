"""The whole API, asked with every kind of token of people who must not know: no answer tells the worlds apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.urls import get_resolver

from annotation.api.questionbank import question_list
from annotation.api.resources import ListOf
from annotation.enums import Role
from annotation.models import User
from annotation.models.people import TokenScope
from annotation.people.tokens import make_token, place_named
from readerstudy.models import ReaderStudy
from tests.annotation.review.cases import NOON
from tests.conftest import make_person
from tests.readerstudy.blinding.recording import Recorder
from tests.readerstudy.blinding.searching import Search
from tests.readerstudy.blinding.session import Recording, difference, recording_of, world_of
from tests.readerstudy.blinding.test_every_address import addresses, patterns
from tests.readerstudy.blinding.truth import ONE, OTHER, Truth
from tests.sweeps import in_share

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Kind:
    """A token: of whom (somebody new, if the world has nobody of that name), with which role, good where."""

    name: str
    role: Role
    scope: TokenScope = TokenScope.SITE
    slug: str = ""


KINDS = (
    Kind("Rea", Role.READER, TokenScope.STUDY, "blind-trial"),
    Kind("Remo", Role.REVIEWER),
    Kind("Remo", Role.REVIEWER, TokenScope.ROUND, "round"),
    Kind("Sue", Role.MODEL_SUBMITTER),
    Kind("Sue", Role.MODEL_SUBMITTER, TokenScope.BANK, "blind"),
    Kind("Dina", Role.DEIDENTIFIER),
)
ALL = {str(one.name): one for one in patterns(get_resolver())}
QUERIES = ("?sort=-state", "?task=presence", "?difficulty=hard", "?state=disputed", "?fields=key")


def ask_for(address: str, web: Recorder, token: str, *, is_list: bool) -> Iterator[int]:
    """Read and send to an address; a list that opens is asked as a program could ask for more of it.

    Who is refused a list is so before its question is read.
    """
    sent = f"Bearer {token}"
    yield (read := web.get(address, authorization=sent).status_code)
    yield web.post(address, authorization=sent).status_code
    for query in QUERIES if is_list and read < 400 else ():
        yield web.get(address + query, authorization=sent).status_code


def heard(truth: Truth, folder: Path, *kinds: Kind, only: str = "") -> tuple[Recording, set[tuple[Kind, int]]]:
    """All that programs with these tokens are told: everything is asked for, and everything sent."""
    statuses: set[tuple[Kind, int]] = set()
    with world_of(truth, folder, n_cases=4, n_practice=0) as (world, web):
        people = {kind.name: User.objects.filter(name=kind.name).first() for kind in kinds}
        web.client.logout()
        for kind in kinds:
            person = people[kind.name] = people[kind.name] or make_person(kind.name, kind.role)
            place = place_named(person, kind.scope, kind.slug)
            made = make_token(person, "spy", role=kind.role, place=place, days=30, actor=person, at=NOON)
            for name, address in addresses(world):
                if name == only or (name.startswith("api-") and not only and (in_share(name) or name == "api-me")):
                    view: Any = ALL[name].callback
                    found = ask_for(address, web, made.text, is_list=issubclass(view.cls, ListOf))
                    statuses |= {(kind, status) for status in found}
        recording = recording_of(world, web)
    return recording, statuses


@pytest.mark.sweep
def test_no_token_of_somebody_blinded_tells_the_worlds_apart(tmp_path: Path) -> None:
    one, statuses = heard(ONE, tmp_path, *KINDS)
    other, again = heard(OTHER, tmp_path, *KINDS)
    assert difference(one, other) == ""
    assert statuses == again
    assert {(kind, 200) for kind in KINDS} <= statuses
    assert not [kind for kind, status in statuses if status == 500]
    for recording in (one, other):
        assert Search(recording.truth.tokens()).leaks(recording.exchanges) == []


def test_a_resource_that_opens_to_the_reader_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The net has no hole: with the role of the list and its reach taken away, the words are found."""
    monkeypatch.setattr(question_list.Questions, "roles", ())
    monkeypatch.setattr(question_list, "bank_named", lambda _person, slug: ReaderStudy.objects.get().bank)
    leaky, _statuses = heard(ONE, tmp_path, KINDS[0], only="api-questions")
    assert Search(ONE.tokens()).leaks(leaky.exchanges)


def test_all_of_the_api_is_asked() -> None:
    found = {str(one.name) for one in patterns(get_resolver()) if hasattr(one.callback, "cls")}
    assert found == {name for name in ALL if name.startswith("api-")}
