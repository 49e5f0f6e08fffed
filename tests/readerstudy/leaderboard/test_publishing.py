"""The public board as a folder: its files, what they never hold, and that they are the same every time."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from annotation.enums import QuestionState
from annotation.models import AuditEvent, Question
from annotation.tables.writing import ExportRefused
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.edition_scoring import score_edition
from readerstudy.leaderboard.editions import folder_here, sweep_boards
from readerstudy.leaderboard.public_board import files_of, publish, publish_here
from readerstudy.leaderboard.versions import make_new_version
from readerstudy.models import Benchmark, BoardNote, Submission, Team
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import after, make_benchmark, make_published, name_again, scored

pytestmark = pytest.mark.django_db
AT = datetime(2026, 6, 3, 12, tzinfo=UTC)
ON = AT.date()


def files(benchmark: Benchmark, on: date = ON) -> dict[str, str]:
    return {name: content.decode() for name, content in files_of(benchmark, on=on).items()}


@cache
def usual_files() -> dict[str, str]:
    """Of a published board, drawn once for the tests that only read them."""
    return files(make_published())


def test_the_folder_holds_what_it_should(tmp_path: Path) -> None:
    benchmark = make_published()
    names = publish(benchmark, tmp_path / "board", at=AT)
    ids = list(Submission.objects.values_list("public_id", flat=True))
    expected = {
        *("index.html", "by-name.html", "by-date.html", "board.svg", "board.csv", "board.json", "board.schema.json"),
        *("board.css", "CITATION.cff", "SHA256SUMS", "editions/1/index.html", "editions/1/board.svg"),
        *(f"by-task-{task}.html" for task in ("presence", "negation", "differential", "location", "geometric")),
        *(f"entries/{one}/{name}" for one in ids for name in ("index.html", "README.md")),
        *(f"badges/{one}.svg" for one in ids),
    }
    assert set(names) == expected
    assert {str(one.relative_to(tmp_path / "board")) for one in (tmp_path / "board").rglob("*") if one.is_file()} == (
        expected
    )
    for line in (tmp_path / "board" / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((tmp_path / "board" / name).read_bytes()).hexdigest() == digest
    with pytest.raises(ExportRefused, match="not empty"):
        publish(benchmark, tmp_path / "board", at=AT)


def test_the_same_benchmark_gives_the_same_bytes_on_any_day() -> None:
    benchmark = make_published()
    assert files_of(benchmark, on=ON) == files_of(benchmark, on=ON + timedelta(days=400))


def test_without_a_published_edition_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(LeaderboardRefused, match="No edition"):
        publish(make_benchmark(n=30), tmp_path / "board", at=AT)
    assert not (tmp_path / "board").exists()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found.append(dict(attrs))


def test_pages_lead_only_to_files_of_the_folder_and_run_nothing() -> None:
    found = usual_files()
    for name, text in found.items():
        if not name.endswith(".html"):
            continue
        page = _Links()
        page.feed(text)
        assert not page.tags & {"script", "style", "iframe", "form", "object"}
        for attributes in page.found:
            assert not any(one.startswith("on") or one == "style" for one in attributes)
            target = attributes.get("href") or attributes.get("src")
            if target is None or target.startswith("#"):
                continue
            path = (Path("/") / Path(name).parent / target).resolve()
            full = str(path)[1:] + ("/index.html" if target.endswith("/") or target in ("../../", "") else "")
            assert full.lstrip("/") in found, (name, target)


def test_no_number_of_the_files_is_finer_than_a_tenth() -> None:
    for name, text in usual_files().items():
        if name.endswith((".html", ".csv", ".json", ".md")) or name.startswith("badges/"):
            words = re.sub(r"[0-9a-f]{64}|\bhttps?://\S+|1\.2\.0|below 0\.05|\"significant\": 0\.05", "", text)
            assert not re.search(r"\d\.\d\d", words), name


def test_files_of_an_edition_stay_the_same_after_the_next_one() -> None:
    benchmark = make_published(n=320, n_editions=2)
    before = files_of(benchmark, on=ON)
    second = benchmark.editions.get(number=2)
    name_again(second, list(Submission.objects.all()))
    scored(second)
    after = files(benchmark)
    first = json.loads(before["board.json"])["results"][0]
    results = json.loads(after["board.json"])["results"]
    assert results[0] == first
    assert [one["path"] for one in results] == ["editions/1/", "editions/2/"]
    assert "Accuracy, %" in after["index.html"]
    assert "Accuracy, %" not in after["editions/1/index.html"]
    assert before["editions/1/board.svg"].decode() == after["editions/1/board.svg"]


def test_csv_json_and_citation_can_be_read() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    found = usual_files()
    board = json.loads(found["board.json"])
    jsonschema.Draft202012Validator.check_schema(json.loads(found["board.schema.json"]))
    jsonschema.Draft202012Validator(json.loads(found["board.schema.json"])).validate(board)
    head, *lines = found["board.csv"].splitlines()
    assert head.startswith("edition,version,date,entry,name,team,what,n,value,low,high")
    assert len([one for one in lines if ",all," in one]) == 3
    assert yaml.safe_load(found["CITATION.cff"])["version"] == "edition 1"
    for name, text in found.items():
        if name.endswith(".svg"):
            assert ElementTree.fromstring(text).tag.endswith("svg")


def test_each_task_stands_under_its_own_head() -> None:
    benchmark = make_published(shares={f"Team {every}": every for every in (2, 3, 7, 11)})
    found = files(benchmark)
    (result,) = json.loads(found["board.json"])["results"]
    tasks = [(one["name"], one["label"]) for one in result["cells"] if one["name"].startswith("task:")]
    heads = re.findall(r'<th scope="col" class="n">([^<]+), % <small>', found["index.html"])
    labels = [label for _name, label in tasks]
    assert [one for one in heads if one in labels] == labels
    for entry in result["entries"]:
        (row,) = re.findall(rf'entries/{entry["entry"]}/"(.*?)</tr>', found["index.html"], re.DOTALL)
        numbers = re.findall(r'<td class="n">([\d.]+) <small class="ci">', row)
        wanted = [f"{entry['numbers'][name]['value']:.1f}" for name, _label in tasks]
        assert numbers[-len(tasks) :] == wanted


def test_a_board_of_a_later_version_names_its_own_address() -> None:
    benchmark = make_published()
    Question.objects.filter(bank=benchmark.bank, number=2).update(state=QuestionState.WITHDRAWN)
    at = after(benchmark.editions.get())
    version = make_new_version(benchmark, "Two options are right.", actor=make_person("Cora"), at=at)
    score_edition(benchmark.editions.get(), version, actor=None, at=at)
    assert '<a href="editions/1/version-2/">editions/1/version-2/</a>' in files(benchmark)["index.html"]


def test_a_link_that_is_none_is_left_out() -> None:
    benchmark = make_published()
    Team.objects.update(link="javascript:alert(1)")
    assert not any("javascript" in text for text in files(benchmark).values())


def test_a_withdrawn_entry_is_a_struck_line_with_day_and_reason() -> None:
    benchmark = make_published()
    before = json.loads(files(benchmark)["board.json"])["results"]
    Submission.objects.filter(team__name="Team Two").update(
        withdrawn_at=AT, withdrawn_because="We trained on these images."
    )
    found = files(benchmark)
    assert json.loads(found["board.json"])["results"] == before
    assert found["index.html"].count('<tr class="withdrawn">') == 1
    assert "withdrawn 2026-06-03: We trained on these images." in found["index.html"]


def test_an_anonymous_team_shows_under_a_number_until_its_day() -> None:
    benchmark = make_published()
    Team.objects.filter(name="Team Two").update(anonymous_until=date(2026, 12, 1), link="https://two.example.org")
    hidden = files(benchmark)
    entry = Submission.objects.get(team__name="Team Two").public_id
    assert not any("Team Two" in text or "two.example" in text for text in hidden.values())
    assert "Anonymous entry 2" in hidden["index.html"]
    assert "anonymous until 2026-12-01" in hidden["index.html"]
    assert f"entries/{entry}/README.md" not in hidden
    shown = files(benchmark, date(2026, 12, 1))
    assert "Team Two" in shown["index.html"]
    assert f"entries/{entry}/README.md" in shown


def test_every_page_of_a_simulated_bank_says_so() -> None:
    benchmark = make_published()
    benchmark.bank.simulated = True
    benchmark.bank.save()
    for name, text in files(benchmark).items():
        assert not name.endswith(".html") or "Simulated" in text, name


def test_the_folder_of_the_site_is_replaced_whole() -> None:
    benchmark = make_published()
    publish_here(benchmark, actor=None, at=AT)
    place = folder_here(benchmark)
    first = (place / "index.html").read_bytes()
    BoardNote.objects.create(benchmark=benchmark, text="The second question is disputed.", made_at=AT)
    publish_here(benchmark, actor=None, at=AT + timedelta(minutes=1))
    assert b"disputed" in (place / "index.html").read_bytes()
    assert (place / "index.html").read_bytes() != first
    assert len(list(place.parent.iterdir())) == 2  # the name, and the one folder that it stands for


def test_a_board_leaves_that_of_a_namesake_alone() -> None:
    """Of two leaderboards with one name the second has a number at the end of its address."""
    benchmark = make_published()
    namesake = folder_here(benchmark).with_name(f".{benchmark.slug}-2-20260602120000000000")
    namesake.mkdir(parents=True)
    publish_here(benchmark, actor=None, at=AT)
    assert namesake.is_dir()


def test_a_board_that_is_not_there_is_written_once() -> None:
    """As after a backup was restored, which holds no board."""
    benchmark = make_published()
    assert [sweep_boards(AT), sweep_boards(AT)] == [1, 0]
    assert (folder_here(benchmark) / "index.html").is_file()


@pytest.mark.django_db(transaction=True)
def test_a_job_writes_it_in_no_transaction_of_a_page() -> None:
    """Its event needs one of its own."""
    publish_here(make_published(40), actor=None, at=AT)
    (noted,) = AuditEvent.objects.filter(act="leaderboard.published")
    assert noted.facts["files"] > 10


def test_a_page_of_fifty_entries_is_below_a_hundred_kilobytes() -> None:
    names = {f"Team {place} with a long name of its own": 2 + place for place in range(50)}
    found = files_of(make_published(shares=names), on=ON)
    assert max(len(gzip.compress(text)) for name, text in found.items() if name.endswith((".html", ".svg"))) < 100_000
