"""An installation without Parquet and without the search for text: imports of both are blocked."""

from __future__ import annotations

import io
import sys

import pytest
from django.test import Client

from annotation.demonstration.building import search_drawn
from annotation.enums import ImageState
from annotation.imaging.kernels import text
from annotation.ingest.searching import check_text
from annotation.models import AuditEvent, Image, User
from annotation.site.health import extras_off
from annotation.tables.writing import Column, ExportRefused, Format, Kind, formats_here, write_table
from tests.annotation.images.conftest import MakeImage, home, make_image  # noqa: F401 - fixtures
from tests.conftest import NOON
from tests.refusals import refuses
from tests.supply_chain import EXTRAS, pinned

LEFT_OUT = {"pyarrow", "rapidocr", "onnxruntime", "opencv-python-headless", "tokenizers"}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "cv2", "rapidocr", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, text.__name__)  # a site without OpenCV cannot load it


def test_with_everything_nothing_is_off() -> None:
    assert extras_off() == {}
    assert formats_here() == tuple(Format)


def test_parquet_is_neither_offered_nor_written(small: None) -> None:
    assert formats_here() == (Format.CSV, Format.XLSX, Format.JSONL)
    with refuses(ExportRefused, "format_off", match="pyarrow is not installed"):
        write_table(io.BytesIO(), [Column("a", Kind.TEXT, "")], [["x"]], Format.PARQUET)
    assert write_table(io.BytesIO(), [Column("a", Kind.TEXT, "")], [["x"]], Format.CSV) == 1


@pytest.mark.django_db
def test_health_says_what_is_off_and_is_no_worse_for_it(administrator: Client, small: None) -> None:
    told = administrator.get("/healthz").json()
    assert told["parquet"].startswith("off")
    assert "quarantine" in told["text_search"]


def test_an_image_that_was_not_searched_waits_for_a_person(make_image: MakeImage, small: None) -> None:  # noqa: F811
    image = make_image(ImageState.CHECKING)
    assert check_text(image, at=NOON) == ImageState.QUARANTINED
    image.refresh_from_db()
    assert image.state_reason == "Not searched for text: the search is not installed here."
    assert AuditEvent.objects.latest("id").facts["rule"] == "none"
    seen = make_image(ImageState.AVAILABLE)
    assert check_text(seen, at=NOON) == ImageState.AVAILABLE
    assert Image.objects.filter(state=ImageState.QUARANTINED).count() == 1


@pytest.mark.parametrize("is_there", [False, True])
def test_a_drawing_of_the_demonstration_is_shown_without_a_search_and_where_its_bones_look_like_text(
    make_image: MakeImage,  # noqa: F811
    ada: User,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    is_there: bool,
) -> None:
    image = make_image(ImageState.CHECKING)
    if is_there:
        found = text.TextFinding((738, 578, 156, 826), False, 5, 0.65)
        monkeypatch.setattr(text, "find_text", lambda *_given: [found])
    else:
        request.getfixturevalue("small")
    search_drawn(image, actor=ada, at=NOON)
    image.refresh_from_db()
    assert image.state == ImageState.AVAILABLE, "no question of the demonstration may miss its images"
    released = AuditEvent.objects.latest("id")
    assert (released.act, released.actor) == ("image.released", ada)
    assert "shows no patient" in released.facts["reason"]


def test_the_base_list_holds_none_of_them() -> None:
    extras = {name for part in EXTRAS for name, _ in pinned(f"requirements-{part}.txt")}
    assert extras >= LEFT_OUT
    assert not extras & {name for name, _ in pinned("requirements.txt")}
