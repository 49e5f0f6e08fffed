"""Fixtures that every room shares: the sample data when it is there, and a cast of named people."""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from django.contrib.contenttypes.management import create_contenttypes
from django.core.cache import caches
from django.db import connection
from django.db.models.signals import post_migrate
from django.template import Context, Template
from django.test import Client
from hypothesis import HealthCheck, settings
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from annotation.case.kernels.traces import TraceSoFar
from annotation.enums import Role
from annotation.jobs import queueing
from annotation.models import Assignment, AuditEvent, Membership, User
from annotation.review import answering
from annotation.review.kernels.visibility import Step
from annotation.triggers import add_words
from tests.large_frames import with_large_frame
from tests.processes import drop_template, migrated_site, postgres_url

# A run keeps so much (modules, tests, fixtures) that looking through all of it for garbage took a fifth of its time.
gc.set_threshold(20_000, 20, 20)

with_large_frame(runtestprotocol)  # it calls all that a test does

# Property tests try the same examples every time and never fail because the machine is busy.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

# Nobody asks for the permissions that Django makes anew for every model whenever the tables are emptied.
post_migrate.disconnect(create_contenttypes)
post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")

# The slowest files go first, so that no process is left alone with one of them at the end.
SLOWEST = (
    "tests/browser/pages/",
    "tests/rexvqa_site/test_serve.py",
    "tests/fuzzing/",
    "tests/browser/firefox/",
    "tests/browser/journeys/",
    "tests/browser/review/",
    "tests/browser/readerstudy/",
    "tests/browser/viewer/",
    "tests/browser/",
    "tests/readerstudy/blinding/",
    "tests/readerstudy/durability/",
    "tests/readerstudy/reading/test_invariants.py",
    "tests/torture/",
    "tests/readerstudy/report/test_recompute.py",
    "tests/test_linear_rules.py",
)

# Locks, statements by hand, and what a database refuses: of these the two databases may differ.
SQL = re.compile(
    r"select_for_update|\block(ed)?_\w+\(|\.cursor\(|RawSQL|_conflicts=|IntegrityError|DatabaseError|OperationalError"
    r"|connection\.vendor|advisory|Window\(|Trunc\w+\(|Cast\(|KeyTransform|JSONObject|nulls_(first|last)"
)
# Of these another database tells nothing: the demonstration refuses one, the others compute values from rows that acts
# with tests of their own have stored, or ask a program of others.
ALIKE = (
    "tests/annotation/demonstration/",
    "tests/readerstudy/demonstration/",
    "tests/annotation/ingest/test_sample_files.py",
    "tests/readerstudy/leaderboard/test_gaming.py",
    "tests/readerstudy/leaderboard/test_two_worlds_of_boards.py",
    "tests/readerstudy/model_runs/test_on_llama.py",
    "tests/readerstudy/monitoring/test_better_numbers.py",
    "tests/readerstudy/monitoring/test_choosing_late.py",
    "tests/readerstudy/monitoring/test_ways_round_a_plan.py",
)
# Only in "make check", but for the tests that carry the marker "journey": browsers, kills, what is asked at random.
CHECKED = (
    "tests/browser/",
    "tests/fuzzing/",
    "tests/torture/test_calls_killed.py",
    "tests/torture/test_killed.py",
    "tests/readerstudy/durability/",
)


@pytest.hookimpl(tryfirst=True)  # before markers are chosen from
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        return next((n for n, slow in enumerate(SLOWEST) if item.nodeid.startswith(slow)), len(SLOWEST))

    for item in items:
        if item.get_closest_marker("services") or (
            item.nodeid.startswith(CHECKED) and not item.get_closest_marker("journey")
        ):
            item.add_marker("check")
        if not item.nodeid.startswith(ALIKE) and depends_on_database(item) and (commits(item) or touches_sql(item)):
            item.add_marker("postgres")
    items.sort(key=rank)  # in each rank as they were
    if "TEST_DATABASE_URL" in os.environ:  # another database tells nothing new about tests that have none
        config.hook.pytest_deselected(items=[item for item in items if not depends_on_database(item)])
        items[:] = filter(depends_on_database, items)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # nothing of what is there now goes before the end


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the process that started the others, which have ended
        drop_template()


def commits(item: pytest.Item) -> bool:
    """What is stored for good is seen by others: the two databases lock differently."""
    marker = item.get_closest_marker("django_db")
    is_marked = marker is not None and bool(marker.kwargs.get("transaction"))
    return is_marked or "transactional_db" in getattr(item, "fixturenames", ())


def touches_sql(item: pytest.Item) -> bool:
    """Its file, or a module of the program that it imports from, locks or writes SQL that the two databases see apart.

    Not through pages, which only show what such acts have stored.
    """
    if not isinstance(item, pytest.Function) or "client" in item.fixturenames:
        return False
    used = {getattr(one, "__module__", None) or getattr(one, "__name__", "") for one in vars(item.module).values()}
    ours = {name for name in used if isinstance(name, str) and name.startswith(("annotation.", "readerstudy."))}
    return any(map(holds_sql, {*ours, item.module.__name__}))


@cache
def holds_sql(module: str) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None)
    is_model = ".models" in module or ".migrations" in module  # whose constraints the acts meet
    return bool(file and not is_model and SQL.search(Path(file).read_text(encoding="utf-8")))


