"""``If-Match`` holds: of several writers who read one state, one changes it and the others are told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import get_resolver

from annotation.api.compared_etags import thing_of
from annotation.api.resources import ListOf, OneOf, Resource
from annotation.enums import Role
from annotation.models import QuestionComment, User
from annotation.models.people import TokenScope
from annotation.views.site.decorators import patterns
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import make_bank, make_revision
from tests.processes import manage, migrated_site, postgres_url

# Things of which each has an act that can be repeated: its address, and the act and body of the n-th round.
THINGS = """
import json, threading
from functools import partial
from datetime import timedelta
from django.db import connection, transaction
from django.utils import timezone
from django.conf import settings
from django.test import Client
from annotation.enums import JobState, Role
from annotation.jobs import queueing
from annotation.models import Image, Job
from tests.annotation.review.cases import make_round
from tests.conftest import NOON, make_person
from tests.readerstudy.predictions.made import entry_named
from tests.readerstudy.studies import enrol, make_study
settings.API_REQUESTS_PER_MINUTE, settings.ALLOWED_HOSTS = 10**6, ["testserver"]
queueing.nudge = lambda public_id: None
cora, rita = make_person("Cora", Role.COORDINATOR), make_person("Rita", Role.REVIEWER)
later = timezone.now() + timedelta(days=9)
review_round = make_round(rita)
bank = review_round.plan.bank
image = Image.objects.filter(exam__bank=bank).first()
study = make_study(deadline_at=later)
reader = enrol(study, make_person("Rolf", Role.READER))
entry = entry_named(submitter=cora)
job = Job.objects.create(kind="rehearsal", title="Job", created_by=cora, created_at=NOON, state=JobState.FAILED)
def either(*acts):
    return lambda n: (acts[n % len(acts)], {})
def day(n):
    return (later + timedelta(days=n + 1)).isoformat()
