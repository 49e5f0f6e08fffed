"""In the middle of a study every address is asked for, with every kind of token: no answer tells the worlds apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotation.api.questionbank import question_list
from annotation.api.resources import ListOf
from annotation.enums import Role
from annotation.models import Assignment, GenerationRun, Image, Job, PromptVersion, Rendition, Upload, User
from annotation.models.people import TokenScope
from annotation.people.tokens import make_token, place_named
from readerstudy.acts import studies
from readerstudy.exports.exporting import StudyTable
from readerstudy.models import Analysis, AnalysisReport, Enrolment, ModelEntry, ModelRun, PredictionRun, ReaderStudy
from tests.conftest import NOON, make_person
from tests.readerstudy.blinding.recording import Recorder
from tests.readerstudy.blinding.searching import Search
from tests.readerstudy.blinding.session import Recording, difference, recording_of, world_of
from tests.readerstudy.blinding.truth import ONE, OTHER, Truth
from tests.readerstudy.blinding.walk import NOBODY, Walk
from tests.readerstudy.blinding.worlds import World
from tests.readerstudy.studies import places_of
from tests.sweeps import in_share, is_whole

pytestmark = pytest.mark.django_db
ENDS = frozenset({"logout", "session-end", "reading-withdraw", "reading-consent"})  # the session, or taking part

PAGES = {
    *("home", "profile", "token-new", "password-change", "audit-log", "own-data", "jobs", "review-rounds", "readings"),
    *("mentions", "mfa_index", "account_reauthenticate", "open-sessions", "email-confirm"),
}
OPEN = {"password-reset", "password-reset-sent", "password-reset-confirm"}
ENTRY = {"reading", "reading-consent-copy", "reading-state"}
API = {"api-me", "api-jobs", "about-api", "about-api-document"}
STEPS = {"reading-room", "reading-session", "reading-facts", "reading-display", "reading-instructions", "rendition"}


class As(StrEnum):
    """Who asks, after three cases were read."""

    READER = "reader"
    LEFT = "who left"
    STRANGER = "stranger"
    NOBODY = "nobody"


SHOWN = {  # which pages answer
    As.READER: PAGES | OPEN | API | ENTRY | STEPS,
    As.LEFT: PAGES | OPEN | API | ENTRY,
    As.STRANGER: PAGES | OPEN | API,
    As.NOBODY: OPEN | {"login", "account_login"},
}


def patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for entry in resolver.url_patterns:
        yield from patterns(entry) if isinstance(entry, URLResolver) else [entry]


def addresses(world: World) -> Iterator[tuple[str, str]]:
    """The name and the address of everything on the site, each with what it would show of this world."""
    of_page, anywhere = meant(world)
    for pattern in patterns(get_resolver()):
        name = str(pattern.name)
        if name in ENDS:
            continue
        parts = list(pattern.pattern.converters) or list(pattern.pattern.regex.groupindex)
        page_name = name.removeprefix("api-")
        closest = max((page for page in of_page if page_name.startswith(page)), key=len, default="")
        stands_for = {**anywhere, **of_page.get(closest, {})}
        for values in product(*(stands_for.get(part, [NOBODY]) for part in parts)):
            yield name, reverse(name, kwargs=dict(zip(parts, values, strict=True)))


def meant(world: World) -> tuple[dict[str, dict[str, list[Any]]], dict[str, list[Any]]]:
    """What the parts of an address stand for: on the pages whose names begin so, and on every other."""
    study, bank = world.study, world.study.bank
    analysis, run = Analysis.objects.get(), PredictionRun.objects.get()
    people = list(User.objects.order_by("pk").values_list("pk", flat=True))
    of_page: dict[str, dict[str, list[Any]]] = {
        "reading": {"slug": [study.slug], "place": [places_of(world.enrolment)[-1].public_id]},
        "study-dry": {"slug": [study.slug], "place": ["1"], "act": ["open", "commit"]},
        "study-export": {"slug": [study.slug], "table": StudyTable.values(), "form": ["csv"]},
        "study-codebook": {"slug": [study.slug], "table": StudyTable.values()},
        "study-reader": {"slug": [study.slug], "public_id": [world.others[0].public_id]},
        "study-job": {"slug": [study.slug], "public_id": [Job.objects.get().public_id]},
        "study-figure": {
            "slug": [study.slug],
            "public_id": [analysis.public_id],
            "name": ["accuracy"],
            "form": ["svg"],
        },
        "shared-figure": {"name": ["accuracy"], "form": ["svg"]},
        "study": {"slug": [study.slug], "public_id": [analysis.public_id]},
        "round": {"slug": ["round"], "form": ["csv"]},
        "review-worklist": {"slug": ["round"]},
        "review-continue": {"slug": ["round"]},
        "review": {"public_id": list(Assignment.objects.values_list("public_id", flat=True))},
        "sample": {"slug": ["sample"]},
        "job": {"public_id": [Job.objects.get().public_id]},
        "image": {"public_id": list(Image.objects.values_list("public_id", flat=True)[:2])},
        "quarantine": {"public_id": list(Image.objects.values_list("public_id", flat=True)[:1])},
        "rendition": {"name": list(Rendition.objects.order_by("pk").values_list("name", flat=True))},
        "upload": {"public_id": [Upload.objects.get().public_id]},
        "prediction-import": {"public_id": [run.entry.public_id, Upload.objects.get().public_id]},
        "prediction-run": {"public_id": [run.public_id]},
        "model-run": {"public_id": [ModelRun.objects.get().batch.public_id]},
        "generation-run": {"public_id": [GenerationRun.objects.get().public_id]},
        "prompt": {"public_id": [PromptVersion.objects.get().public_id]},
        "model": {"public_id": [ModelEntry.objects.get().public_id]},
        "person": {"pk": people},
        **{f"round-{act}": {"slug": ["round"], "pk": people} for act in ("reviewer", "let-in", "reassign")},
    }
    anywhere: dict[str, list[Any]] = {
        "slug": [bank.slug],
        "number": [1, 2],
        "revision": [1],
        "version": [1],
        "pk": people[:1],  # elsewhere it is the number of something else
        "membership": [1],
        "first": [0],
        "second": [1],
        "form": ["csv", "json"],
        "width": ["one"],
        "name": ["accuracy"],
        "report_id": [AnalysisReport.objects.get().public_id],
    }
    return of_page, anywhere


def everything(truth: Truth, folder: Path, who: As, *, only: str = "") -> tuple[Recording, set[tuple[str, int]]]:
    """Every address is asked for by GET and POST, by HEAD where it opens; which page answered how."""
    answered: set[tuple[str, int]] = set()
    with world_of(truth, folder, n_cases=9, n_practice=0) as (world, web):
        walk = Walk(world, web)
        walk.enter()
        state = walk.begin()
        for _case in range(3):
            state = walk.read(state)
        become(who, world, web)
        for name, address in addresses(world):
            if not (name.startswith(only) if only else in_share(name)):
                continue
            read = web.get(address).status_code
            heads = [web.head(address).status_code] if read < 400 else []
            answered |= {(name, status) for status in (read, *heads, web.post(address).status_code)}
        recording = recording_of(world, web)
    return recording, answered


def become(who: As, world: World, web: Recorder) -> None:
    if who == As.LEFT:
        Enrolment.objects.filter(pk=world.enrolment.pk).update(withdrawn_at=NOON)
    elif who != As.READER:
        web.client.logout()
    if who == As.STRANGER:
        web.client.force_login(make_person("Stan"))


@pytest.mark.sweep
@pytest.mark.parametrize("who", [As.READER, *(pytest.param(who, marks=pytest.mark.check) for who in list(As)[1:])])
def test_every_address_is_the_same_in_both_worlds_and_tells_nothing(who: As, tmp_path: Path) -> None:
    one, answered = everything(ONE, tmp_path, who)
    other, again = everything(OTHER, tmp_path, who)
    assert difference(one, other) == ""
    assert answered == again
    assert len(one.exchanges) > 900 or not is_whole()
    for recording in (one, other):
        assert Search(recording.truth.tokens()).leaks(recording.exchanges) == []
    assert not [name for name, status in answered if status == 500]
    assert {name for name, status in answered if status == 200} == {name for name in SHOWN[who] if in_share(name)}


def test_a_page_of_coordinators_that_opens_to_the_reader_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studies, "knows_study", lambda _person, _study: True)
    leaky, answered = everything(ONE, tmp_path, As.READER, only="study-watch")
    assert ("study-watch", 200) in answered
    assert Search(ONE.tokens()).leaks(leaky.exchanges)


# --- the API with tokens of people who must not know -----------------------------------------------
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
