"""A reviewer takes images out of an open study: told at once, bounded, and undone in one act."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.enums import ImageState
from annotation.ingest.quarantine import quarantine_image, release
from annotation.models import Assignment, AuditEvent, Image, User
from annotation.review.submitting import MOST_HELD
from readerstudy.models import ReaderStudy, StudyRole
from tests.annotation.review.cases import NOON, make_round
from tests.conftest import make_person
from tests.emails import delivered
from tests.readerstudy.monitoring.conftest import WATCH, said
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
    hidden, left = delivered()
    assert (hidden.to, "out of sight" in hidden.subject, "By: Rex" in hidden.body) == ([cora.email], True, True)
    assert (left.to, "is reported" in left.subject, "still in sight" in left.body) == ([cora.email], True, True)
    client.force_login(cora)
    assert "2 reported images in sight" in said(client, "/")
    assert f"{MOST_HELD} images of this study are in quarantine" in said(client)


def test_beyond_the_bound_an_image_stays_until_somebody_has_looked(
    client: Client, urls: list[str], cora: User, dina: User
) -> None:
    for _again in range(2):  # the second time names what waits already
        report(client, urls)
    client.force_login(User.objects.get(name="Rex"))
    names = [row.revision.question.exam.images.all()[0] for row in Assignment.objects.order_by("position")]
    answer = client.post(urls[-1], {"images": [names[-1].public_id]}, headers={"HX-Request": "true"}).json()
    assert f"until somebody has decided about them; of yours there are {MOST_HELD}." in answer["message"]
    assert "stays in sight, with your flag: the coordinators of its study are told" in answer["message"]
    assert AuditEvent.objects.filter(act="study.image_left").count() == 2

    def waiting() -> int:
        client.force_login(cora)
        return len(client.get(WATCH).context["left"])

    assert waiting() == 2
    quarantine_image(names[-1], reason="Looks like a name", actor=cora, at=NOON)
    assert waiting() == 1
    release(names[-1], reason="A position mark", actor=dina, at=NOON)
    assert waiting() == 1
    client.force_login(User.objects.get(name="Rex"))
    client.post(urls[-1], {"images": [names[-1].public_id]})
    assert waiting() == 2  # reported anew after the decision


def test_who_may_not_open_an_image_has_no_link_and_those_of_the_site_are_told(
    client: Client,
    urls: list[str],
    cora: User,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    monkeypatch.setattr("annotation.review.submitting.MOST_HELD", 0)
    settings.EMAIL_HOST, stan = "localhost", make_person("Stan")
    StudyRole.objects.create(study=ReaderStudy.objects.get(), user=stan, granted_at=NOON)
    with django_capture_on_commit_callbacks(execute=True):
        report(client, urls[:1])
    told = {one.to[0]: "Please look at it now" in one.body for one in delivered()}
    assert told == {cora.email: True, stan.email: False}
    for person in (cora, stan):
        client.force_login(person)
        page = said(client)
        assert "1 image of this study was reported and is still" in " ".join(page.split())
        assert ('href="/image/' in page) == (person == cora)


def test_a_case_of_more_images_than_the_bound_is_not_ignored(
    client: Client, urls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.review.submitting.MOST_HELD", 0)
    assert report(client, urls[:1]) == [409]
    assert (n_held(), AuditEvent.objects.filter(act="study.image_left").count()) == (0, 1)


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
