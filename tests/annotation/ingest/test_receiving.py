"""Machines send images: who may, and that what was acknowledged is on the disk and in the database."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from pydicom import dcmread
from pynetdicom import AE
from pytest_django import Settings

from annotation.audit.deleting import clear_leftovers
from annotation.enums import JobState
from annotation.ingest import receiving, uploading
from annotation.ingest.kernels.credits import IngestRefused
from annotation.ingest.kernels.dicomweb import senders_from
from annotation.ingest.listening import VERIFICATION, listen
from annotation.ingest.receiving import Receiver, take_in_received
from annotation.models import Image, Job, Upload, User
from tests.annotation.imaging.dicomfiles import CR, chest, make_dicom
from tests.processes import free_port
from tests.refusals import refuses

Kept = list[tuple[bytes, str, str]]


@pytest.fixture
def receiver(home: Path, settings: Settings, cora: User) -> Receiver:
    settings.TEMP_ROOT.mkdir(parents=True)
    return Receiver(cora, None)


@pytest.fixture
def kept(settings: Settings) -> Iterator[tuple[Kept, list[Exception]]]:
    """What a server on this machine was sent, and what keeping it raises next."""
    settings.DICOM_PORT = free_port()
    found, errors = Kept(), list[Exception]()

    def keep(data: bytes, uid: str, sender: str) -> None:
        if errors:
            raise errors.pop(0)
        found.append((data, uid, sender))

    server = listen(keep, senders_from("ROOM=127.0.0.0/8, FAR=192.0.2.1"))
    yield found, errors
    server.shutdown()


def asked(port: int, title: str, called: str = "READINGROOM") -> Any:
    entity = AE(title)
    for kind in (VERIFICATION, CR):
        entity.add_requested_context(kind)
    return entity.associate("127.0.0.1", port, ae_title=called)


def test_who_is_named_with_title_and_address_may_send(
    kept: tuple[Kept, list[Exception]], settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    found, errors = kept
    sent = dcmread(io.BytesIO(make_dicom()))
    association = asked(settings.DICOM_PORT, "ROOM")
    assert association.send_c_echo().Status == 0
    errors += [OSError(28, "No space left on device"), OperationalError("gone")]
    assert [association.send_c_store(sent).Status for _attempt in range(3)] == [0xA700, 0xA700, 0]
    association.release()
    assert [(uid, sender, data[128:132]) for data, uid, sender in found] == [("1.2.3.4", "ROOM", b"DICM")]
    for title, called in (("OTHER", "READINGROOM"), ("FAR", "READINGROOM"), ("ROOM", "ELSE")):
        refused = asked(settings.DICOM_PORT, title, called)
        assert refused.is_rejected
        assert refused.acceptor.primitive.diagnostic == (0x07 if called == "ELSE" else 0x03)
    turned_away = [one.getMessage() for one in caplog.records if "turned away" in one.getMessage()]
    assert turned_away == [
        "a sender was turned away: 'OTHER' at 127.0.0.1 is not in REXVQA_DICOM_SENDERS",
        "a sender was turned away: 'FAR' at 127.0.0.1 is not in REXVQA_DICOM_SENDERS",
        "a sender was turned away: 'ROOM' at 127.0.0.1 called 'ELSE', and this site is 'READINGROOM'",
    ]


def later(upload: Upload, seconds: int) -> datetime:
    files = uploading.folder_of(upload.public_id) / "files"
    return datetime.fromtimestamp(files.stat().st_mtime + seconds, UTC)


def test_what_came_is_one_upload_after_a_silence(receiver: Receiver, settings: Settings, client: Client) -> None:
    settings.DICOM_SILENCE_SECONDS = 30
    for n in (1, 2, 2):
        receiver.keep(make_dicom(chest(90, 80 + n), SOPInstanceUID=f"1.2.{n}"), f"1.2.{n}", "ROOM")
    upload = Upload.objects.get()
    assert (upload.n_files, upload.job) == (3, None)
    client.force_login(receiver.person)
    assert "Images are being sent" in client.get(reverse("upload", args=[upload.public_id])).content.decode()
    assert '<span class="tag">ROOM</span>' in client.get(reverse("uploads")).content.decode()
    take_in_received(later(upload, 29))
    clear_leftovers(later(upload, 40 * 86400))  # a receiver that was stopped for weeks
    with refuses(IngestRefused, "upload_in_use"):
        uploading.archive_upload(upload, actor=receiver.person, at=later(upload, 1))
    take_in_received(later(upload, 31))
    take_in_received(later(upload, 60))
    receiver.keep(make_dicom(), "../7", "ROOM")  # after that: another upload, under no name of the sender
    assert Job.objects.count() == 1
    first, second = Upload.objects.order_by("pk")
    assert [path.name[:6] for path in (uploading.folder_of(second.public_id) / "files").iterdir()] == ["image."]

    class Reports:
        def report(self, done: int, total: int, message: str = "") -> None:
            pass

    result = uploading.ingest_upload(Reports(), {"upload": first.public_id})
    assert (result["images"], result["duplicates"], Image.objects.count()) == (2, 1, 2)


@pytest.mark.parametrize("n_before", [0, 1])
@pytest.mark.parametrize("what", ["disk", "database", "job began"])
def test_what_could_not_be_kept_leaves_nothing(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, n_before: int, what: str, settings: Settings
) -> None:
    for _n in range(n_before):
        receiver.keep(make_dicom(), "1.2", "ROOM")

    def fail(*args: Any, **more: Any) -> None:
        if what == "job began":
            Upload.objects.update(job=Job.objects.create(kind="x", state=JobState.RUNNING, created_at=now))
            monkeypatch.undo()
            return
        raise OSError(28, "No space left on device") if what == "disk" else OperationalError("gone")

    now = datetime(2026, 3, 1, tzinfo=UTC)
    if what == "job began":
        monkeypatch.setattr(receiving, "_sync", fail)
        receiver.keep(make_dicom(), "1.3", "ROOM")
        assert Upload.objects.filter(job=None).count() == 1
    else:
        monkeypatch.setattr(*(os, "fsync") if what == "disk" else (receiving, "_without_job"), fail)
        with pytest.raises((OSError, OperationalError)):
            receiver.keep(make_dicom(), "1.3", "ROOM")
        monkeypatch.undo()
    assert [upload.n_files for upload in Upload.objects.all()] == [1] * Upload.objects.count()
    assert len(list(settings.TEMP_ROOT.rglob("*.dcm"))) == Upload.objects.count()


def test_nobody_sends_without_the_settings(receiver: Receiver, settings: Settings) -> None:
    settings.DICOM_SENDERS = ()
    with pytest.raises(CommandError, match="No sender is allowed"):
        call_command("receive_dicom", "--by", receiver.person.email)
    with pytest.raises(CommandError, match="Nobody of this address"):
        call_command("receive_dicom", "--by", "x@example.org")
