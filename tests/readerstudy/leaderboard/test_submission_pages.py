"""Submissions and statements on pages and for programs; what is refused stores nothing, what strangers say is text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.enums import JobState, Role
from annotation.models import Job, User
from annotation.models.people import TokenScope
from readerstudy.enums import BenchmarkState, SubmissionState, SubmissionWay
from readerstudy.leaderboard.kernels.statement import ASKED
from readerstudy.leaderboard.teams import add_statement
from readerstudy.models import Benchmark, Edition, EditionEntry, Statement, Submission, Team
from tests.annotation.api.asking import Program, problem_of, program_of, send_json
from tests.jobs import work
from tests.readerstudy.leaderboard.gaming import Cheats, bank_of, read_board
from tests.readerstudy.leaderboard.made import (
    AT,
    Clock,
    answer_file,
    browser_of,
    make_benchmark,
    make_submission,
    make_team,
    post,
    program_of_team,
    read,
    run_for_team,
    send_file,
    statement_answers,
)
from tests.readerstudy.model_runs.made import end
from tests.readerstudy.predictions.made import keyed_bank

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]
N = 12
SENT = "/leaderboards/private-test/submissions/"
SAID = "/leaderboards/private-test/statements/"


@pytest.fixture
def member(team: Team) -> User:
    return team.members.get().user


def send(member: User, content: bytes) -> str:
    """The address of what was made."""
    sent = {"file": SimpleUploadedFile("a.jsonl", content), "duplicates": ""}
    address = browser_of(member).post(SENT, sent).headers["Location"]
    assert address == f"{SENT}{Submission.objects.latest('pk').public_id}/"
    return address


def test_a_team_begins_with_nothing_and_reads_what_to_do(member: User) -> None:
    page = read(member, SENT)
    for said in ("Nothing was sent yet", "For edition 1 name one of them until the end of", "Fill in the statement"):
        assert said in page


def test_a_file_is_sent_checked_named_and_withdrawn(board: Benchmark, team: Team, member: User) -> None:
    address = send(member, answer_file(board, "ABC-" * 3))
    assert 'hx-trigger="every 1s"' in read(member, address)
    read(member, f"{address}report.json", 404)
    work()
    page = read(member, address)
    for said in ("The check passed", "First say what the model is", "3 missing"):
        assert said in page
    part = browser_of(member).get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert 'id="submission"' in part
    assert browser_of(member).get(f"{address}report.json").json()["n_missing"] == 3
    add_statement(team, statement_answers(), actor=None, at=AT)
    assert "Name for edition 1" in read(member, address)
    told = post(member, f"{address}name/", edition=1, statement=1)[1]
    assert "Named for edition 1. You can name another one until 2026-06-01 (UTC)." in told
    assert EditionEntry.objects.exists()
    assert "Wrong weights" in post(member, f"{address}withdraw/", reason="Wrong weights")[1]
    assert not EditionEntry.objects.exists()


def test_what_is_wrong_is_shown_with_its_row(board: Benchmark, member: User) -> None:
    address = send(member, answer_file(board, "A" * N) + b'{"id": "<b>x</b>", "pred_answer": "A"}\n')
    work()
    page = read(member, address)
    for said in ("The check did not pass", f'<td class="number">{N + 1}</td>', "&lt;b&gt;x&lt;/b&gt;"):
        assert said in page
    for not_said in ("<b>x</b>", "Name for edition"):
        assert not_said not in page


def test_a_check_that_broke_off_says_what_to_do(board: Benchmark, member: User) -> None:
    address = send(member, answer_file(board, "A" * N))
    Job.objects.update(state=JobState.FAILED)
    assert "Send the same file again" in read(member, address)


def test_a_form_without_a_file_and_a_name_without_an_edition_are_sentences(team: Team, member: User) -> None:
    assert post(member, SENT)[0] == 422
    address = f"{SENT}{make_submission(team, 'A' * N).public_id}/name/"
    Edition.objects.filter(number=2).update(due_on="2026-04-30")
    for sent, sentence in (
        ({}, "Choose an edition."),
        ({"edition": 7}, "There is no edition 7."),
        ({"edition": 1, "statement": 9}, "The team has no statement 9."),
        ({"edition": 2}, "Edition 2 took submissions until 2026-04-30 (UTC)."),
    ):
        assert sentence in post(member, address, **sent)[1]
    assert not EditionEntry.objects.exists()


def test_after_the_date_the_page_offers_the_next_edition(team: Team, member: User, board: Benchmark) -> None:
    board.editions.filter(number=1).update(due_on="2026-04-30")
    page = read(member, f"{SENT}{make_submission(team, 'A' * N).public_id}/")
    assert "Name for edition 2" in page
    assert "Name for edition 1" not in page


def test_a_coordinator_sees_what_all_teams_sent_and_names_nothing(board: Benchmark, team: Team, cora: User) -> None:
    made = make_submission(team, "A" * N)
    make_submission(make_team(board, "Team Two"), "B" * N)
    page = read(cora, SENT)
    assert "Team One" in page
    assert "Team Two" in page
    own = read(cora, f"{SENT}{made.public_id}/")
    assert "Name for edition" not in own
    assert "Withdraw it" in own
    assert post(cora, f"{SENT}{made.public_id}/name/", edition=1)[0] == 403
    assert post(cora, SENT)[0] == 404, "a coordinator is in no team"
    post(cora, f"{SENT}{made.public_id}/withdraw/", reason="By mail of the team")
    made.refresh_from_db()
    assert made.state == SubmissionState.WITHDRAWN


# --- statements ---
def test_a_statement_is_filled_in_and_an_unanswered_line_is_named(member: User) -> None:
    status, page = post(member, f"{SAID}new/", **statement_answers(parameters="", link="javascript:alert(1)"))
    assert (status, page.count('class="errorlist"'), Statement.objects.exists()) == (422, 2, False)
    assert "“unknown” is an answer" in page
    hostile = '<script>alert(1)</script><img src="https://a.example/b.png">'
    sent = statement_answers(model=hostile, tools=hostile, link="https://example.org/a?b=1&c")
    browser: Client = browser_of(member)
    made_at = browser.post(f"{SAID}new/", sent).headers["Location"]
    page = read(member, made_at)
    for not_said in ("<script>alert", '<img src="https://a'):
        assert not_said not in page
    assert 'href="https://example.org/a?b=1&amp;c" rel="nofollow noopener noreferrer ugc"' in page
    assert 'value="4b-it"' in read(member, f"{SAID}new/"), "the next one is filled with the last"
    card = browser.get(f"{made_at}card.md")
    assert yaml.safe_load(card.content.decode().split("---\n")[1])["model-index"] == [{"name": hostile, "results": []}]
    assert card.headers["Content-Type"].startswith("text/markdown")


def test_a_coordinator_passes_or_refuses_it(team: Team, cora: User, member: User) -> None:
    first, second = (add_statement(team, statement_answers(model=one), actor=None, at=AT) for one in ("One", "Other"))
    assert f"{SAID}{first.public_id}/" in read(cora, SENT)
    post(cora, f"{SAID}{first.public_id}/pass/")
    assert "Say why the statement is refused." in post(cora, f"{SAID}{second.public_id}/refuse/", reason="")[1]
    post(cora, f"{SAID}{second.public_id}/refuse/", reason="Names a patient")
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.passed_at, second.refused_because) == (AT, "Names a patient")
    assert "Statements to pass" not in read(cora, SENT)
    assert "Names a patient" in read(member, f"{SAID}{second.public_id}/")


# --- run here ---
def test_a_coordinator_hands_a_run_in_on_its_page(settings: Settings, cora: User) -> None:
    run, team = run_for_team(settings, 4)
    address = f"/models/at-work/{run.batch.public_id}/"
    assert "Hand in for a team" not in read(cora, address)
    end(run)
    page = read(cora, address)
    assert "Team One (Private test)" in page
    assert "Variants, orders, repeats" not in page
    told = post(cora, f"{address}hand-in/", team=team.public_id, way="endpoint")[1]
    assert "Handed in for Team One as submission 1." in told
    made = Submission.objects.get()
    assert (made.answers, made.way) == ("BBBB", SubmissionWay.TEAM_ENDPOINT)
    shown, page = read(cora, f"{SENT}{made.public_id}/"), read(cora, address)
    assert f"{SENT}{made.public_id}/" in page
    assert "answers to each: 1; the first counts" in shown
    assert not re.search(r"(?i)accura|100(\.0)?\s?%", shown + page), "it is right everywhere, and nothing says so"


# --- for programs ----------------------------------------------------------------------------------
API = "leaderboards/private-test/"


@pytest.fixture
def program(team: Team) -> Program:
    return program_of_team(team)


def test_a_file_is_sent_asked_about_and_named(board: Benchmark, program: Program) -> None:
    answered = send_file(program, answer_file(board, "ABC-" * 3))
    assert (answered.status_code, answered.json()["state"]) == (202, "received")
    location = answered["Location"]
    waiting = program.get(location).json()
    assert (waiting["checked_at"], waiting["report"], waiting["is_sound"]) == (None, {}, False)
    work()
    found = program.get(location).json()
    assert (found["state"], found["report"]["n_missing"], found["report"]["n_answered"]) == ("checked", 3, 9)
    assert "ABC" not in str(found)
    assert not {name for name in found if "accura" in name or "right" in name or "score" in name}
    problem_of(program.post(f"{location}name/", {"edition": 1}), 409, "no_statement")
    made = program.post(f"{API}statements/", {"answers": statement_answers()})
    assert made.status_code == 201
    assert program.get(made["Location"]).json()["answers"]["model"] == "MedGemma"
    named = program.post(f"{location}name/", {"edition": 1}).json()
    assert (named["state"], named["editions"], named["statement"]) == ("named", [1], 1)
    again = send_file(program, answer_file(board, "ABC-" * 3))
    assert (again.status_code, again["Location"]) == (202, location)
    assert [one["id"] for one in program.get(f"{API}submissions/").json()["results"]] == [found["id"]]
    gone = program.post(f"{location}withdraw/", {"reason": "Wrong weights"}).json()
    assert (gone["state"], gone["withdrawn_because"], gone["editions"]) == ("withdrawn", "Wrong weights", [])


def test_a_bad_file_is_a_report_and_a_bad_request_a_problem(board: Benchmark, program: Program) -> None:
    made = send_file(program, b"nothing")
    work()
    found = program.get(made["Location"]).json()
    assert (found["state"], found["is_sound"], found["report"]["n_problems"]) == ("failed", False, 1)
    for edition, status, code in ((1, 409, "not_sound"), (9, 422, "no_edition"), ("x", 422, "invalid")):
        problem_of(program.post(f"{made['Location']}name/", {"edition": edition}), status, code)
    assert send_file(program, b"x", duplicates="best").status_code == 422
    bare = program.client.post(f"/api/v1/{API}submissions/", {}, headers={"authorization": f"Bearer {program.token}"})
    assert bare.status_code == 422


def test_an_unanswered_line_is_named(program: Program) -> None:
    for answers, wrong in ((statement_answers(parameters="", tools=" "), ["parameters", "tools"]), ({}, list(ASKED))):
        refused = problem_of(program.post(f"{API}statements/", {"answers": answers}), 422, "unanswered")
        assert [one["field"] for one in refused["errors"]] == wrong
    assert not Statement.objects.exists()


def test_another_team_and_strangers_find_nothing(board: Benchmark, team: Team, rita: User) -> None:
    """One sentence, the same for what is private and what is unknown."""
    made, other = make_submission(team, "A" * N), make_team(board, "Team Two")
    assert made.statement is not None
    program, person = program_of_team(other), other.members.get().user
    private, unknown, said = (
        f"{API}submissions/{made.public_id}/",
        f"{API}submissions/nothing/",
        f"{API}statements/{made.statement.public_id}/",
    )
    for address in (private, said):
        assert problem_of(program.get(address), 404, "not_found") == problem_of(program.get(unknown), 404, "not_found")
    for act, body in (("name", {"edition": 1}), ("withdraw", {"reason": "x"})):
        problem_of(program.post(f"{private}{act}/", body), 404, "not_found")
        assert browser_of(person).post(f"/{private}{act}/", body).status_code == 404
    for one in (person, rita):
        for page in (private, f"{private}report.json", unknown, said, f"{said}card.md"):
            assert browser_of(one).get(f"/{page}").status_code == 404
    assert program.get(f"{API}submissions/").json()["results"] == []
    assert not EditionEntry.objects.exists()


def test_a_token_is_good_for_its_team_alone(board: Benchmark, team: Team, program: Program) -> None:
    person = team.members.get().user
    assert send_file(program_of(person, Role.MODEL_SUBMITTER), b"x").status_code == 403, "for reading"
    of_bank = program_of(person, Role.MODEL_SUBMITTER, TokenScope.BANK, board.bank.slug)
    problem_of(send_file(of_bank, b"x"), 404, "not_found")
    Benchmark.objects.update(slug="first")
    make_benchmark(keyed_bank(3, name="Elsewhere"))
    problem_of(program.get(f"{API}submissions/"), 404, "not_found")
    problem_of(send_file(program, b"x"), 404, "not_found")
    team.members.all().delete()
    assert program.get(f"{API}submissions/").status_code == 401
    assert not Submission.objects.exists()


def test_a_run_is_handed_in_by_its_address(settings: Settings, cora: User) -> None:
    run, team = run_for_team(settings, 3)
    address = f"model-runs/{run.batch.public_id}/hand-in/"
    problem_of(send_json(cora, address, {"team": team.public_id}), 409, "incomplete")
    end(run)
    assert send_json(cora, address, {"team": "nobody"}).status_code == 422
    assert send_json(cora, address, {"team": team.public_id}).status_code == 200
    assert Submission.objects.get().answers == "BBB"


# --- what is refused -------------------------------------------------------------------------------
PAGE = "/leaderboards/private-test/"
MANY = 40


@pytest.fixture
def cheats(clock: Clock) -> Cheats:
    return Cheats(bank_of(MANY, np.random.default_rng(1))[0], clock, n_teams=2, n_editions=2)


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
    mine, other = (make_submission(team, "A" * MANY) for team in cheats.teams)
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
        problem_of(send_file(program, answer_file(cheats.benchmark, "B" * MANY)), 409, "not_open")
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
        cheats.named(one, np.zeros(MANY, dtype=np.int64))
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
