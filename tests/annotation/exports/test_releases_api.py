"""Releases as programs ask for them: planned, made, read and taken, as on their page."""

from __future__ import annotations

import zipfile
from datetime import datetime
from io import BytesIO
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from annotation.enums import Role
from annotation.exports.release_files import private_keys
from annotation.jobs import running
from annotation.models import AuditEvent, QuestionBank, Release, SeenKey, User
from annotation.models.people import TokenScope
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.sampling import StratifyBy
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.exports.test_releases import PUBLIC_KEY, N, chest, opened  # noqa: F401  # chest: a fixture

pytestmark = pytest.mark.django_db

ASKED = {"name": "First", "train": 50, "valid": 0, "test": 0, "private": 50, "seed": 1}
RELEASES = "banks/chest/releases/"


@pytest.fixture
def program(chest: QuestionBank, cora: User) -> Program:  # noqa: F811
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, chest.slug)


def test_planned_then_made_then_read(program: Program, cora: User) -> None:
    told = program.post(f"{RELEASES}plan/", ASKED).json()
    assert (told["questions"], told["patients"]["private"]) == ({"train": 4, "valid": 0, "test": 0, "private": 4}, 2)
    assert not Release.objects.exists()
    made = program.post(RELEASES, ASKED)
    assert (made.status_code, made["Location"]) == (201, f"/api/v1/{RELEASES}{made.json()['id']}/")
    assert Release.objects.get().released_by == cora
    read = program.get(made["Location"])
    assert read.json() == made.json() == program.get(RELEASES).json()["results"][0]
    assert program.get(made["Location"], If_None_Match=read["ETag"]).status_code == 304


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"train": 60}, "shares"), ({"name": "First"}, "name_taken"), ({"seed": -1}, "invalid"), ({"x": 1}, "invalid")],
)
def test_what_is_refused_stores_nothing(program: Program, changes: dict[str, object], code: str) -> None:
    assert program.post(RELEASES, ASKED).status_code == 201
    for address in (RELEASES, f"{RELEASES}plan/"):
        problem_of(program.post(address, {**ASKED, "name": "Second", **changes}), 422, code)
    assert Release.objects.count() == 1


def test_who_answers_a_question_blind_plans_and_takes_nothing(
    program: Program,
    chest: QuestionBank,  # noqa: F811
    client: Client,
    cora: User,
    rita: User,
    noon: datetime,
) -> None:
    here = program.post(RELEASES, ASKED)["Location"]
    plan = draw_sample(chest, by=StratifyBy.NONE, per_thousand=1000, seed=1, name="Sample", actor=rita, at=noon)
    review_round = create_round(plan, name="Round", reviewers=[cora], reviewers_per_question=1, actor=rita, at=noon)
    open_round(review_round, actor=rita, at=noon)
    for method, address, body in (
        ("POST", f"{RELEASES}plan/", {**ASKED, "name": "Second"}),
        ("POST", RELEASES, {**ASKED, "name": "Second"}),
        ("GET", f"{here}files/", None),
        ("POST", f"{here}keys/", {"public_key": PUBLIC_KEY}),
    ):
        problem_of(program.ask(method, address, body), 403, "source_ids_hidden")
    client.force_login(cora)
    answer = client.post(reverse("bank-releases", args=[chest.slug]), {**ASKED, "name": "Second"})
    assert answer.status_code == 422
    assert b"You review questions of this bank yourself" in answer.content
    assert Release.objects.count() == 1
    assert not SeenKey.objects.exists()


def test_sent_twice_by_one_key_it_is_released_once(program: Program) -> None:
    first, again = (program.post(RELEASES, ASKED, Idempotency_Key="one") for _time in range(2))
    assert first.json() == again.json()
    assert Release.objects.count() == 1


def test_who_takes_files_or_keys_is_noted(program: Program, cora: User) -> None:
    address = program.post(RELEASES, ASKED)["Location"]
    assert not SeenKey.objects.exists()
    with zipfile.ZipFile(BytesIO(b"".join(program.get(f"{address}files/")))) as archive:
        assert "metadata/train_vqa_data.json" in archive.namelist()
    assert SeenKey.objects.filter(person=cora).count() == N
    for body in ({"public_key": "age1xyz"}, {}):
        problem_of(program.post(f"{address}keys/", body), 422, "public_key" if body else "invalid")
    taken = b"".join(program.post(f"{address}keys/", {"public_key": PUBLIC_KEY}))
    assert opened(taken) == opened(private_keys(Release.objects.get(), PUBLIC_KEY))
    assert AuditEvent.objects.filter(act="release.taken", actor=cora).count() == 2
    problem_of(program.get(f"{address}other/"), 404, "not_found")


def test_with_images_a_job_writes_it(program: Program, tmp_path: Path, settings: Settings) -> None:
    settings.HOME = tmp_path / "home"
    address = program.post(RELEASES, ASKED)["Location"]
    problem_of(program.get(f"{address}files/?images=full"), 409, "not_packed")
    problem_of(program.post(f"{address}pack/", {"images": "huge"}), 422, "invalid")
    asked = program.post(f"{address}pack/", {"images": "full"})
    assert (asked.status_code, asked.json()["state"]) == (202, "queued")
    running.run(asked.json()["id"], clock=timezone.now)
    assert program.get(asked["Location"]).json()["result"]["images"] == 2 * N
    with zipfile.ZipFile(BytesIO(b"".join(program.get(f"{address}files/?images=full")))) as archive:
        assert sum(name.startswith("images/") for name in archive.namelist()) == 2 * N
