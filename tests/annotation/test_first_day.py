"""What the pages of a coordinator's first day ask the database: few queries, and no table of a bank from end to end."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.enums import ImageState
from annotation.models import Image, ReviewRound, User
from annotation.review.rounds import create_round
from tests.annotation.rounds.made import make_sample

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
LARGE = {f"annotation_{name}" for name in ("exam", "finding", "image", "question", "revision", "sourceidentifier")}
LARGE |= {"annotation_job", "readerstudy_reading", "readerstudy_response"}
PAGES: dict[str, tuple[int, set[str]]] = {  # of each the most queries, and which table it counts
    "/": (28, set()),
    "/banks/bank-of-sample/": (23, set()),
    "/banks/bank-of-sample/1/": (48, set()),
    "/banks/bank-of-sample/missing/": (11, set()),
    "/images/": (12, {"annotation_image"}),
    "/images/?bank=bank-of-sample": (15, set()),
    "/banks/bank-of-sample/?q=effusion": (25, set()),
    "/banks/bank-of-sample/?own_id=q7": (25, set()),
    "/banks/bank-of-sample/?finding=negative_stem": (25, set()),
    "/studies/": (14, set()),
    "/jobs/": (12, {"annotation_job"}),
    "/samples/": (6, set()),
    "/samples/new/?bank=bank-of-sample": (10, set()),
    "/samples/new/?bank=bank-of-sample&per_thousand=500&seed=1&by=difficulty": (18, set()),
    "/rounds/": (6, set()),
    "/rounds/spring/": (36, set()),
}


@pytest.fixture
def draft(cora: User, rita: User, noon: datetime) -> ReviewRound:
    """An image of its first exam is missing, one of its second is in quarantine."""
    one = create_round(make_sample(12), name="Spring", reviewers=[rita], actor=cora, at=noon)
    for number, state in ((1, ImageState.PENDING), (4, ImageState.QUARANTINED)):
        Image.objects.filter(exam__questions__number=number, position=0).update(state=state)
    return one


@pytest.mark.parametrize("address", PAGES)
def test_no_page_of_the_first_day_reads_a_table_of_a_bank_as_a_whole(
    client: Client, cora: User, draft: ReviewRound, address: str
) -> None:
    client.force_login(cora)
    most, whole = PAGES[address]
    client.get(address)
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    assert len(queries) <= most, [row["sql"][:200] for row in queries]
    read = [(row["sql"], tables) for row in queries if (tables := scanned(row["sql"]) - whole)]
    assert not read


def scanned(sql: str) -> set[str]:
    """The large tables that are read from end to end for this query; on PostgreSQL those that no index leads to."""
    if not sql.startswith("SELECT"):
        return set()
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan TO off")
            cursor.execute(f"EXPLAIN {sql}")
            return {found[1] for [row] in cursor.fetchall() if (found := re.search(r"Seq Scan on (\w+)", row))} & LARGE
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        names = [found[1] for row in cursor.fetchall() if (found := re.match(r"SCAN (\w+)", row[3]))]
    aliases = re.findall(r'"(\w+)" (\w+)\b', sql)
    tables = [{table for table, alias in aliases if alias == name} or {name} for name in names]
    return {table for found in tables if found <= LARGE for table in found}
