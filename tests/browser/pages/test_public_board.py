"""The public board as files of any web server: axe-core finds nothing, a phone shows it, nothing else is asked for."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from readerstudy.leaderboard.public_board import publish
from readerstudy.leaderboard.versions import add_note
from readerstudy.models import Submission, Team
from tests.browser.pages.inspection import axe_problems, source_problems
from tests.browser.pages.place import LONG
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import make_published

pytestmark = pytest.mark.django_db
AT = datetime(2026, 6, 3, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a withdrawn entry, an anonymous one, a note, and long names."""
    benchmark = make_published(n=320, shares={"One": 10, f"Two {LONG}"[:100]: 3, "Three": 2})
    benchmark.bank.simulated = True
    benchmark.bank.save()
    Submission.objects.filter(team__name="One").update(withdrawn_at=AT, withdrawn_because=LONG)
    Team.objects.filter(name="Three").update(anonymous_until=date(2026, 12, 1))
    entry = Submission.objects.get(team__name="One").public_id
    add_note(benchmark, LONG, entry, actor=make_person("Cora"), at=AT)
    publish(benchmark, tmp_path / "board", at=AT)
    return tmp_path / "board"


def test_every_page_of_the_board(browser: Browser, folder: Path) -> None:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    asked: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    for path in sorted(folder.rglob("*.html")):
        page.set_viewport_size({"width": 1366, "height": 768})
        page.goto(path.as_uri())
        assert axe_problems(page) == [], path.name
        assert source_problems(path.read_text()) == []
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path.name
        assert page.evaluate("[...document.images].every((one) => one.naturalWidth > 0)")
    context.close()
    assert not [url for url in asked if not url.startswith(folder.as_uri())]
    kinds = {re.sub(r".*\.", "", url) for url in asked}
    assert kinds == {"html", "css", "svg"}
