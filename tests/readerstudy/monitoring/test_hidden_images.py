"""A reviewer takes images out of an open study: told at once, bounded, and undone in one act."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.enums import ImageState
from annotation.models import Assignment, Image, User
from annotation.review.submitting import MOST_HELD
from tests.annotation.review.cases import make_round
from tests.conftest import make_person
from tests.emails import delivered
from tests.readerstudy.monitoring.conftest import said
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db
N = MOST_HELD + 2


@pytest.fixture
def urls() -> list[str]:
    """Rex reviews the questions of an open study: where he reports, and one image of each."""
    study = make_study(n_cases=N, pixels=True)
    rex, review_round = make_person("Rex"), make_round(n_questions=0)
    rows = Assignment.objects.bulk_create(
        Assignment(round=review_round, reviewer=rex, revision=case.revision, position=case.number)
        for case in study.cases.all()
    )
    return [f"/review/{row.public_id}/identifies/" for row in rows]


def report(client: Client, urls: list[str]) -> list[int]:
    client.force_login(User.objects.get(name="Rex"))
    names = {row.public_id: row.revision.question.exam.images.all()[0].public_id for row in Assignment.objects.all()}
    return [client.post(url, {"images": [names[url.split("/")[2]]]}).status_code for url in urls]


def n_held() -> int:
    return Image.objects.filter(state=ImageState.QUARANTINED).count()


def test_the_coordinator_is_told_and_the_reviewer_stopped(
    client: Client,
    urls: list[str],
    cora: User,
    settings: Settings,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    settings.EMAIL_HOST = "localhost"
    with django_capture_on_commit_callbacks(execute=True):
        assert report(client, urls) == [302] * MOST_HELD + [409] * 2
    assert n_held() == MOST_HELD
    [mail] = delivered()
    assert (mail.to, "out of sight" in mail.subject, "By: Rex" in mail.body) == ([cora.email], True, True)
    client.force_login(cora)
    assert f"{MOST_HELD} images in quarantine" in said(client, "/")
    assert f"{MOST_HELD} images of this study are in quarantine" in said(client)


def test_one_act_brings_them_back(client: Client, urls: list[str], dina: User) -> None:
    report(client, urls)
    client.force_login(dina)
    [form] = re.findall(r'<form class="notice".*?</form>', said(client, "/quarantine/"), re.S)
    assert f"Rex reported identifying text in {MOST_HELD}" in " ".join(form.split())
    images = re.findall(r'name="image" value="([^"]+)"', form)
    sent = {"decision": "release", "image": images, "confirmed": "yes", "reason": "no text there"}
    assert client.post("/quarantine/decide/", sent).status_code == 302
    assert n_held() == 0
    assert report(client, urls[:1]) == [302]