THINGS = {
    f"banks/{bank.slug}/questions/1/": lambda n: (
        ("tag/", {"tag": f"tag {n}"}), ("revise/", {"based_on": n // 4 + 1, "stem": f"Round {n}?", "reason": "x"}),
        ("withdraw/", {"reason": "x"}), ("bring-back/", {}))[n % 4],
    f"banks/{bank.slug}/submissions/": either("open/", "close/"),
    f"banks/{bank.slug}/validity/": lambda n: ("keeping-out/", {"parts": [] if n % 2 else ["identifiers"]}),
    f"images/{image.public_id}/": lambda n: ("credits/", {"attribution": f"Round {n}", "licence": ""}),
    f"jobs/{job.public_id}/": either("retry/", "cancel/"),
    f"rounds/{review_round.slug}/": lambda n: ("due/", {"due_at": day(n)}),
    f"studies/{study.slug}/": lambda n: ("extend/", {"deadline_at": day(n)}),
    f"studies/{study.slug}/readers/{reader.public_id}/": lambda n: ("extend/", {"deadline_at": day(n + 20)}),
    f"models/{entry.public_id}/": lambda n: ("edit/", {"version": f"{n}"}),
    f"samples/{review_round.plan.slug}/": either("archive/", "bring-back/"),
    f"banks/{bank.slug}/": either("archive/", "bring-back/"),
}
known = Client()
known.force_login(cora)
def asking(address, body=None, **headers):
    one = Client()
    one.cookies[settings.SESSION_COOKIE_NAME] = known.cookies[settings.SESSION_COOKIE_NAME].value
    ask = one.get if body is None else partial(one.post, data=json.dumps(body), content_type="application/json")
    return ask("/api/v1/" + address, headers=headers)
"""
RACE = """
def write(n, answers, start):
    act, body = THINGS[thing](n)
    start.wait(20)
    answers.append(asking(thing + act, body, if_match=etag).status_code)
    connection.close()
found = {}
for thing in THINGS:
    found[thing] = []
    for n in range(12):
        etag, answers, start = asking(thing)["ETag"], [], threading.Barrier(4)
        threads = [threading.Thread(target=write, args=(n, answers, start)) for _one in range(4)]
        [one.start() for one in threads], [one.join(60) for one in threads]
        found[thing].append(sorted(answers))
print(json.dumps(found))
"""
# The first has done its act, without If-Match, and not committed; the second waits for it before it compares.
MEET = """
from tests.meeting import meet
found = {}
for thing in THINGS:
    etag, (act, body) = asking(thing)["ETag"], THINGS[thing](0)
    found[thing] = meet(lambda: asking(thing + act, body).status_code,
                        lambda: asking(thing + act, body, if_match=etag).status_code)
print(json.dumps(found))
"""


@pytest.mark.check
@pytest.mark.parametrize("server", ["", pytest.param("postgres", marks=pytest.mark.services)])
def test_of_four_writers_with_one_etag_one_writes(tmp_path: Path, server: str) -> None:
    url = postgres_url() or pytest.skip("no PostgreSQL answers on this machine") if server else ""
    with migrated_site(tmp_path / "home", url) as env:
        done = manage("shell", "-v0", "-c", THINGS + RACE, env=env)
    assert done.returncode == 0, done.stderr
    for thing, rounds in json.loads(done.stdout.splitlines()[-1]).items():
        assert [one[0] // 100 for one in rounds] == [2] * 12, f"{thing}: every round has one writer: {rounds}"
        assert [one[1:] for one in rounds] == [[412] * 3] * 12, f"{thing}: the other three are told: {rounds}"


@pytest.mark.services
def test_the_state_is_compared_after_an_act_that_was_under_way(tmp_path: Path) -> None:
    """Also where that act came without If-Match, as those of pages do."""
    url = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with migrated_site(tmp_path / "home", url) as env:
        done = manage("shell", "-v0", "-c", THINGS + MEET, env=env)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {thing for thing, (_first, second) in found.items() if second != 412} == set(), found


# --- the address whose ETag it is -----------------------------------------------------------------
@pytest.fixture
def writer(cora: User) -> Program:
    make_revision(make_bank("Mine"), 1)
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "mine")


def acts() -> Iterator[tuple[str, Resource, type[OneOf[Any]] | None]]:
    """Every address of the API that changes something, and what is read at the address whose ETag it compares."""
    for before, pattern in patterns(get_resolver()):
        kind: Any = getattr(pattern.callback, "cls", None)
        if (
            isinstance(kind, type)
            and issubclass(kind, Resource)
            and hasattr(kind, "post")
            and "post" in kind.http_method_names
        ):
            resource = kind()
            found = thing_of(resource, "/" + re.sub("<[^>]*>", "1", f"{before}{pattern.pattern}"))
            yield str(pattern.name), resource, getattr(found.func, "cls", None) if found else None


def test_every_act_on_a_thing_that_has_an_etag_compares_it() -> None:
    """A list, a file and a plan have none, and neither have rows of a list that have no page of their own."""
    without = {name for name, one, thing in acts() if thing is None and not isinstance(one, ListOf)}
    assert {name for name in without if not name.endswith(("-file", "-plan"))} == {
        *("api-bank-compare", "api-bank-embed", "api-validator-runs-begin", "api-prediction-imports"),
        *("api-comment-done", "api-comment-withdraw", "api-finding-dismiss", "api-study-export"),
        *("api-round-invitation-revoke", "api-study-invitation-revoke", "api-study-invitation-remind"),
        *("api-study-invitation-restore", "api-study-share-revoke", "api-study-share-restore"),
        *("api-study-analysis-result", "api-study-report-make"),
        *("api-study-coordinator-name", "api-study-coordinator-remove"),  # the list is on the page alone
    }, "an act on one thing: give the address above it a GET with an ETag, or name it here"


def test_every_such_thing_says_what_is_locked() -> None:
    for name, _one, thing in acts():
        if thing is not None and thing.lock is OneOf.lock and thing.one is OneOf.one:
            assert thing.rows is not OneOf.rows, f"{name}: give its thing lock(), with the rows that its acts lock"


def test_what_has_no_etag_takes_no_if_match(writer: Program) -> None:
    problem_of(writer.post("banks/mine/questions/1/comments/", {"text": "x"}, if_match='"old"'), 412, "no_etag")
    assert not QuestionComment.objects.exists()
    assert writer.post("banks/mine/questions/1/comments/", {"text": "x"}, if_match="*").status_code == 201


def test_a_wording_is_compared_with_the_etag_of_its_question(writer: Program) -> None:
    address = "banks/mine/questions/1/"
    old = writer.get(address)["ETag"]
    revised = {"based_on": 1, "reason": "x", "stem": "Which one?"}
    problem_of(writer.post(f"{address}revise/", revised, if_match='"other"'), 412, "changed_since")
    assert writer.post(f"{address}revise/", revised, if_match=old).status_code == 201
    problem_of(writer.post(f"{address}undo/", {"based_on": 2}, if_match=old), 412, "changed_since")


def test_an_etag_that_a_proxy_handed_on_is_the_same(writer: Program) -> None:
    address = "banks/mine/questions/1/"
    for handed_on in ('W/"{}"', '"{}-gzip"', '"{};br"', 'W/"{}-zstd"'):
        mark = handed_on.format(writer.get(address)["ETag"].strip('"'))
        assert writer.post(f"{address}tag/", {"tag": "read"}, if_match=mark).status_code == 200, mark


def test_an_answer_that_was_lost_is_given_again_although_the_thing_has_changed(writer: Program) -> None:
    address = "banks/mine/questions/1/"
    sent = {"if_match": writer.get(address)["ETag"], "idempotency_key": "one"}
    revised = {"based_on": 1, "reason": "x", "stem": "Which one?"}
    first, second = (writer.post(f"{address}revise/", revised, **sent) for _twice in range(2))
    assert (second.status_code, second.json()) == (201, first.json())
    assert second["Idempotent-Replayed"] == "true"


def test_a_refused_act_stores_nothing(writer: Program) -> None:
    address = "banks/mine/questions/1/"
    etag = writer.get(address)["ETag"]
    problem_of(writer.post(f"{address}bring-back/", if_match=etag), 409, "not_withdrawn")
    assert writer.get(address)["ETag"] == etag
