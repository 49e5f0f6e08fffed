"""Files of images in a bucket (moto's S3, one answer in twenty spoilt): import, reading, the way there and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from annotation.audit.belonging import check_keys, check_media
from annotation.enums import ImageState, RenditionKind
from annotation.ingest import quarantine, storage
from annotation.ingest.exams import IngestResult
from annotation.jobs.running import PASSES
from annotation.models import Image, Rendition, User
from annotation.site import media
from annotation.site.media import MediaRefused, fault_of_media, place_at
from tests.annotation.imaging.dicomfiles import make_dicom
from tests.object_storage import ObjectStorage, expired_certificate, object_storage
from tests.processes import environment, manage, migrated_site
from tests.refusals import refuses

pytestmark = [pytest.mark.services, pytest.mark.django_db]


@pytest.fixture(scope="module")
def s3() -> Iterator[ObjectStorage]:
    with object_storage() as found:
        yield found


@pytest.fixture
def bucket(s3: ObjectStorage, settings: Settings, home: Path, noon: datetime, request: pytest.FixtureRequest) -> str:
    s3.refuses, settings.MEDIA_S3 = None, s3.options()
    (home / "tmp").mkdir(parents=True)
    place_at.cache_clear()
    check_keys(at=noon)
    return s3.make(f"b{abs(hash(request.node.nodeid))}")


@pytest.fixture
def radiographs(tmp_path: Path) -> Path:
    folder = tmp_path / "radiographs"
    folder.mkdir()
    for number in range(12):
        data = make_dicom(StudyInstanceUID=f"1.2.{number}", SOPInstanceUID=f"1.2.{number}.1")
        (folder / f"{number}.dcm").write_bytes(data)
    return folder


def release_all() -> None:
    Image.objects.update(state=ImageState.AVAILABLE)


def is_whole() -> bool:
    return all(len(storage.load(row.name)) == row.n_bytes for row in Rendition.objects.all()) and all(
        storage.load(one.object_name)[128:132] == b"DICM" for one in Image.objects.all()
    )


def test_images_come_in_are_read_and_go_there_and_back(
    s3: ObjectStorage, bucket: str, settings: Settings, ingest: Callable[..., IngestResult], radiographs: Path,
    coordinator: Client, stan: User, dina: User, noon: datetime, home: Path,
) -> None:  # fmt: skip
    settings.MEDIA = bucket
    check_media()
    spoilt = s3.spoilt
    result = ingest(radiographs)
    assert (len(result.image_ids), result.refusals) == (12, [])
    release_all()
    assert not list((home / "media").rglob("*"))
    names = list(Rendition.objects.filter(kind=RenditionKind.FULL).values_list("name", flat=True))
    address = reverse("rendition", args=[names[0]])

    def reads() -> bool:
        served = coordinator.get(address, headers={"Accept-Encoding": "zstd"})
        assert "private" in served["Cache-Control"], "and no address of the bucket"
        return bool(served.status_code == 200 and served.content == storage.load(names[0]))

    assert is_whole()
    assert reads()
    stranger = Client()
    stranger.force_login(stan)
    assert stranger.get(address).status_code == 404
    held = Rendition.objects.get(name=names[1])
    quarantine.quarantine_image(held.image, reason="a name", actor=dina, at=noon)
    assert coordinator.get(reverse("rendition", args=[held.name])).status_code == 404

    media_before = {entry.key for entry in media.entries()}
    settings.MEDIA, settings.MEDIA_ALSO = "folder", bucket
    assert reads(), "from the old place"

    def stop_halfway(done: int, total: int) -> None:
        assert reads()
        if done == total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        storage.move_files("folder", deletes=True, at=noon, watch=stop_halfway)
    assert {entry.key for entry in place_at(bucket).entries()} == media_before, "nothing is deleted before the end"
    n_there = len(list(place_at("folder").entries()))
    moved = storage.move_files("folder", deletes=True, at=noon)
    assert (n_there > 0, len(moved.same), len(moved.written)) == (True, n_there, len(media_before) - n_there)
    assert not list(place_at(bucket).entries())
    settings.MEDIA_ALSO = ""
    assert is_whole()

    moved = storage.move_files(bucket, deletes=False, at=noon)
    assert len(moved.written) == len(media_before)
    with refuses(MediaRefused, "still_in_use"):
        storage.move_files(bucket, deletes=True, at=noon)
    storage.store(b"came in meanwhile")
    settings.MEDIA, settings.MEDIA_ALSO = bucket, "folder"
    moved = storage.move_files(bucket, deletes=True, at=noon)
    assert (len(moved.written), len(moved.same)) == (1, len(media_before))
    settings.MEDIA_ALSO = ""
    assert reads()
    assert is_whole()
    assert s3.spoilt - spoilt > 10, "the line was as bad as it was meant to be"


def test_a_file_that_differs_is_written_again_and_one_that_goes_stays_gone(
    bucket: str, settings: Settings, noon: datetime
) -> None:
    name, gone = storage.store(b"as it is"), storage.store(b"of a person who asked")
    storage.move_files(bucket, deletes=False, at=noon)
    other = place_at(bucket)
    media.write(storage.key_of(name), b"as it i$")  # of the same length
    assert len(storage.move_files(bucket, deletes=False, at=noon).written) == 1
    settings.MEDIA, settings.MEDIA_ALSO = bucket, "folder"
    storage.remove([gone])
    assert not any(place.exists(storage.key_of(gone)) for place in (other, place_at("folder")))
    assert storage.load(name) == b"as it i$"
    with pytest.raises(FileNotFoundError):
        storage.load(gone)


def test_orphans_of_a_bucket_are_swept(bucket: str, settings: Settings, noon: datetime) -> None:
    settings.MEDIA = bucket
    check_media()
    name = storage.store(b"orphan")
    (entry,) = media.entries()
    later = datetime.fromtimestamp(entry.changed_at, noon.tzinfo) + storage.KEEP_UNNAMED
    assert storage.sweep_orphans(at=later) == 0
    assert storage.sweep_orphans(at=later + timedelta(seconds=1)) == 1
    assert not storage.is_there(name)
    check_media()  # the mark of the site stays


FAULTS = {
    ("NoSuchBucket", 404): "there is no bucket",
    ("InvalidAccessKeyId", 403): "does not accept the keys",
    ("ExpiredToken", 400): "does not accept the keys",
    ("AccessDenied", 403): "the keys may not use the bucket",
    ("AuthorizationHeaderMalformed", 400): "in another region",
    ("RequestTimeTooSkewed", 403): "clocks",
    ("MethodNotAllowed", 405): "answers MethodNotAllowed, also when asked again",
}


def test_the_start_and_the_health_say_what_is_wrong(
    s3: ObjectStorage, bucket: str, settings: Settings, administrator: Client
) -> None:
    settings.MEDIA = bucket
    for fault, words in FAULTS.items():
        s3.refuses = fault
        with refuses(MediaRefused, "media_away") as refused:
            check_media()
        assert words in str(refused.value)
        told = administrator.get(reverse("healthz")).json()
        assert (words in told["images"], told["storage"]) == (True, "ok"), fault
        with refuses(MediaRefused, "media_away", status=503):
            storage.load("a" * 16)  # not as if there were no such file, and a script that wants an image asks again
        with pytest.raises(PASSES):  # a job, too
            storage.store(b"x")


def test_a_server_that_is_not_there_or_is_not_believed(
    s3: ObjectStorage, bucket: str, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA = bucket
    settings.MEDIA_S3 = s3.options(endpoint_url="http://127.0.0.1:1")
    place_at.cache_clear()
    assert "REXVQA_MEDIA_ENDPOINT" in fault_of_media()
    certificate = expired_certificate(tmp_path / "expired.pem")
    with object_storage(certificate) as expired:
        settings.MEDIA_S3 = expired.options(verify=str(certificate))
        place_at.cache_clear()
        assert "is not believed (certificate has expired)" in fault_of_media()


def test_the_bucket_of_another_site_is_refused(bucket: str, settings: Settings, noon: datetime) -> None:
    place_at(bucket).save("ab/abcd", ContentFile(b"of somebody else"))
    settings.MEDIA = bucket
    with refuses(MediaRefused, "foreign_bucket"):
        check_media()
    settings.MEDIA = "folder"
    with refuses(MediaRefused, "foreign_bucket"):
        storage.move_files(bucket, deletes=False, at=noon)


def test_a_backup_holds_the_files_of_a_bucket_and_goes_back_into_an_empty_one(
    s3: ObjectStorage, bucket: str, tmp_path: Path
) -> None:
    place_at(bucket).save("ab/abcd", ContentFile(b"pixels"))
    keys = {f"REXVQA_MEDIA_{name}": "of-the-tests" for name in ("ACCESS_KEY", "SECRET_KEY")}
    told = {"REXVQA_MEDIA": bucket, "REXVQA_MEDIA_ENDPOINT": s3.url, **keys}
    archive = str(tmp_path / "a.tar")
    with migrated_site(tmp_path / "old") as env:
        done = manage("backup", "--output", archive, env={**env, **told})
        assert f"1 files of {bucket}" in done.stdout, done.stderr
    refused = manage("restore", archive, env={**environment(tmp_path / "new"), **told})
    assert (refused.returncode, "holds files already" in refused.stderr) == (2, True)
    empty = place_at(f"{bucket}-2")
    done = manage("restore", archive, env={**environment(tmp_path / "new"), **told, "REXVQA_MEDIA": f"{bucket}-2"})
    assert done.returncode == 0, done.stderr
    assert [one.key for one in empty.entries()] == ["ab/abcd"]
    assert empty.exists("site"), "it is marked as of the site that was restored"
    done = manage("restore", archive, env=environment(tmp_path / "folder"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "folder" / "media" / "ab" / "abcd").read_bytes() == b"pixels"
