"""Programs at a bank of 572,419 questions: one thing, a list, all pages from end to end, an export, predictions.

As many questions as REXVQA_BENCH_BANK says. Beside the list stands the same one of a bare ModelViewSet with the cursor
of the framework, behind the same middleware and the same way to log in.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import Any

from tests.bench.bank_page import n_of_bank
from tests.bench.measuring import analyze, got, n_queries, seconds, told_in_tests
from tests.bench.rows import Row, median, on_both_databases, percentile

N_EVENTS, N_PREDICTIONS = 600_000, 10_000
TIMES, POSTS = 60, 5
DATABASE = "rexvqa_bench_api"


def measure() -> list[Row]:
    return on_both_databases(_measured, DATABASE)


def _measured(name: str, url: str) -> list[Row]:
    n = n_of_bank()
    told = told_in_tests(run, n, database_url=url, REXVQA_API_REQUESTS_PER_MINUTE="1000000")
    pages, tenth = told["pages"], max(1, len(told["pages"]) // 10)
    first, last = median(pages[:tenth]), median(pages[-tenth:])
    return [
        Row(f"{name}: one question, p50", median(told["one"]), "ms", "10"),
        Row(f"{name}: list of 100, p50", median(told["list"]), "ms", "40", "bare ModelViewSet", median(told["bare"])),
        Row(f"{name}: list of 100, p95", percentile(told["list"], 0.95), "ms"),
        Row(f"{name}: most queries: {told['most'][0]}", told["most"][1], "queries", "12"),
        Row(f"{name}: {n:,} by cursor in {len(pages)} pages, last tenth", last, "ms", "flat", "first tenth", first),
        Row(f"{name}: export of {N_EVENTS:,} rows, memory beside the rest", told["export_mb"], "MB", "100"),
        Row(f"{name}: the same", told["export_seconds"], "s"),
        Row(f"{name}: {N_PREDICTIONS:,} predictions posted, p50", median(told["posted"]), "s", "2"),
        Row(f"{name}: the same, checked and stored", median(told["stored"]), "s"),
    ]


def run(n: int) -> dict[str, Any]:
    from django.test import Client

    from tests.bench.bank_page import fill

    bank = fill(n, is_answered=False)
    analyze()
    client = Client(headers={"host": "localhost", "authorization": f"Bearer {bank_token(bank)}"})
    questions = f"/api/v1/banks/{bank.slug}/questions/"
    things = [f"{questions}{1 + n * turn // TIMES}/" for turn in range(TIMES)]
    pages, places = _all_pages(client, f"{questions}?limit=1000", n)
    lists = [places[len(places) * turn // TIMES].replace("limit=1000", "limit=100") for turn in range(TIMES)]
    asked = {"one question": things[0], "list": lists[-1]}
    most = max(((name, n_queries(client, one)) for name, one in asked.items()), key=lambda found: found[1])
    told: dict[str, Any] = {"one": _timed(client, things), "list": _timed(client, lists), "pages": pages, "most": most}
    told |= {"bare": _bare(client, bank.slug), **_exported(client, bank)}
    return told | _predicted(client, bank)


def bank_token(bank: Any) -> str:
    """Of a coordinator, who is made where there is none."""
    from django.utils import timezone

    from annotation.enums import Role
    from annotation.models import User
    from annotation.models.people import TokenScope
    from annotation.people.tokens import make_token, place_named
    from tests.conftest import make_person

    person = User.objects.filter(name="Cora").first() or make_person("Cora", Role.COORDINATOR)
    place = place_named(person, TokenScope.BANK, bank.slug)
    return make_token(person, "b", role=Role.COORDINATOR, place=place, days=9, actor=person, at=timezone.now()).text


def _timed(client: Any, addresses: list[str]) -> list[float]:
    """Milliseconds of each, after one that is not counted."""
    return [1000 * seconds(partial(got, client, address)) for address in (addresses[0], *addresses)][1:]


def _followed(client: Any, address: str) -> Iterator[tuple[float, str, Any]]:
    """Milliseconds, address and content of every page from this one to the last."""
    following: str | None = address
    while following:
        begun = time.perf_counter()
        page = got(client, following).json()
        yield 1000 * (time.perf_counter() - begun), following, page
        following = page["next"]


def _all_pages(client: Any, address: str, n: int) -> tuple[list[float], list[str]]:
    """Milliseconds of every page from the first to the last, and their addresses."""
    pages = [(ms, place, len(page["results"])) for ms, place, page in _followed(client, address)]
    if (found := sum(n_here for _ms, _place, n_here in pages)) != n:
        raise RuntimeError(f"{found:,} questions on {len(pages)} pages, not {n:,}")
    return [ms for ms, _place, _n in pages], [place for _ms, place, _n in pages]


def _bare(client: Any, slug: str) -> list[float]:
    """Milliseconds of pages of 100 of the same rows by a viewset as the framework offers it."""
    from django.test import override_settings
    from django.urls import include, path
    from rest_framework.pagination import CursorPagination
    from rest_framework.routers import SimpleRouter
    from rest_framework.serializers import ModelSerializer
    from rest_framework.viewsets import ModelViewSet

    from annotation.api.authentication import TokenAuthentication
    from annotation.models import Revision

    class BareRevision(ModelSerializer[Revision]):
        class Meta:
            model = Revision
            fields = (
                *("id", "question", "number", "stem", "options", "task", "category", "subcategory"),
                *("question_class", "difficulty"),
            )

    class BareCursor(CursorPagination):
        page_size, ordering = 100, "question_id"

    class BareRevisions(ModelViewSet[Revision]):
        queryset = Revision.objects.current().filter(bank__slug=slug)
        serializer_class, pagination_class = BareRevision, BareCursor
        authentication_classes = [TokenAuthentication]
        permission_classes = ()

    router = SimpleRouter()
    router.register("bare", BareRevisions)
    addresses = ModuleType("tests.bench.bare_addresses")
    addresses.urlpatterns = [path("", include(router.urls)), path("", include("rexvqa_site.urls"))]  # type: ignore[attr-defined]
    with override_settings(ROOT_URLCONF=addresses):
        again = chain.from_iterable(_followed(client, "/bare/") for _time in range(TIMES + 1))
        return [ms for ms, _address, _page in islice(again, 1, TIMES + 1)]


def _exported(client: Any, bank: Any) -> dict[str, float]:
    """What the events of a study take as CSV: megabytes beyond those that the process holds before, and seconds."""
    from django.db import transaction

    from annotation.questionbank.bulk import insert_rows
    from readerstudy.enums import StudyState
    from readerstudy.models import TimingEvent
    from tests.conftest import NOON, make_person
    from tests.readerstudy.exports.read_study import read
    from tests.readerstudy.studies import enrol, make_study, places_of

    study = make_study("Exported", n_cases=1, n_orders=1)
    reading = read(places_of(enrol(study, make_person("Lena")))[0], {"option": "A"})
    for start in range(0, N_EVENTS, 50_000):
        rows = [(reading.pk, f"page {start}", n, "heartbeat", 1000.0 * n, str(NOON), "{}") for n in range(50_000)]
        names = ("reading_id", "page", "sequence", "kind", "client_ms", "received_at", "details")
        with transaction.atomic():
            insert_rows(TimingEvent, names, rows)
    study.state, study.unblinded_at, study.closed_at = StudyState.CLOSED, NOON, NOON
    study.save(update_fields=["state", "unblinded_at", "closed_at"])
    del rows
    token = bank_token(study.bank)
    address = f"/api/v1/studies/{study.slug}/tables/events/csv/"
    before, begun, n_lines = _memory_mb(), time.perf_counter(), 0
    with _most_memory() as most:
        answer = client.get(address, headers={"authorization": f"Bearer {token}"})
        for part in answer.streaming_content:
            n_lines += part.count(b"\n")
    if n_lines < N_EVENTS:
        raise RuntimeError(f"{n_lines:,} lines")
    return {"export_mb": max(most) - before, "export_seconds": time.perf_counter() - begun}


@contextmanager
def _most_memory() -> Iterator[list[float]]:
    """What this process holds, every 10 ms."""
    is_over, found = Event(), list[float]()

    def look() -> None:
        while not is_over.wait(0.01):
            found.append(_memory_mb())

    watch = Thread(target=look)
    watch.start()
    try:
        yield found
    finally:
        is_over.set()
        watch.join()


def _memory_mb() -> float:
    """Of its own: the database file that SQLite maps is memory of the system, which takes it back when it needs it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def _named_at_their_source(bank: Any) -> list[str]:
    """Names by which a file of predictions finds the first questions."""
    from annotation.enums import IdentifierKind
    from annotation.hashes import identifier_digest
    from annotation.models import Question, SourceIdentifier

    kind = IdentifierKind.QUESTION_KEY
    questions = Question.objects.filter(bank=bank).order_by("number").values_list("pk", "number")[:N_PREDICTIONS]
    SourceIdentifier.objects.bulk_create(
        SourceIdentifier(
            digest=identifier_digest(kind, f"Q{number}"), kind=kind, value=f"Q{number}", bank=bank, question_id=pk
        )
        for pk, number in questions
    )
    return [f"Q{number}" for _pk, number in questions]


