"""The proof of blinding is proved: one leak is planted in each channel, and each is found."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from pytest_django import Settings

from annotation.imaging.kernels import rendering
from annotation.ingest import serving, storage
from annotation.models import AnswerKey, Report
from annotation.views.ingest import uploads as images_views
from readerstudy.design import freezing
from readerstudy.models import Prediction, Remark, Response
from readerstudy.views import enrolment
from readerstudy.views import reading as reading_api
from readerstudy.views import reading as reading_json
from readerstudy.views import reading as reading_room
from tests.readerstudy.blinding.searching import Search, static_files
from tests.readerstudy.blinding.session import Recording, difference, parts_from, record
from tests.readerstudy.blinding.truth import ONE, OTHER
from tests.sweeps import share

pytestmark = pytest.mark.django_db
Patch = pytest.MonkeyPatch
SMALL: dict[str, Any] = {"n_cases": 4, "n_practice": 0}


def key_of(number: int = 1) -> str:
    """The key of a question in the world that is read now."""
    return AnswerKey.objects.get(revision__question__number=number).key


def after(patch: Patch, place: object, name: str, change: Callable[[Any], Any]) -> None:
    """What a function gives is changed on its way."""
    real = getattr(place, name)
    patch.setattr(place, name, lambda *args, **kwargs: change(real(*args, **kwargs)))


def with_header(name: str, text: Callable[[], str]) -> Callable[[HttpResponse], HttpResponse]:
    def change(response: HttpResponse) -> HttpResponse:
        response[name] = text()
        return response

    return change


def with_more(text: Callable[[], bytes]) -> Callable[[HttpResponse], HttpResponse]:
    def change(response: HttpResponse) -> HttpResponse:
        response.content += text()
        return response

    return change


def with_cookie(response: HttpResponse) -> HttpResponse:
    response.set_cookie("seen", key_of())
    return response


def options_by_key(patch: Patch) -> None:
    def key_first(stem: str, *_rest: object) -> str:
        key = key_of(int(re.sub(r"\D", "", stem)))
        return key + "ABCD".replace(key, "")

    patch.setattr(freezing, "shown_order", key_first)


def cases_by_key(orders: Any) -> Any:
    return [sorted(order, key=key_of) for order in orders]


class _Named(HttpResponse):
    """A file that is called after a key."""

    def __setitem__(self, header: str, value: Any) -> None:
        super().__setitem__(
            header, value.replace(".txt", f"{key_of()}.txt") if header == "Content-Disposition" else value
        )


def _with_status(response: HttpResponse, status: int) -> HttpResponse:
    response.status_code = status
    return response


def refused_by_key(answer: HttpResponse) -> HttpResponse:
    return _with_status(answer, 409 + ord(key_of()) % 2) if answer.status_code == 409 else answer


LEAKS: dict[str, tuple[Callable[[Patch], None], str]] = {
    "html": (lambda p: after(p, reading_room, "render", with_more(lambda: f"<!--{key_of()}-->".encode())), "body"),
    "json": (lambda p: after(p, reading_json, "_case", lambda place: {**place, "level": key_of()}), "body"),
    "header": (lambda p: after(p, reading_api, "JsonResponse", with_header("X-Case", key_of)), "headers"),
    "address": (lambda p: after(p, reading_json, "reverse", lambda address: f"{address}?r={key_of()}"), "body"),
    "address of an image": (lambda p: after(p, serving, "reverse", lambda to: f"{to}?v={key_of()}"), "body"),
    "redirect": (
        lambda p: after(p, reading_room, "redirect", with_header("Location", lambda: f"/read/?{key_of()}")),
        "headers",
    ),
    "file name": (lambda p: p.setattr(enrolment, "HttpResponse", _Named), "headers"),
    "etag": (
        lambda p: after(p, images_views, "bytes_response", with_header("ETag", lambda: f'"{key_of()}"')),
        "headers",
    ),
    "cookie": (lambda p: after(p, reading_room, "render", with_cookie), "headers"),
    "order of cases": (lambda p: after(p, freezing, "draw_orders", cases_by_key), ""),
    "order of options": (options_by_key, "body"),
    "size": (lambda p: after(p, reading_api, "JsonResponse", with_more(lambda: b" " * ord(key_of()))), "headers"),
    "image bytes": (
        lambda p: after(p, storage, "load", lambda data: data + key_of().encode() if data[:4] == b"RIFF" else data),
        "",
    ),
    "status": (lambda p: after(p, reading_api, "JsonResponse", refused_by_key), "status"),
    "progress of others": (
        lambda p: after(p, reading_api, "state_json", lambda state: {**state, "others": Response.objects.count()}),
        "body",
    ),
}


def test_without_a_leak_nothing_is_found(tmp_path: Path) -> None:
    one, other = record(ONE, tmp_path, **SMALL), record(OTHER, tmp_path, **SMALL)
    assert difference(one, other) == ""
    assert Search(ONE.tokens()).leaks(one.exchanges) == []


@pytest.mark.sweep
@pytest.mark.parametrize("channel", share(LEAKS))
def test_what_depends_on_the_key_tells_the_worlds_apart(channel: str, tmp_path: Path, monkeypatch: Patch) -> None:
    plant, part = LEAKS[channel]
    plant(monkeypatch)
    assert f": {part}" in first_parting(tmp_path)


def first_parting(folder: Path) -> str:
    """Where the sessions part: looked for in their beginnings, and in all of them where those are the same."""
    return _parting(folder, n_answers=90) or _parting(folder)


def _parting(folder: Path, n_answers: int | None = None) -> str:
    def is_enough(so_far: Recording) -> bool:
        return len(so_far.exchanges) == n_answers

    one = record(ONE, folder, until=is_enough, **SMALL)
    is_other = parts_from(one)
    other = record(OTHER, folder, until=lambda so_far: is_other(so_far) or is_enough(so_far), **SMALL)
    return difference(one, other)


def explanation() -> str:
    return AnswerKey.objects.get(revision__question__number=2).explanation


def findings() -> str:
    return Report.objects.get(exam__questions__number=3).findings


def prediction() -> str:
    return Prediction.objects.order_by("pk")[0].raw


def remark() -> str:
    return Remark.objects.exclude(text="").order_by("pk")[0].text


WORDS: dict[str, Callable[[Patch], None]] = {
    "html": lambda p: after(p, reading_room, "render", with_more(lambda: f"<!--{remark()}-->".encode())),
    "json": lambda p: after(p, reading_api, "state_json", lambda state: {**state, "why": explanation()}),
    "answer of a model": lambda p: after(p, reading_api, "state_json", lambda state: {**state, "m": prediction()}),
    "base64": lambda p: after(p, reading_api, "state_json", lambda state: {**state, "b": _base64("x" + findings())}),
    "hex in a header": lambda p: after(
        p, reading_api, "JsonResponse", with_header("X-Case", lambda: findings().encode().hex())
    ),
    "backwards in an address": lambda p: after(
        p, reading_json, "reverse", lambda address: f"{address}?r={explanation()[::-1]}"
    ),
    "image bytes": lambda p: after(
        p, storage, "load", lambda data: data + findings().encode() if data[:4] == b"RIFF" else data
    ),
    "packed image bytes": lambda p: after(p, rendering, "gzip_of", lambda data: _packed(remark())),
}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _packed(text: str) -> bytes:
    return gzip.compress(b"pixels" + text.encode())


@pytest.mark.sweep
@pytest.mark.parametrize("channel", share(WORDS))
def test_a_planted_word_is_found(channel: str, tmp_path: Path, monkeypatch: Patch) -> None:
    WORDS[channel](monkeypatch)
    search = Search(ONE.tokens())
    recording = record(ONE, tmp_path, until=lambda so_far: bool(search.leaks(so_far.exchanges[-1:])), **SMALL)
    assert search.leaks(recording.exchanges)


def test_a_planted_word_in_a_script_is_found(tmp_path: Path, settings: Settings, monkeypatch: Patch) -> None:
    token = ONE.token("explanation", 7)
    (tmp_path / "keys.js").write_text(f"const why = '{token}';")
    settings.STATICFILES_DIRS = [*settings.STATICFILES_DIRS, tmp_path]
    monkeypatch.setattr(finders, "get_finders", lambda: [finders.FileSystemFinder()])  # those of before are kept
    search = Search(ONE.tokens())
    assert [word for file in static_files() for word in search.within(file.read_bytes())] == [token]
