"""Against an Orthanc of this machine: fetched by DICOMweb, and sent by it to a receiver of ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import requests
from django.core.management import CommandError, call_command
from pytest_django import Settings
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from annotation.ingest.kernels.dicomweb import pacs_from, senders_from
from annotation.ingest.listening import listen
from annotation.models import Image
from tests.annotation.imaging.dicomfiles import chest, make_dicom
from tests.processes import free_port

PLUGIN = Path("/usr/share/orthanc/plugins/libOrthancDicomWeb.so")
pytestmark = [
    pytest.mark.check,
    pytest.mark.skipif(
        not (shutil.which("Orthanc") and PLUGIN.exists()),
        reason="Orthanc is not here: apt-get install orthanc orthanc-dicomweb",
    ),
]


@pytest.fixture
def orthanc(home: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its address; it holds two exams of two images, one image of them twice, and sends to ``room``."""
    settings.TEMP_ROOT.mkdir(parents=True)
    port, settings.DICOM_PORT = free_port(), free_port()
    written = {
        "StorageDirectory": str(tmp_path / "orthanc"),
        "HttpPort": port,
        "DicomPort": free_port(),
        "DicomAet": "ORTHANC",
        "AuthenticationEnabled": True,
        "RegisteredUsers": {"reader": "se:cret"},
        "Plugins": [str(PLUGIN)],
        "DicomModalities": {"room": ["READINGROOM", "127.0.0.1", settings.DICOM_PORT]},
    }
    (tmp_path / "orthanc.json").write_text(json.dumps(written))
    process = subprocess.Popen(["Orthanc", tmp_path / "orthanc.json"], stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    settings.DICOMWEB = pacs_from(f"try={address}/dicom-web")
    monkeypatch.setenv("REXVQA_DICOMWEB_KEY_TRY", "reader:se:cret")
    try:
        with requests.Session() as patient:
            patient.mount("http://", HTTPAdapter(max_retries=Retry(total=12, backoff_factor=0.1)))
            assert patient.get(address, timeout=30).status_code == 401
        for n in range(4):
            uids = {"StudyInstanceUID": f"1.9.{n // 2}", "SeriesInstanceUID": f"1.9.{n // 2}.1"}
            uids |= {"SOPInstanceUID": f"1.9.{n // 2}.1.{n}", "AccessionNumber": f"A{n // 2}", "StudyDate": "20260301"}
            asked(f"{address}/instances", make_dicom(chest(90, 80 + n % 3), **uids))
        yield address
    finally:
        process.terminate()
        process.wait()


def asked(address: str, data: Any) -> Any:
    answer = requests.post(address, data=data, auth=("reader", "se:cret"), timeout=30)
    answer.raise_for_status()
    return answer.json()


def fetched(*more: str) -> dict[str, Any]:
    out = StringIO()
    call_command("ingest_dicomweb", "try", "--from", "2026-03-01", "--to", "2026-03-02", "--json", *more, stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


@pytest.mark.django_db
def test_what_it_has_comes_in_once(orthanc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fetched("--body-part", "HAND")["images"] == 0
    first = fetched("--body-part", "CHEST", "--most", "3")
    assert (first["images"], first["exams"], first["more"]) == (3, 2, True)
    again = fetched()
    assert (again["images"], again["known"]) == (1, 3)
    assert Image.objects.count() == 4
    monkeypatch.setenv("REXVQA_DICOMWEB_KEY_TRY", "reader:wrong")
    with pytest.raises(CommandError, match="refuses the user"):
        fetched()


def test_what_it_sends_is_acknowledged_once_it_is_kept(orthanc: str) -> None:
    kept, errors = list[str](), [OSError(28, "No space left on device")]

    def keep(data: bytes, uid: str, sender: str) -> None:
        if errors:
            raise errors.pop()
        kept.append(uid)

    server = listen(keep, senders_from("ORTHANC=127.0.0.1"))
    try:
        asked(f"{orthanc}/modalities/room/echo", "{}")
        all_of_it = requests.get(f"{orthanc}/instances", auth=("reader", "se:cret"), timeout=30).json()
        with pytest.raises(requests.HTTPError):
            asked(f"{orthanc}/modalities/room/store", json.dumps(all_of_it))
        asked(f"{orthanc}/modalities/room/store", json.dumps(all_of_it))
    finally:
        server.shutdown()
    assert len(set(kept)) == 4
