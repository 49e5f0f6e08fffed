"""Files with planted identifiers, sent by page: none of them is in anything that the site serves afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponseBase
from django.test import Client
from django.urls import reverse

from annotation.enums import ImageState, JobState, Role
from annotation.imaging.kernels import text
from annotation.ingest import uploading
from annotation.models import Image, Job, Membership, Rendition, Upload, User
from tests.annotation.ingest.planted import planted_forms, planted_in

from .test_uploads import Reports


def whole(answer: HttpResponseBase) -> bytes:
    """Headers and body."""
    assert answer.status_code == 200
    body = b"".join(answer) if answer.streaming else answer.content  # type: ignore[attr-defined]
    return bytes(answer.serialize_headers()) + body


def addresses(upload: Upload) -> Iterator[str]:
    """Every page about the upload, its job and its images, and every file of an image that people may see."""
    yield from (reverse(name) for name in ("home", "uploads", "images", "jobs", "quarantine"))
    yield from (reverse(name, args=[upload.public_id]) for name in ("upload", "upload-report"))
    assert upload.job
    yield reverse("job", args=[upload.job.public_id])
    for image in Image.objects.all():
        yield reverse("image", args=[image.public_id])
        held = image.state == ImageState.QUARANTINED
        if held:
            yield reverse("quarantined-image", args=[image.public_id])
        for rendition in Rendition.objects.filter(image=image):
            yield reverse("quarantine-rendition" if held else "rendition", args=[rendition.name])


def test_no_page_and_no_file_serves_a_planted_identifier(
    client: Client, cora: User, home: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch, noon: datetime
) -> None:
    Membership.objects.create(user=cora, role=Role.DEIDENTIFIER, granted_at=noon)
    client.force_login(cora)
    files = [
        SimpleUploadedFile(path.name, path.read_bytes()) for path in sorted((shared_data / "hostile/phi").iterdir())
    ]
    assert client.post(reverse("upload-new"), {"files": files}).status_code == 302
    upload = Upload.objects.get()
    monkeypatch.setattr(text, "find_text", lambda *_given: [])
    result = uploading.ingest_upload(Reports(), {"upload": upload.public_id})
    assert (result["images"], result["quarantined"]) == (len(files), 1)
    Job.objects.update(state=JobState.SUCCEEDED, result=result)
    served = {address: whole(client.get(address)) for address in addresses(upload)}
    assert len(served) > 3 * len(files)
    assert not planted_in(served, planted_forms(shared_data / "hostile"))
