"""The page that takes a file of reviews made elsewhere into an open round."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.enums import Role
from annotation.models import Assignment, AuditEvent, Membership, Review, ReviewRound, User
from annotation.review.ending import close_round, count_open
from annotation.review.rounds import create_round, open_round
from tests.annotation.exports.review_files import as_csv, review_cells
from tests.annotation.rounds.made import make_sample

ADDRESS = "/rounds/round/import/"


@pytest.fixture
def opened(db: None, cora: User, rita: User, noon: datetime) -> ReviewRound:
    made = create_round(make_sample(4), name="Round", reviewers=[rita], actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    return made


def send(client: Client, *rows: dict[str, Any], **fields: str) -> Any:
    file = SimpleUploadedFile("reviews.csv", as_csv(rows).encode())
    return client.post(ADDRESS, {"file": file, **fields})


def test_a_file_is_checked_and_then_imported(client: Client, cora: User, opened: ReviewRound) -> None:
    client.force_login(cora)
    assert ADDRESS.encode() in client.get("/rounds/round/").content
    assert client.get(ADDRESS).status_code == 200
    rows = [review_cells(number) for number in (1, 2)]
    checked = send(client, *rows, check="1")
    assert checked.status_code == 200
    assert b"Preview: nothing has been saved." in checked.content
    assert Review.objects.count() == 0
    assert send(client, *rows).headers["Location"] == "/rounds/round/"
    assert Review.objects.count() == 2
    assert b"2 reviews imported." in client.get("/rounds/round/").content
    assert AuditEvent.objects.get(act="reviews.imported").actor == cora


@pytest.mark.parametrize("act", [{}, {"check": "1"}])
def test_a_wrong_cell_is_named_and_nothing_is_stored(
    client: Client, cora: User, opened: ReviewRound, act: dict[str, str]
) -> None:
    client.force_login(cora)
    refused = send(client, review_cells(1), review_cells(9), review_cells(2, grade_clinical_quality=6), **act)
    assert refused.status_code == 422
    assert [(one.row, one.column) for one in refused.context["faults"]] == [
        (3, "question"),
        (4, "grade_clinical_quality"),
    ]
    assert b"2 cells are wrong. Nothing was saved" in refused.content
    assert Review.objects.count() == 0


def test_a_file_that_is_none_and_a_round_that_is_over_are_refused(
    client: Client, cora: User, opened: ReviewRound, noon: datetime
) -> None:
    client.force_login(cora)
    assert client.post(ADDRESS).status_code == 422
    large = SimpleUploadedFile("reviews.csv", b"x" * 5_000_001)
    answer = client.post(ADDRESS, {"file": large})
    assert (answer.status_code, b"larger than 5 MB" in answer.content) == (422, True)
    empty = client.post(ADDRESS, {"file": SimpleUploadedFile("reviews.csv", b"")})
    assert empty.status_code == 422
    close_round(opened, actor=cora, at=noon, confirmed_open=count_open(opened))
    over = send(client, review_cells(1))
    assert (over.status_code, b"into an open round only" in over.content) == (422, True)
    assert ADDRESS.encode() not in client.get("/rounds/round/").content


def test_only_coordinators_who_do_not_judge_in_the_round(
    client: Client, cora: User, rita: User, remo: User, stan: User, opened: ReviewRound, noon: datetime
) -> None:
    Membership.objects.create(user=remo, role=Role.COORDINATOR, round=opened, granted_at=noon)
    for person, status in ((stan, 404), (rita, 403), (remo, 200)):
        client.force_login(person)
        assert client.get(ADDRESS).status_code == status
        assert send(client, review_cells(1), check="1").status_code == status
    Assignment.objects.filter(pk=Assignment.objects.filter(round=opened).first().pk).update(reviewer=remo)  # type: ignore[union-attr]
    assert client.get(ADDRESS).status_code == 403
    assert ADDRESS.encode() not in client.get("/rounds/round/").content
