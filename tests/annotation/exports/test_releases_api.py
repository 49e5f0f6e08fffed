"""Releases as programs ask for them: planned, made, read and taken, as on their page; and withdrawn ones."""

from __future__ import annotations

import zipfile
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from annotation.enums import JobState, Role, Split
from annotation.exports import releases
from annotation.exports.release_files import ImageSize, note_taken, private_keys, zip_of
from annotation.exports.releases import (
    ask_to_pack,
    forget_packed,
    pack_release,
    packed_file,
    packed_of,
    plan_release,
    release,
    withdraw_release,
)
from annotation.jobs import running
from annotation.jobs.queueing import Progress
from annotation.models import AuditEvent, QuestionBank, Release, ReleasedQuestion, SeenKey, User
from annotation.models.people import TokenScope
from annotation.questionbank.kernels.entries import BankRefused
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.sampling import StratifyBy
from annotation.tables.writing import ExportRefused
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.exports.test_releases import PUBLIC_KEY, N, opened, wanted
from tests.annotation.exports.test_releases import chest as chest
from tests.annotation.rounds.made import make_open
from tests.jobs import worked
from tests.object_storage import TwoHomes, object_storage
from tests.pages import markup
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


ASKED = {"name": "First", "train": 50, "valid": 0, "test": 0, "private": 50, "seed": 1}
RELEASES = "banks/chest/releases/"


@pytest.fixture
def program(chest: QuestionBank, cora: User) -> Program:
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


def test_what_is_refused_stores_nothing(program: Program) -> None:
    assert program.post(RELEASES, ASKED).status_code == 201
    for address in (RELEASES, f"{RELEASES}plan/"):
        problem_of(program.post(address, {**ASKED, "train": 60}), 422, "shares")
        problem_of(program.post(address, ASKED), 422, "name_taken")
        for wrong in ({"seed": -1}, {"x": 1}):
            problem_of(program.post(address, {**ASKED, "name": "Second", **wrong}), 422, "invalid")
    assert Release.objects.count() == 1


def test_who_answers_a_question_blind_plans_and_takes_nothing(
    program: Program,
    chest: QuestionBank,
    client: Client,
    cora: User,
    rita: User,
    noon: datetime,
) -> None:
    here = program.post(RELEASES, ASKED)["Location"]
    plan = draw_sample(chest, by=StratifyBy.NONE, per_thousand=1000, seed=1, name="Sample", actor=rita, at=noon)
    make_open(plan, cora, actor=rita, reviewers_per_question=1)
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


# --- a release that was withdrawn: listed with day and reason, its files given to nobody, its name taken for good ---
REASON = "a report named a patient"


@pytest.fixture
def made(chest: QuestionBank, noon: datetime) -> Release:
    return release(wanted(chest), actor=None, at=noon)


