"""Images from a PACS: what is asked, what is believed, bad lines, and that what is here is not fetched again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from annotation.audit.deleting import clear_leftovers
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.ingest import pacs, uploading
from annotation.ingest.fetching import query_of
from annotation.ingest.kernels.dicomweb import (
    CutAnswer,
    Instance,
    Pacs,
    Query,
    instance_in,
    pacs_from,
    searches,
    senders_from,
    study_in,
    write_part,
)
from annotation.ingest.pacs import PacsAway, PacsClient, PacsRefused
from annotation.models import AuditEvent, Image, Job, Upload, User
from tests.annotation.imaging.dicomfiles import chest, make_data_set
from tests.refusals import refuses

from .stand_in_pacs import StandIn, stand_in

ASKED: dict[str, Any] = {"modalities": ["CR"], "first": None, "last": None, "body_part": "", "accession_numbers": []}
ASKED |= {"most": 10, "today": date(2026, 3, 31)}
CASES = Query(("CR",), accession_numbers=("A-0", "A-1", "A-2"))


@pytest.fixture
def archive(home: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """Three exams of one image each; the site has its password, and waits for nothing."""
    settings.TEMP_ROOT.mkdir(parents=True)
    places: dict[str, Any] = {"SeriesInstanceUID": "2.2", "StudyDate": "20260301"}
    images = [
        make_data_set(
            chest(90, 80 + n), SOPInstanceUID=f"3.{n}", StudyInstanceUID=f"1.{n}", AccessionNumber=f"A-{n}", **places
        )
        for n in range(3)
    ]
    monkeypatch.setenv("REXVQA_DICOMWEB_KEY_TRY", "reader:se:cret")
    monkeypatch.setattr(pacs, "WAITS", (0, 0))
    with stand_in(images) as found:
        settings.DICOMWEB = (found.pacs,)
        yield found


def fetch(found: StandIn, target: Path, pauses: list[float]) -> bytes:
    PacsClient(found.pacs, pause=pauses.append).fetch(Instance("1.0", "2.2", "3.0"), target)
    return target.read_bytes()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({}, "no_condition"),
        ({"first": date(2026, 4, 1)}, "bad_days"),
        ({"first": date(2024, 4, 1)}, "bad_days"),
        ({"accession_numbers": ["A*"]}, "bad_number"),
        ({"accession_numbers": ["1"], "body_part": "?"}, "bad_number"),
        ({"first": date(2026, 3, 1), "most": 0}, "bad_most"),
        ({"first": date(2026, 3, 1), "modalities": []}, "bad_most"),
    ],
)
def test_what_would_fetch_everything_is_refused(changed: dict[str, Any], code: str) -> None:
    with refuses(PacsRefused, code):
        query_of(**ASKED | changed)


def test_each_search_is_for_one_day_or_one_number() -> None:
    days = query_of(**ASKED | {"first": date(2026, 3, 30), "modalities": ["CR", "DX"]})
    assert [one["StudyDate"] + one["ModalitiesInStudy"] for one in searches(days)] == [
        f"202603{day}{kind}" for day in (30, 31) for kind in ("CR", "DX")
    ]
    numbers = query_of(**ASKED | {"accession_numbers": [" 7 ", "7", "", "8"]})
    assert list(searches(numbers)) == [{"AccessionNumber": "7"}, {"AccessionNumber": "8"}]


def test_what_a_pacs_gives_beside_what_was_asked_is_left() -> None:
    def said(**values: str) -> dict[str, Any]:
        tags = {"day": "00080020", "number": "00080050", "uid": "0020000D", "kind": "00080060", "part": "00180015"}
        tags |= {"series": "0020000E", "sop": "00080018"}
        return {tags[key]: {"vr": "LO", "Value": [value]} for key, value in values.items()}

    query = Query(("CR",), date(2026, 3, 1), date(2026, 3, 2), "CHEST", ("7",))
    good = {"day": "20260302", "number": "7", "uid": "1.2"}
    assert study_in(said(**good), query) == "1.2"
    for wrong in ({"day": "20260303"}, {"day": "20260228"}, {"number": "8"}, {"uid": "../1"}):
        assert study_in(said(**good | wrong), query) == ""
    image = {"series": "1.3", "sop": "1.4", "kind": "CR", "part": "chest"}
    assert instance_in(said(**image), "1.2", query) == Instance("1.2", "1.3", "1.4")
    assert instance_in(said(series="1.3", sop="1.4"), "1.2", query)  # says neither
    for wrong in ({"kind": "CT"}, {"part": "HAND"}, {"part": ""}, {"sop": "1/4"}):
        assert instance_in(said(**image | wrong), "1.2", query) is None
    odds: list[Any] = [None, [], {"0020000D": 3}]
    assert [study_in(odd, query) for odd in odds] == [""] * 3


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_file_is_found_in_pieces_of_any_size(size: int) -> None:
    content = b"\r\n--b \r\n-- \r\n--" * 3
    whole = b"preamble\r\n--bo\r\nA: b\r\n\r\n" + content + b"\r\n--bo--"
    pieces, written = [whole[n : n + size] for n in range(0, len(whole), size)], list[bytes]()
    write_part(pieces, "multipart/related; boundary=bo", written.append)
    assert b"".join(written) == content
    write_part([b"a", b"b"], "application/dicom", written.append)
    assert written[-2:] == [b"a", b"b"]
    with pytest.raises(CutAnswer):
        write_part([whole[:-9]], "multipart/related; boundary=bo", written.append)


def test_the_lists_of_the_settings() -> None:
    assert pacs_from("a=https://h/x/, b=http://i") == (Pacs("a", "https://h/x"), Pacs("b", "http://i"))
    with pytest.raises(ValueError, match="nothing is to follow"):
        pacs_from("a=https://h place=network")
    assert [one.title for one in senders_from("CT 1=10.0.0.0/8, X=::1")] == ["CT 1", "X"]
    for wrong in ("X", "=1.2.3.4", "A\\B=1.2.3.4", "X=10.0.0.1/8"):
        with pytest.raises(ValueError):
            senders_from(wrong)


def test_a_bad_line_is_tried_again_and_a_busy_pacs_is_given_time(archive: StandIn, tmp_path: Path) -> None:
    archive.faults, archive.retry_after, pauses = ["cut", 503], "7", list[float]()
    assert fetch(archive, tmp_path / "a", pauses)[128:132] == b"DICM"
    assert pauses == [0, 7]
    archive.faults = ["cut"] * 3
    with pytest.raises(ImageRefused, match="does not give it"):
        fetch(archive, tmp_path / "a", [])
    archive.faults = [429] * 3
    with pytest.raises(PacsAway, match="429"):
        fetch(archive, tmp_path / "a", [])
    archive.faults = [302]
    with pytest.raises(ImageRefused):
        fetch(archive, tmp_path / "a", [])


def test_a_larger_file_is_not_read_to_its_end(archive: StandIn, tmp_path: Path, settings: Settings) -> None:
    settings.IMAGE_MAX_BYTES = 1000
    with pytest.raises(ImageRefused) as caught:
        fetch(archive, tmp_path / "a", [])
    assert caught.value.code == "too_large"


@pytest.mark.django_db
def test_a_wrong_password_is_said_and_is_nowhere(archive: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REXVQA_DICOMWEB_KEY_TRY", "reader:wrong-one")
    with pytest.raises(CommandError, match="refuses the user, the password") as caught:
        call_command("ingest_dicomweb", "try", "--from", "2026-01-01", stdout=StringIO())
    assert "wrong-one" not in str(caught.value)
    with pytest.raises(CommandError, match="no PACS of this name"):
        call_command("ingest_dicomweb", "http://elsewhere", "--from", "2026-01-01")


@pytest.mark.django_db
def test_the_command_goes_on_where_it_ended(archive: StandIn, tmp_path: Path) -> None:
    (tmp_path / "numbers").write_text("A-0\nA-1\nA-2\n")

    def run(*more: str) -> dict[str, Any]:
        out = StringIO()
        asked = ("ingest_dicomweb", "try", "--accession", str(tmp_path / "numbers"), "--json", *more)
        call_command(*asked, stdout=out)
        answer: dict[str, Any] = json.loads(out.getvalue())
        return answer

    first, second, third = run("--most", "2"), run(), run()
    assert [(one["images"], one["known"], one["more"]) for one in (first, second, third)] == [
        (2, 0, True),
        (1, 2, False),
        (0, 3, False),
    ]
    assert archive.fetched == ["3.0", "3.1", "3.2"]
    assert not list((uploading.folder_of("x").parent).glob("dicomweb-*"))


class Reports:
    def __init__(self) -> None:
        self.told = list[str]()

    def report(self, done: int, total: int, message: str = "") -> None:
        self.told.append(message)


@pytest.mark.django_db
def test_a_fetch_from_the_page_survives_that_the_pacs_goes_away(
    coordinator: Client, archive: StandIn, settings: Settings
) -> None:
    asked = {"pacs": "try", "accession_numbers": "A-0\nA-1\nA-2", "modalities": ["CR"], "most": "10"}
    answer = coordinator.post(reverse("upload-fetch"), asked)
    upload = Upload.objects.get()
    assert answer.headers["Location"] == reverse("upload", args=[upload.public_id])
    stored = [Job.objects.values(), Upload.objects.values(), AuditEvent.objects.values()]
    assert "A-1" not in str([list(rows) for rows in stored])
    folder = uploading.folder_of(upload.public_id)
    assert (folder / "query.json").stat().st_mode & 0o77 == 0
    archive.faults = ["", 503, 503, 503]
    reports = Reports()
    with pytest.raises(PacsAway):
        uploading.ingest_upload(reports, {"upload": upload.public_id})
    assert Image.objects.count() == 1
    assert reports.told[0] == "asking the PACS"
    settings.DICOMWEB, reports = (Pacs("try", "http://127.0.0.1:9"),), Reports()
    with pytest.raises(PacsAway):
        uploading.ingest_upload(reports, {"upload": upload.public_id})
    assert reports.told == [], "why the last one ended stays in sight until the PACS answers"
    settings.DICOMWEB = (archive.pacs,)
    result = uploading.ingest_upload(Reports(), {"upload": upload.public_id})
    assert (result["images"], result["known"], result["more"], result["refused"]) == (3, 0, False, [])
    assert (result["files"], result["exams"], len(result["unmet_ids"])) == (3, 3, 3)
    assert len(set(result["image_ids"])) == 3
    assert archive.fetched.count("3.0") == 1
    assert not folder.exists()
    Job.objects.update(state="succeeded", result=result)
    page = coordinator.get(reverse("upload", args=[upload.public_id])).content.decode()
    assert "Images from the PACS “try”" in page
    assert "3 accession numbers" in page
    assert '<span class="tag">try</span>' in coordinator.get(reverse("uploads")).content.decode()


@pytest.mark.parametrize("numbers", ["A-0\nB-7\nB-8", "B-7\nB-8"])
def test_the_page_says_what_the_pacs_does_not_have(
    client: Client, cora: User, archive: StandIn, numbers: str, settings: Settings
) -> None:
    def page() -> str:
        return " ".join(client.get(reverse("upload", args=[upload.public_id])).content.decode().split())

    client.force_login(cora)
    asked = {"pacs": "try", "accession_numbers": numbers, "modalities": ["CR"], "most": "10"}
    client.post(reverse("upload-fetch"), asked)
    upload = Upload.objects.get()
    result = uploading.ingest_upload(Reports(), {"upload": upload.public_id})
    Job.objects.update(state="succeeded", result=result)
    stored = [Job.objects.values(), Upload.objects.values(), AuditEvent.objects.values()]
    assert "B-7" not in str([list(rows) for rows in stored])
    is_nothing_there = "A-0" not in numbers
    assert ("The PACS has no image by what was asked for: CR" in page()) is is_nothing_there
    assert ("Files read" in page()) is not is_nothing_there
    assert 'knows no exam of 2 accession numbers: <bdi class="mono">B-7, B-8</bdi>' in page()
    for file in settings.TEMP_ROOT.rglob("*.*"):
        assert (file.name, file.stat().st_mode & 0o77) == ("without_exam.txt", 0)
    clear_leftovers(timezone.now() + timedelta(hours=13))
    assert "knows no exam of 2 accession numbers; which ones is no longer kept" in page()


def test_an_administrator_cancels_what_they_began_on_its_page(client: Client, ada: User, archive: StandIn) -> None:
    client.force_login(ada)
    client.post(reverse("upload-fetch"), {"pacs": "try", "accession_numbers": "A-0", "modalities": ["CR"], "most": "1"})
    page = client.get(reverse("upload", args=[Upload.objects.get().public_id])).content.decode()
    assert reverse("job-cancel", args=[Job.objects.get().public_id]) in page


def test_the_page_says_that_no_pacs_is_set_and_what_is_wrong(
    coordinator: Client, settings: Settings, archive: StandIn
) -> None:
    wrong = coordinator.post(reverse("upload-fetch"), {"pacs": "try", "modalities": ["CR"], "most": "10"})
    assert wrong.status_code == 422
    assert "never asked for all it has" in wrong.content.decode()
    settings.DICOMWEB = ()
    assert "No PACS is set" in coordinator.get(reverse("upload-fetch")).content.decode()
