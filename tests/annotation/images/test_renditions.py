"""Who gets which bytes, and what the answer says about them."""

from __future__ import annotations

import gzip
import json
from datetime import datetime

import zstandard
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.enums import AssignmentState, ImageState, RenditionKind, Role, RoundState
from annotation.imaging.kernels.rendering import payload_of
from annotation.ingest import storage
from annotation.ingest.serving import image_descriptors
from annotation.models import Image, Membership, Rendition, User

from .conftest import Assign, MakeImage, rendition_of


def address(image: Image, kind: RenditionKind = RenditionKind.FULL, route: str = "rendition") -> str:
    return reverse(route, args=[rendition_of(image, kind).name])


def test_full_depth_is_the_same_as_zstd_and_as_gzip_made_once_and_its_headers_keep_it_private(
    coordinator: Client, make_image: MakeImage
) -> None:
    image = make_image()
    modern = coordinator.get(address(image), headers={"Accept-Encoding": "gzip, br, zstd"})
    old = coordinator.get(address(image), headers={"Accept-Encoding": "gzip, zstd;q=0"})
    assert (modern["Content-Encoding"], old["Content-Encoding"]) == ("zstd", "gzip")
    planes = zstandard.ZstdDecompressor().decompress(modern.content, max_output_size=2 * 60 * 80)
    assert planes == gzip.decompress(old.content)
    assert payload_of(modern.content, 80, 60).shape == (60, 80)
    assert Rendition.objects.filter(image=image, kind=RenditionKind.FULL_GZIP).count() == 1
    assert coordinator.get(address(image)).content == old.content
    assert Rendition.objects.filter(image=image).count() == 3
    assert modern["Cache-Control"] == "private, max-age=28800, immutable"
    assert modern["X-Content-Type-Options"] == "nosniff"
    assert modern["Content-Type"] == "application/octet-stream"
    assert "Accept-Encoding" in modern["Vary"]
    assert not {"ETag", "Last-Modified", "Content-Disposition"} & set(modern.headers)
    small = coordinator.get(address(image, RenditionKind.PREVIEW))
    assert (small["Content-Type"], small.content[8:12]) == ("image/webp", b"WEBP")
    assert "Content-Encoding" not in small


def test_a_thumbnail_is_drawn_once_for_whoever_may_see_the_image(
    client: Client, cora: User, rita: User, make_image: MakeImage
) -> None:
    image = make_image()
    small = address(image, RenditionKind.PREVIEW, "thumbnail")
    client.force_login(rita)
    assert client.get(small).status_code == 404
    client.force_login(cora)
    first = client.get(small)
    assert (first["Content-Type"], first.content[8:12]) == ("image/webp", b"WEBP")
    assert client.get(small).content == first.content
    assert Rendition.objects.filter(image=image, kind=RenditionKind.THUMB).count() == 1
    assert client.get(address(image, RenditionKind.FULL, "thumbnail")).status_code == 404
    Image.objects.filter(pk=image.pk).update(state=ImageState.QUARANTINED)
    assert client.get(small).status_code == 404


def test_a_reviewer_sees_the_exam_of_an_open_assignment(
    client: Client, rita: User, remo: User, make_image: MakeImage, assign: Assign
) -> None:
    image, other = make_image(), make_image()
    assign(image.exam, rita)
    assign(other.exam, remo)
    client.force_login(rita)
    assert client.get(address(image)).status_code == 200
    assert client.get(address(other)).status_code == 404
    client.force_login(remo)
    assert client.get(address(image)).status_code == 404
    assert client.get(address(other)).status_code == 200


def test_a_reviewer_and_the_state_of_the_round_and_of_the_image(
    client: Client, cora: User, rita: User, make_image: MakeImage, assign: Assign
) -> None:
    image = make_image()
    given = assign(image.exam, rita)
    client.force_login(rita)
    for state, round_state, status in (
        (AssignmentState.WAITING, RoundState.DRAFT, 404),
        (AssignmentState.WITHDRAWN, RoundState.OPEN, 404),
        (AssignmentState.ANSWERED, RoundState.CLOSED, 404),
        (AssignmentState.SUBMITTED, RoundState.CLOSED, 200),
        (AssignmentState.SKIPPED, RoundState.OPEN, 200),
        (AssignmentState.SUBMITTED, RoundState.OPEN, 200),
    ):
        given.state, given.round.state = state, round_state
        given.save()
        given.round.save()
        assert client.get(address(image)).status_code == status, (state, round_state)
    for hidden in (ImageState.CHECKING, ImageState.QUARANTINED, ImageState.REMOVED):
        Image.objects.update(state=hidden)
        for person in (cora, rita):
            client.force_login(person)
            assert client.get(address(image)).status_code == 404, hidden


def test_a_coordinator_of_one_round_sees_what_it_samples(
    client: Client, stan: User, noon: datetime, make_image: MakeImage, assign: Assign, rita: User
) -> None:
    image, other = make_image(), make_image()
    given = assign(image.exam, rita)
    given.round.plan.questions.create(position=1, revision=given.revision, stratum="all")
    assign(other.exam, rita)
    Membership.objects.create(user=stan, role=Role.COORDINATOR, round=given.round, granted_at=noon)
    client.force_login(stan)
    assert client.get(address(image)).status_code == 200
    assert client.get(address(other)).status_code == 404


def test_logged_out_wrong_methods_wrong_names_and_lost_files(coordinator: Client, make_image: MakeImage) -> None:
    image = make_image()
    assert Client().get(address(image)).status_code == 302
    assert Client().get(address(image), headers={"Accept": "application/json"}).status_code == 401
    assert coordinator.post(address(image)).status_code == 405
    assert coordinator.get("/images/no-such-name").status_code == 404
    assert coordinator.get("/images/..%2F..%2Fsecret_key").status_code == 404
    assert coordinator.get(reverse("rendition", args=[image.object_name])).status_code == 404
    storage.remove([rendition_of(image).name])
    assert coordinator.get(address(image), headers={"Accept-Encoding": "zstd"}).status_code == 404


def test_query_count(
    reviewer: Client,
    rita: User,
    make_image: MakeImage,
    assign: Assign,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    image = make_image()
    assign(image.exam, rita)
    with django_assert_max_num_queries(6):
        assert reviewer.get(address(image), headers={"Accept-Encoding": "zstd"}).status_code == 200
    reviewer.get(address(image))
    with django_assert_max_num_queries(6):
        assert reviewer.get(address(image)).status_code == 200


def test_quarantined_renditions_are_kept_by_no_browser(deidentifier: Client, make_image: MakeImage) -> None:
    held, free = make_image(ImageState.QUARANTINED), make_image()
    answer = deidentifier.get(address(held, route="quarantine-rendition"))
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert deidentifier.get(address(free, route="quarantine-rendition")).status_code == 404


def test_descriptors_are_json_without_names_of_the_source(make_image: MakeImage) -> None:
    image = make_image(attribution="Institute X", licence="CC BY 4.0", simulated=True)
    described = image_descriptors(
        [image, make_image(ImageState.CHECKING), make_image(ImageState.PENDING, display=None)]
    )
    assert len(described) == 1
    told = json.loads(json.dumps(described[0], allow_nan=False))
    assert told["caption"] == "simulated · Institute X · CC BY 4.0"
    assert told["full"] == address(image)
    assert told["preview"] == address(image, RenditionKind.PREVIEW)
    assert (told["width"], told["height"], told["bits"]) == (80, 60, 12)
    assert (told["view_position"], told["laterality"]) == ("unknown", "")
    assert ".dcm" not in json.dumps(told)
    assert "somewhere" not in json.dumps(told)