def test_by_page_asked_first_then_struck_out_and_its_files_given_to_nobody(
    made: Release, client: Client, cora: User, tmp_path: Path
) -> None:
    client.force_login(cora)
    here = [made.bank.slug, made.public_id]
    address, listed = reverse("release-withdraw", args=here), reverse("bank-releases", args=here[:1])
    asked = client.post(address, {"reason": REASON})
    assert asked.status_code == 200
    assert REASON in markup(asked)
    assert Release.objects.get().withdrawn_at is None
    page = markup(client.post(address, {"reason": REASON, "confirmed": "yes"}, follow=True))
    assert "<s><bdi>First</bdi></s>" in page
    assert REASON in page
    assert reverse("bank-release-file", args=[*here, "files"]) not in page
    assert AuditEvent.objects.get(act="release.withdrawn", actor=cora).facts == {"name": "First", "reason": REASON}
    sent = {"files": {}, "packed": {"images": "full"}, "pack": {"images": "full"}, "keys": {"public_key": PUBLIC_KEY}}
    for what, body in sent.items():
        assert client.post(reverse("bank-release-file", args=[*here, what]), body).status_code == 409, what
    with pytest.raises(CommandError, match=f"withdrawn on .*{REASON}"):
        call_command("release_benchmark", bank="Chest", name="First", again=True, output=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert not SeenKey.objects.exists()
    assert "has a release “First” already, or had" in markup(
        client.post(listed, {"name": "First", "train": 100, "valid": 0, "test": 0, "private": 0, "seed": 1})
    )


def test_withdrawn_while_it_is_packed_or_read_nothing_is_kept_or_given(
    made: Release, cora: User, noon: datetime, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HOME = tmp_path / "home"

    def withdrawn_then_written(*given: Any, **named: Any) -> int:
        withdraw_release(Release.objects.get(pk=made.pk), REASON, actor=cora, at=noon)
        return zip_of(*given, **named)

    monkeypatch.setattr(releases, "zip_of", withdrawn_then_written)
    job = worked(ask_to_pack(made, ImageSize.QUARTER, actor=cora, at=noon))
    assert job.state == JobState.FAILED
    assert packed_of(made) is None, "remove what was written after the withdrawal"
    with pytest.raises(ExportRefused, match=REASON):
        note_taken(made, actor=cora, at=noon)
    assert not SeenKey.objects.exists()


def test_what_was_written_with_images_goes(
    made: Release,
    cora: User,
    noon: datetime,
    tmp_path: Path,
    settings: Settings,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    settings.HOME = tmp_path / "home"
    job = worked(ask_to_pack(made, ImageSize.QUARTER, actor=cora, at=noon))
    assert packed_of(made)
    with django_capture_on_commit_callbacks(execute=True):
        withdraw_release(made, REASON, actor=cora, at=noon)
    assert packed_of(made) is None
    with refuses(ExportRefused, "withdrawn"):
        pack_release(_Silent(), job.params)


class _Silent(Progress):
    def report(self, done: int, total: int, message: str = "") -> None:
        pass


def test_twice_or_without_a_reason_it_is_refused(made: Release, cora: User, noon: datetime) -> None:
    with refuses(BankRefused, "no_reason"):
        withdraw_release(made, " ", actor=cora, at=noon)
    withdraw_release(made, REASON, actor=cora, at=noon)
    with refuses(ExportRefused, "withdrawn"):
        withdraw_release(made, "another", actor=cora, at=noon)
    assert Release.objects.get().withdrawal_reason == REASON


def test_the_next_release_compares_with_none_and_still_moves_nobody(made: Release, cora: User, noon: datetime) -> None:
    before = dict(ReleasedQuestion.objects.values_list("revision", "split"))
    withdraw_release(made, REASON, actor=cora, at=noon)
    plan = plan_release(wanted(made.bank, "Second", seed=99, shares=dict.fromkeys(Split, 25)))
    assert plan.before is None
    assert plan.splits == before


def test_by_the_api(made: Release, cora: User) -> None:
    program = program_of(cora, Role.COORDINATOR, TokenScope.BANK, made.bank.slug)
    address = f"banks/{made.bank.slug}/releases/{made.public_id}/"
    problem_of(program.post(f"{address}withdraw/", {"reason": ""}), 422, "no_reason")
    told = program.post(f"{address}withdraw/", {"reason": REASON}).json()
    assert (told["withdrawal_reason"], told["withdrawn_by"]) == (REASON, cora.name)
    assert told == program.get(address).json()
    problem_of(program.get(f"{address}files/"), 409, "withdrawn")


# --- a release with its images that one machine packed and another gives out, with one bucket and a home each ---
@pytest.mark.services
def test_a_packed_release_is_given_out_by_the_other_machine(
    chest: QuestionBank, cora: User, noon: datetime, settings: Settings, tmp_path: Path
) -> None:
    media = settings.MEDIA_ROOT
    made = release(wanted(chest), actor=None, at=noon)
    with object_storage() as s3:
        homes = TwoHomes(tmp_path / "machines", settings, s3)
        settings.MEDIA_ALSO = "folder"
        for size in ImageSize:
            homes.at("b")
            settings.MEDIA_ROOT = media
            assert worked(ask_to_pack(made, size, actor=cora, at=noon)).error == ""
            assert (homes.left(), len(homes.in_bucket())) == ([], 1)
        homes.at("a")
        found = packed_of(made)
        assert found is not None
        path = packed_file(made, found.images)
        assert (path.read_bytes()[:2], path.stat().st_size) == (b"PK", found.n_bytes)
        forget_packed(made)
        assert (packed_of(made), homes.left(), homes.in_bucket()) == (None, [], [])
        with refuses(ExportRefused, "not_packed"):
            packed_file(made, found.images)
