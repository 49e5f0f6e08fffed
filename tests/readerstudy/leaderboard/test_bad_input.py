"""What a leaderboard refuses over HTTP stores nothing; and text of strangers is text wherever it shows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from django.apps import apps

from readerstudy.enums import BenchmarkState
from readerstudy.models import Benchmark, Statement, Submission, Team
from tests.annotation.api.asking import problem_of, send_json
from tests.readerstudy.leaderboard.gaming import Cheats, bank_of, read_board
from tests.readerstudy.leaderboard.made import (
    Clock,
    answer_file,
    browser_of,
    make_submission,
    send_file,
    statement_answers,
)

pytestmark = pytest.mark.django_db
API, PAGE = "leaderboards/private-test/", "/leaderboards/private-test/"
N = 40


@pytest.fixture
def cheats(clock: Clock) -> Cheats:
    return Cheats(bank_of(N, np.random.default_rng(1))[0], clock, n_teams=2, n_editions=2)


@contextmanager
def nothing_stored() -> Iterator[None]:
    def rows() -> dict[str, int]:
        ours = [*apps.get_app_config("readerstudy").get_models(), *apps.get_app_config("annotation").get_models()]
        kept = [one for one in ours if one.__name__ not in ("AccessToken", "KeptAnswer")]
        return {one.__name__: one._default_manager.count() for one in kept}

    before = rows()
    yield
    assert rows() == before


def test_acts_that_are_refused_store_nothing(cheats: Cheats, clock: Clock) -> None:
    program, cora = cheats.programs[0], cheats.cora
    mine, other = (make_submission(team, "A" * N) for team in cheats.teams)
    name = f"{API}submissions/{mine.public_id}/name/"
    with nothing_stored():
        for act, body in (("name", {"edition": 1}), ("withdraw", {"reason": "x"})):
            problem_of(program.post(f"{API}submissions/{other.public_id}/{act}/", body), 404, "not_found")
        problem_of(program.post(name, {"edition": 9}), 422, "no_edition")
        problem_of(program.post(name.replace("/name/", "/withdraw/"), {"reason": " "}), 422, "invalid")
        problem_of(program.post(f"{API}statements/", {"answers": statement_answers(tools="")}), 422, "unanswered")
        for act in ("propose", "confirm", "score-again"):
            problem_of(program.post(f"{API}editions/1/{act}/", {}), 403, "forbidden")
            assert send_json(cora, f"{API}editions/1/{act}/", {}).status_code == 409
        draft = {"name": "Again", "bank": cheats.benchmark.bank.slug, "contact": "a", "editions": ["2020-01-01"]}
        assert send_json(cora, "leaderboards/", draft).status_code == 422
        clock.at = clock.at.replace(month=6, day=2)
        problem_of(program.post(name, {"edition": 1}), 409, "past")
        Benchmark.objects.update(state=BenchmarkState.CLOSED)
        problem_of(program.post(name, {"edition": 2}), 409, "not_open")
        problem_of(send_file(program, answer_file(cheats.benchmark, "B" * N)), 409, "not_open")
        problem_of(program.get(f"{API}inputs/"), 409, "not_open")


# --- text of strangers ----------------------------------------------------------------------------
EVIL = '=1+1"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u200b]]>--><!--'
LINK = "https://example.org/?\"onmouseover='alert(1)'<x>"


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def check_page(text: str) -> None:
    for tag, about in Page(text).tags:
        assert "alert" not in str([value for name, value in about.items() if name not in ("href", "value", "title")])
        assert not [name for name in about if name.startswith("on")], about
        assert (tag, about.get("src")) != ("img", "x")
        if tag == "a" and "example.org" in str(about.get("href")):
            assert "nofollow" in str(about.get("rel"))
    assert "<script>alert" not in text


def test_text_of_strangers_is_text_everywhere(cheats: Cheats) -> None:
    team, program = cheats.teams[0], cheats.programs[0]
    Team.objects.filter(pk=team.pk).update(name=EVIL[:100], institution=EVIL, link=LINK)
    said = statement_answers(
        model=EVIL, version=EVIL, prompt=EVIL + "\n# head\n![x](https://e/x.png)", link="https://example.org/?x"
    )
    made = program.post(f"{API}statements/", {"answers": said})
    assert made.status_code == 201, made.content
    Statement.objects.update(passed_at=cheats.clock())
    cheats.edition = 2
    for one in cheats.programs:
        cheats.named(one, np.zeros(N, dtype=np.int64))
    cheats.score()
    mine = Submission.objects.get(team=team)
    program.post(f"{API}submissions/{mine.public_id}/withdraw/", {"reason": EVIL})
    assert send_json(cheats.cora, f"{API}note/", {"text": EVIL, "entry": mine.public_id}).status_code == 200
    cheats.clock.at = cheats.clock.at.replace(minute=5)
    assert send_json(cheats.cora, f"{API}publish/", {}).status_code == 200
    cheats.work()
    files = read_board()
    for name, content in files.items():
        text = content.decode()
        assert "\u202e" not in text, name
        assert "\u200b" not in text, name
        if name.endswith((".html", "/")):
            check_page(text)
        if name.endswith(".svg"):
            root = ElementTree.fromstring(text)
            assert not [one for one in root.iter() if one.tag.endswith("script") or "onerror" in one.attrib]
        if name.endswith(".cff"):
            assert yaml.safe_load(text)["cff-version"] == "1.2.0"
        if name.endswith("README.md"):
            assert yaml.safe_load(text.split("---\n")[1])["model-index"]
            body = text.split("---\n", 2)[2].splitlines()
            assert not [line for line in body if "![x](" in line and not line.startswith("      ")]  # but as code
    json.loads(files["board.json"])
    assert b'rel="nofollow noopener noreferrer ugc"' in files[f"entries/{mine.public_id}/"]
    for row in csv.reader(io.StringIO(files["board.csv"].decode())):
        assert not [cell for cell in row if cell[:1] in "=+@" and cell], row
    for person in (team.members.get().user, cheats.cora):
        browser = browser_of(person)
        for page in ("/", "/leaderboards/", PAGE, f"{PAGE}team/", f"{PAGE}submissions/", f"{PAGE}editions/"):
            check_page(browser.get(page, follow=True).content.decode())
        check_page(browser.get(f"{PAGE}submissions/{mine.public_id}/").content.decode())
