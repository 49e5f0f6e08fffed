"""Every address, asked by everybody by every method: the running program answers as docs/permissions.md says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.backends.django import Template
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import Role, RoundState
from annotation.models import QuestionBank, ReviewRound, User
from annotation.models.people import TokenScope
from annotation.people.tokens import places_of
from annotation.site.permissions import is_adjudicator, is_administrator, may_coordinate
from annotation.views.site.decorators import person_required
from readerstudy.enrolment.reader_status import own_enrolment
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.study.permissions import may_coordinate_study
from tests.annotation.api.asking import program_of
from tests.annotation.review.cases import make_bank, make_round
from tests.browser.pages.endpoints import ENDPOINTS
from tests.browser.pages.factors import PROVIDER
from tests.browser.pages.furnishing import furnish
from tests.browser.pages.sending import NAMED
from tests.permissions.__main__ import should_write
from tests.permissions.document import DOCUMENT, permissions_document
from tests.permissions.people import Asker, people_of
from tests.permissions.rule_of_routes import OWN
from tests.permissions.rules import ROLE
from tests.permissions.table import (
    ANYONE,
    METHODS,
    SAFE,
    Answer,
    Line,
    Route,
    expected,
    is_there,
    lines,
    routes,
    things_for,
)
from tests.permissions.things import Thing, things_of
from tests.readerstudy.model_runs.made import STAND_IN
from tests.readerstudy.studies import make_study
from tests.sweeps import in_share

pytestmark = pytest.mark.django_db
# Everybody asks of a thing in these states; in others who has a part in it, and who is answered otherwise there.
FIRST = ("open", "own", "of an own case", "of the site", "")
WITH_PART = (Asker.OF_ROUND, Asker.OF_STUDY)
HAS_PART_OR_SEES = (*WITH_PART, Asker.READER, Asker.REVIEWER, Asker.COORDINATOR, Asker.ADMINISTRATOR)
GONE_WHEN_ARCHIVED = ("bank-chosen", "review-worklist", "review-continue", "review-decisions")
# Whatever bank a token is of: what all share, a list that is empty then, and what is refused for what was sent first.
OF_THE_SITE = (
    *("GET api-matching", "GET api-model", "GET api-model-endpoint", "GET api-model-endpoint-prices"),
    *("GET api-prompt", "POST api-prompt-next", "GET api-review-form", "GET api-sample-questions"),
    *("POST api-release-keys", "POST api-releases", "POST api-releases-plan"),
)
OVER = (StudyState.CLOSED, StudyState.ANALYSED)


@dataclass
class Site:
    people: Mapping[Asker, User | None]
    things: Mapping[str, list[Thing]]
    lines: list[Line]
    asked: list[Line]  # in "make test" those of a share of the addresses


class Asking:
    """Asks as a person, and takes back what came of it. Pages are not rendered: who is let in is known before."""

    def __init__(self, people: Mapping[Asker, User | None], monkeypatch: pytest.MonkeyPatch) -> None:
        def who_asks(_request: HttpRequest) -> User | AnonymousUser:
            return self.person

        monkeypatch.setattr(Template, "render", lambda *_args, **_kwargs: "")
        monkeypatch.setattr("django.contrib.auth.middleware.get_user", who_asks)
        self.person: User | AnonymousUser = AnonymousUser()
        self.people = {who: person or AnonymousUser() for who, person in people.items()}
        self.client = Client(raise_request_exception=False)

    def __call__(self, who: Asker, route: Route, method: str, thing: Thing, **headers: str) -> str:
        self.person = self.people[who]
        self.client.cookies.clear()
        address = reverse(route.name, kwargs={part: thing.values[part] for part in route.parts})
        with transaction.atomic():
            response = self.client.generic(method, address, headers=headers)
            transaction.set_rollback(True)
        status = response.status_code
        is_sent_away = status == 302 and response.headers["Location"].startswith("/login/?next=")
        if is_sent_away or status == 401:
            return (
                Answer.LOG_IN if is_sent_away == (not headers and not route.is_api) else f"{status} instead of log-in"
            )
        return str(status) if status in (403, 404, 405, 429, 500) else Answer.OPENS


@pytest.fixture
def site(settings: Settings, no_log: None) -> Site:
    settings.MODEL_ENDPOINTS = (*NAMED, *ENDPOINTS, STAND_IN)
    settings.OIDC_PROVIDER = PROVIDER
    settings.API_REQUESTS_PER_MINUTE = 10**9
    place = furnish()
    people = people_of(place)
    things = things_of(place)
    all_lines = list(lines(people, things))
    return Site(people, things, all_lines, [line for line in all_lines if in_share(line.route.name)])


@pytest.mark.sweep
def test_every_address_answers_as_the_document_says(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    document = permissions_document(site.lines)
    if should_write():
        DOCUMENT.write_text(document, encoding="utf-8")
        return
    stands, made = DOCUMENT.read_text(encoding="utf-8").splitlines(), document.splitlines()
    differs = [line for line in unified_diff(stands, made, lineterm="", n=0) if line[:2] in ("+|", "-|")]
    assert stands == made, f"{differs}: docs/permissions.md does not say this. Run: python -m tests.permissions"
    ask = Asking(site.people, monkeypatch)
    assert [*wrong_roles(site), *wrong_answers(site, ask), *wrong_methods(site, ask), *wrong_fragments(site, ask)] == []
    assert list(wrong_tokens(site, ask)) == []
    assert list(wrong_when_archived(site, ask)) == []


def test_an_address_of_which_no_row_says_whom_it_lets_in_is_found() -> None:
    new = Route("new", "/new/", ("slug",), person_required(lambda _request: HttpResponse()))
    with pytest.raises(KeyError):
        new.rule("GET")
    with pytest.raises(ValueError, match="empty"):
        things_for(new, {"round": []})


def wrong_roles(site: Site) -> Iterator[str]:
    """What is said to be held where (the page of a person, tokens), and what the policies say of each place."""
    for who, person in site.people.items():
        if person is not None:
            held = {(one.scope, one.pk): one.roles for one in places_of(person)}
            for review_round in ReviewRound.objects.select_related("plan"):
                roles = held.get((TokenScope.ROUND, review_round.pk), frozenset())
                asked = {
                    Role.COORDINATOR: may_coordinate(person, review_round),
                    Role.ADJUDICATOR: is_adjudicator(person, review_round),
                    Role.ADMINISTRATOR: is_administrator(person),
                }
                yield from (f"{who}: {role} of {review_round}" for role in asked if asked[role] != (role in roles))
            for study in ReaderStudy.objects.all():
                roles = held.get((TokenScope.STUDY, study.pk), frozenset())
                asked = {
                    Role.COORDINATOR: may_coordinate_study(person, study),
                    Role.READER: own_enrolment(person, study.slug) is not None,
                }
                yield from (f"{who}: {role} of {study}" for role in asked if asked[role] != (role in roles))


def wrong_answers(site: Site, ask: Asking) -> Iterator[str]:
    first: dict[tuple[str, str], Line] = {}
    for line in sorted(site.asked, key=lambda one: one.thing.label not in FIRST):
        usual = first.setdefault((line.route.name, line.method), line)
        for who, answer, before in zip(Asker, line.answers, usual.answers, strict=True):
            is_asked = line.thing.label in FIRST or answer != before or who in WITH_PART
            if is_asked and (is_asked_by_all(line) or is_first_with(line, who, answer)):
                yield from told(ask, who, line, answer)


def is_asked_by_all(line: Line) -> bool:
    """Not where the role of the site alone decides, nor by a second method that the same rule lets through."""
    rule = line.route.rule(line.method)
    if rule in (ROLE, OWN) or line.route.gate(line.method) == ANYONE:
        return False
    return line.method == "GET" or "GET" not in line.route.methods or rule != line.route.rule("GET")


def is_first_with(line: Line, who: Asker, answer: Answer) -> bool:
    """One person for each answer is always asked."""
    return list(Asker)[line.answers.index(answer)] == who


def told(ask: Asking, who: Asker, line: Line, answer: Answer, **headers: str) -> Iterator[str]:
    if answer == Answer.OPENS and not is_there(line.route):
        answer = Answer.NOT_FOUND
    found = ask(who, line.route, line.method, line.thing, **headers)
    if found != answer:
        yield f"{line.method} {line.route.name} ({line.thing.label}), {who}: {found}, not {answer}"


def wrong_when_archived(site: Site, ask: Asking) -> Iterator[str]:
    """Banks, rounds and studies leave the lists when they are archived; who may read them is as before."""
    QuestionBank.objects.update(archived_at=timezone.now())
    ReviewRound.objects.filter(state=RoundState.CLOSED).update(archived_at=timezone.now())
    ReaderStudy.objects.filter(state__in=OVER).update(archived_at=timezone.now())
    for line in site.asked:
        if line.method == "GET" and (line.thing.label in ("closed", "unblinded") or line.route.name.startswith("bank")):
            for who in HAS_PART_OR_SEES:
                answer = line.answers[list(Asker).index(who)]
                is_gone = line.route.name in GONE_WHEN_ARCHIVED and answer == Answer.OPENS
                yield from told(ask, who, line, Answer.NOT_FOUND if is_gone else answer)


def wrong_methods(site: Site, ask: Asking) -> Iterator[str]:
    """Of the first who comes through the gate, and one of them of nobody."""
    for route in routes():
        if not in_share(route.name):
            continue
        thing = things_for(route, site.things)[0]
        for method in sorted(set(METHODS) - route.methods):
            nobody = [Asker.NOBODY] if method == "DELETE" else []
            for who in (*nobody, let_through(site, route, method, thing)):
                answer, found = expected(route, method, site.people[who], thing), ask(who, route, method, thing)
                if found != answer:
                    yield f"{method} {route.name}, {who}: {found}, not {answer}"


def wrong_tokens(site: Site, ask: Asking) -> Iterator[str]:
    """One for reading changes nothing, and one of another bank, round or study finds no thing, whoever its owner is."""
    cora = site.people[Asker.COORDINATOR]
    assert cora is not None
    foreign = {
        TokenScope.BANK: make_bank("Bank elsewhere").slug,
        TokenScope.ROUND: make_round(name="Round elsewhere").slug,
        TokenScope.STUDY: make_study("Study elsewhere").slug,
    }
    elsewhere = [program_of(cora, Role.COORDINATOR, scope, slug).token for scope, slug in foreign.items()]
    reading = program_of(cora, Role.COORDINATOR).token
    for line in site.asked:
        route = line.route
        if route.is_api:
            finds = elsewhere if route.parts and f"{line.method} {route.name}" not in OF_THE_SITE else []
            for token in (*finds, *([] if line.method in SAFE else [reading])):
                found = ask(Asker.NOBODY, route, line.method, line.thing, authorization=f"Bearer {token}")
                if found not in (Answer.FORBIDDEN, Answer.NOT_FOUND):
                    kind = "for reading" if token == reading else f"of another {[*foreign][elsewhere.index(token)]}"
                    yield f"{line.method} {route.name} ({line.thing.label}), a token {kind}: {found}"


def let_through(site: Site, route: Route, method: str, thing: Thing) -> Asker:
    rest = (who for who in Asker if who != Asker.NOBODY)
    return next(who for who in rest if expected(route, method, site.people[who], thing) == Answer.NO_METHOD)


def wrong_fragments(site: Site, ask: Asking) -> Iterator[str]:
    """HTMX gets 401 where a page would go to the log-in page, and nothing else is decided by it."""
    for line in site.asked:
        if not line.route.is_api and line.thing.label in FIRST:
            for who in (Asker.NOBODY, Asker.COORDINATOR):
                answer = line.answers[list(Asker).index(who)]
                yield from told(ask, who, line, answer, **{"HX-Request": "true"})
