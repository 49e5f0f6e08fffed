"""The public board as the site gives it out: without the program, with the right types, and again where it changed."""

from __future__ import annotations

from pathlib import Path
from wsgiref.headers import Headers

import pytest

from rexvqa_site import boards
from rexvqa_site.boards import Boards
from tests.readerstudy.leaderboard.gaming import asked, behind


class Served:
    """One board behind a program that answers 404."""

    def __init__(self, home: Path) -> None:
        self.folder, self.site = home / "boards" / "private-test", Boards(behind, home / "boards")
        (self.folder / "editions" / "1").mkdir(parents=True)
        for name in ("index.html", "editions/1/index.html", "board.svg", "board.css", "SHA256SUMS", "board.json"):
            (self.folder / name).write_text(name)

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        return asked(self.site, path, method, **headers)


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path)


def test_a_page_with_its_headers(served: Served) -> None:
    status, headers, body = served.ask("/board/private-test/")
    assert (status, body) == (200, b"index.html")
    assert headers["Content-Type"].startswith("text/html")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'; img-src 'self'")
    assert headers["Cache-Control"] == "max-age=0, public"
    assert not {"Set-Cookie", "Vary"} & set(headers)


def test_each_file_has_its_type(served: Served) -> None:
    kinds = {
        "board.svg": "image/svg+xml",
        "board.css": "text/css",
        "SHA256SUMS": "text/plain",
        "board.json": "application/json",
        "editions/1/": "text/html",
    }
    for name, kind in kinds.items():
        status, headers, _body = served.ask(f"/board/private-test/{name}")
        assert (status, headers["Content-Type"].split(";")[0]) == (200, kind)


def is_shown_anew(served: Served) -> bool:
    """Whether who has a page already gets 304 until it is written anew, also with as many bytes."""
    etag = served.ask("/board/private-test/")[1]["Etag"]
    assert served.ask("/board/private-test/", HTTP_IF_NONE_MATCH=etag)[0] == 304
    (served.folder / "index.html").write_text("INDEX.html")
    status, _headers, body = served.ask("/board/private-test/", HTTP_IF_NONE_MATCH=etag)
    return (status, body) == (200, b"INDEX.html")


def test_a_kept_page_is_not_shown_once_it_is_written_anew(served: Served) -> None:
    assert is_shown_anew(served)


def test_a_page_that_stays_in_a_cache_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_size(headers: Headers, path: str, _url: str) -> None:
        headers["ETag"] = f'"{Path(path).stat().st_size}"'

    monkeypatch.setattr(boards, "_add_headers", by_size)
    assert not is_shown_anew(Served(tmp_path))


def test_what_is_no_file_of_a_board_is_for_the_program(served: Served, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "boards" / ".private-test.part").mkdir()
    (tmp_path / "boards" / ".private-test.part" / "index.html").write_text("half")
    for path in (
        "/",
        "/board/",
        "/board/other/",
        "/board/private-test/../../secret",
        "/board/../secret",
        "/board/.private-test.part/",
        "/board/private-test/none.html",
        "/boards/private-test/",
    ):
        assert served.ask(path)[2] == b"program", path


def test_nothing_can_be_sent_to_it(served: Served) -> None:
    assert served.ask("/board/private-test/", "POST")[0] == 405
    status, _headers, body = served.ask("/board/private-test/", "HEAD")
    assert (status, body) == (200, b"")