def depends_on_database(item: pytest.Item) -> bool:
    """pytest-django refuses the database to every other test; what names its database has one of its own.

    Not ``django_db_blocker``: a fixture of pytest-django asks for it in every test. A test that asks for a person by
    name (``getfixturevalue``) takes ``db`` itself.
    """
    asked = {"db", "transactional_db", "django_db_setup"} & set(getattr(item, "fixturenames", ()))
    names_one = isinstance(item, pytest.Function) and hasattr(item, "callspec") and "sqlite" in item.callspec.id
    return bool(asked or item.get_closest_marker("django_db")) and not names_one


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """With the index of words, which is no part of a model: the tests' database is made without migrations."""
    with django_db_blocker.unblock(), connection.schema_editor() as editor:
        add_words(None, editor)


@pytest.fixture(scope="session", autouse=True)
def _rows_are_deleted(django_test_environment: None) -> Iterator[None]:
    """After a test that commits. Django truncates every table of PostgreSQL, which takes it a second."""
    from django.db.backends.postgresql.operations import DatabaseOperations

    def sql_flush(operations: DatabaseOperations, _style: object, tables: Sequence[str], **_more: object) -> list[str]:
        names = [operations.quote_name(table) for table in tables]
        asked = " UNION ALL ".join(f"SELECT {n} WHERE EXISTS (SELECT FROM {name})" for n, name in enumerate(names))
        with operations.connection.cursor() as cursor:
            cursor.execute(asked)
            filled = [names[number] for (number,) in cursor.fetchall()]
        # In one transaction, in which no foreign key is looked at.
        return ["SET LOCAL session_replication_role = replica", *(f"DELETE FROM {name}" for name in filled)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", sql_flush)
        yield


@pytest.fixture(scope="session", autouse=True)
def _only_pages_are_told(django_test_environment: None) -> Iterator[None]:
    """Django's test client copies the context of every template, also of each of the 400 time zones of a list.

    ``response.context`` is asked about pages, never about the parts of a form field.
    """
    told = Template._render  # type: ignore[attr-defined]

    def render(self: Template, context: Context) -> str:
        if self.name and self.name.startswith("django/forms/"):
            return self.nodelist.render(context)
        page: str = told(self, context)
        return page

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "_render", render)
        yield


SHARED = (Path(__file__).resolve().parent.parent.parent / "shared").resolve()
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of sample data; tests that need it are skipped where it is absent."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the sample data (../shared/data) is not on this machine")
    return SHARED / "data"


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    """What is kept by the number of a row means another row in the next test."""
    for name in ("default", "counts"):
        caches[name].clear()


@pytest.fixture(autouse=True)
def _logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """``@pytest.mark.logs("round.closed")``: the test leaves an event of this act in the audit log."""
    marker = request.node.get_closest_marker("logs")
    if marker is None:
        yield
        return
    request.getfixturevalue("db")  # so that it is still there afterwards
    yield
    found = set(AuditEvent.objects.filter(act__in=marker.args).values_list("act", flat=True))
    assert found == set(marker.args)


@pytest.fixture(scope="module")
def no_log() -> Iterator[None]:
    """Where thousands of requests are refused: each would be written three times, with where it was refused."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.services)])
def migrated(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a site whose database was made by the real migrations."""
    server = ""
    if request.param == "postgresql":
        server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with migrated_site(tmp_path / "home", server) as env:
        yield env


@pytest.fixture
def own_home(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own, and a queue that nobody listens to: the tests run the jobs themselves."""
    settings.HOME = tmp_path / "home"
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)


@pytest.fixture
def noon() -> datetime:
    return NOON


def make_person(name: str, *roles: Role) -> User:
    person = User.objects.create_user(f"{name.lower()}@example.org", "correct horse battery", name=name)
    for role in roles:
        Membership.objects.create(user=person, role=role, granted_at=NOON)
    return person


@pytest.fixture
def ada(db: None) -> User:
    """Ada administers the site."""
    return make_person("Ada", Role.ADMINISTRATOR)


@pytest.fixture
def administrator(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


@pytest.fixture
def cora(db: None) -> User:
    """Cora coordinates."""
    return make_person("Cora", Role.COORDINATOR)


@pytest.fixture
def coordinator(client: Client, cora: User) -> Client:
    client.force_login(cora)
    return client


@pytest.fixture
def rita(db: None) -> User:
    """Rita is a reviewer."""
    return make_person("Rita", Role.REVIEWER)


@pytest.fixture
def reviewer(client: Client, rita: User) -> Client:
    client.force_login(rita)
    return client


@pytest.fixture
def remo(db: None) -> User:
    """Remo is a second reviewer."""
    return make_person("Remo", Role.REVIEWER)


@pytest.fixture
def dina(db: None) -> User:
    """Dina may see and release quarantined images."""
    return make_person("Dina", Role.DEIDENTIFIER)


@pytest.fixture
def deidentifier(client: Client, dina: User) -> Client:
    client.force_login(dina)
    return client


@pytest.fixture
def stan(db: None) -> User:
    """Stan is a stranger: an account without any role."""
    return make_person("Stan")


@pytest.fixture
def without_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds whose images have not come yet can be answered blind, as if there was something to see."""

    real = answering.check_seen

    def check(locked: Assignment, seen: TraceSoFar, unreadable: Iterable[str], *, step: str) -> None:
        real(locked, seen, unreadable, step=Step.JUDGE)

    monkeypatch.setattr(answering, "check_seen", check)
