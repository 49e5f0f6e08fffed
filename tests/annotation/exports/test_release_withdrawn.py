"""A release that was withdrawn: listed with day and reason, its files given to nobody, its name taken for good."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from annotation.enums import JobState, Role, Split
from annotation.exports import releases
from annotation.exports.release_files import ImageSize, note_taken, zip_of
from annotation.exports.releases import ask_to_pack, pack_release, packed_of, plan_release, release, withdraw_release
from annotation.exports.tables import ExportRefused
from annotation.jobs.queueing import Progress
from annotation.models import AuditEvent, QuestionBank, Release, ReleasedQuestion, SeenKey, User
from annotation.models.people import TokenScope
from annotation.questionbank.kernels.entries import BankRefused
from tests.annotation.api.asking import problem_of, program_of
from tests.annotation.exports.test_releases import PUBLIC_KEY, chest, wanted  # noqa: F401  # chest: a fixture
from tests.jobs import worked
from tests.pages import markup
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
REASON = "a report named a patient"


@pytest.fixture
def made(chest: QuestionBank, noon: datetime) -> Release:  # noqa: F811
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