def _predicted(client: Any, bank: Any) -> dict[str, list[float]]:
    """Seconds of sending files of predictions, and of the check and the import by their jobs besides."""
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.utils import timezone

    from annotation.jobs import queueing, running
    from annotation.models import Job

    queueing.nudge = lambda job: None  # the jobs run here
    ids = _named_at_their_source(bank)
    model = client.post("/api/v1/models/", json.dumps({"name": "Model"}), content_type="application/json").json()["id"]
    told: dict[str, list[float]] = {"posted": [], "stored": []}
    for turn in range(POSTS):
        lines = [json.dumps({"id": one, "pred_answer": "ABCD"[n // (turn + 1) % 4]}) for n, one in enumerate(ids)]
        sent = {"model": model, "bank": bank.slug, "file": SimpleUploadedFile("a.jsonl", "\n".join(lines).encode())}
        begun = time.perf_counter()
        answer = client.post("/api/v1/prediction-imports/", sent)
        told["posted"].append(time.perf_counter() - begun)
        if answer.status_code != 202:
            raise RuntimeError(f"{answer.status_code}: {answer.content[:300]!r}")
        running.run(Job.objects.latest("pk").public_id, clock=timezone.now)
        client.post(f"{answer['Location']}store/")
        running.run(Job.objects.latest("pk").public_id, clock=timezone.now)
        told["stored"].append(time.perf_counter() - begun)
        result = got(client, answer["Location"]).json()
        if not result["is_stored"]:
            raise RuntimeError(f"not stored: {result}")
    return told
