"""Server time of a reviewer's turn, one client: opening a case, answering blind, submitting and getting the next one.

Measured through the whole stack but the socket: middleware, session, view, database, template. The baseline is a view
behind the same middleware that inserts one row.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlencode

from tests.bench import review_page, sites
from tests.bench.measuring import in_test_database
from tests.bench.rows import Row, p50_and_p95

N_CASES = 220
N_WARM = 20
GOAL = "p50 8, p95 15"


def measure() -> list[Row]:
    """Rows for the table, then the page in Chromium."""
    return in_test_database(lambda: _rows(*_times())) + review_page.measure()


def _rows(bare: list[float], turns: dict[str, list[float]]) -> list[Row]:
    return [
        row
        for name, times in turns.items()
        for row in p50_and_p95(name, times, (GOAL, GOAL), "one-row insert view", bare)
    ]


def _times() -> tuple[list[float], dict[str, list[float]]]:
    """Milliseconds of each request without the first N_WARM; the kinds take turns, so that all meet the same noise."""
    from django.conf import settings
    from django.test import Client
    from django.urls import reverse

    from annotation.models import Image, ReviewRound, User
    from tests.annotation.case.sent import event, fields, seen
    from tests.annotation.review.cases import as_post, assignments_of, good_judgement

    settings.ROOT_URLCONF = with_bare_view()
    sites.review(N_CASES)
    reviewer, review_round = User.objects.get(), ReviewRound.objects.get()
    client = Client(SERVER_NAME="127.0.0.1", headers={"hx-request": "true"})
    client.force_login(reviewer)
    judgement = as_post(good_judgement(comment="The sign is named, the place is not."))
    blind = {"best": "B", "defensible": ["B", "D"], "difficulty": "easy"}
    draft = {**judgement, "based_on": "1"}
    bare: list[float] = []
    turns: dict[str, list[float]] = {"open a case": [], "answer blind": [], "save a draft": [], "submit, next case": []}
    views: dict[int, list[str]] = {}
    for question, image in Image.objects.values_list("exam__questions", "public_id"):
        views.setdefault(question, []).append(image)
    commit = fields(*(event(n, "changed", 12 + n, field="verdict") for n in range(3, 9)), event(9, "submitted", 22))
    for assignment in assignments_of(reviewer, review_round):
        place = {name: reverse(f"review-{name}", args=[assignment.public_id]) for name in ("case", *_ACTS)}
        trace_so_far = seen(views[assignment.revision.question_id])
        bare.append(_timed(client.post, "/bare/"))
        turns["open a case"].append(_timed(client.get, place["case"]))
        turns["answer blind"].append(_timed(client.post, place["answer"], {**blind, **trace_so_far}))
        turns["save a draft"].append(_timed(client.post, place["draft"], draft))
        turns["submit, next case"].append(_timed(client.post, place["submit"], {**judgement, **commit}))
    return bare[N_WARM:], {name: times[N_WARM:] for name, times in turns.items()}


_ACTS = ("answer", "draft", "submit")


def _timed(request: Callable[..., Any], address: str, data: dict[str, Any] | None = None) -> float:
    start = time.perf_counter()
    body = urlencode(data, doseq=True) if data else ""  # as the page sends it
    sent = {} if request.__name__ == "get" else {"data": body, "content_type": "application/x-www-form-urlencoded"}
    response = request(address, **sent)
    took = (time.perf_counter() - start) * 1000
    if response.status_code >= 300:
        raise RuntimeError(f"{response.status_code} from {address}")
    return took


def with_bare_view() -> ModuleType:
    """The site's addresses and one more."""
    from django.urls import include, path

    addresses = ModuleType("tests.bench.addresses")
    addresses.urlpatterns = [path("bare/", _bare_view()), path("", include("rexvqa_site.urls"))]  # type: ignore[attr-defined]
    return addresses


def _bare_view() -> Callable[..., Any]:
    """A view that inserts one row."""
    from django.db import transaction
    from django.http import HttpRequest, HttpResponse

    from annotation.models import SourceIdentifier

    @transaction.atomic
    def bare(request: HttpRequest) -> HttpResponse:
        SourceIdentifier.objects.create(digest=1, kind="bench", value=str(request.user.pk))
        return HttpResponse(status=204)

    return bare
