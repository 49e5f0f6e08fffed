"""The public board: its files, the same every time; and a question voided or corrected, which is a new version."""

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

import msgspec
import pytest
import yaml

from annotation.enums import ImportKind, ImportState, QuestionState, Role
from annotation.exports.tables import ExportRefused
from annotation.models import AnswerKey, AuditEvent, BankImport, Question, Revision
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.leaderboard.edition_scoring import score_edition, verify
from readerstudy.leaderboard.editions import folder_here, score_again, sweep_boards
from readerstudy.leaderboard.public_board import files_of, publish, publish_here
from readerstudy.leaderboard.versions import add_note, changes_since, make_new_version
from readerstudy.models import Benchmark, BenchmarkVersion, BoardNote, Submission, Team
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


# --- a question voided or corrected ----------------------------------------------------------------
JULY = datetime(2026, 7, 1, 12, tzinfo=UTC)


def revised(benchmark: Benchmark, number: int, *, key: str = "", **fields: object) -> Revision:
    """The next revision of a question, as an edit stores one."""
    old = Revision.objects.current().get(question__bank=benchmark.bank, question__number=number)
    edits, _made = BankImport.objects.get_or_create(
        bank=benchmark.bank,
        kind=ImportKind.EDITS,
        defaults={"state": ImportState.PUBLISHED, "file_name": "edits", "started_at": JULY, "heartbeat_at": JULY},
    )
    before = AnswerKey.objects.get(pk=old.pk)
    Revision.objects.filter(pk=old.pk).update(superseded_by=edits)
    new = Revision.objects.get(pk=old.pk)
    new.pk, new.number, new.bank_import, new.superseded_by = None, old.number + 1, edits, None
    for name, value in fields.items():
        setattr(new, name, value)
    new.save(force_insert=True)
    AnswerKey.objects.create(revision=new, key=key or before.key, report=before.report)
    return new


def void(benchmark: Benchmark, *numbers: int) -> None:
    Question.objects.filter(bank=benchmark.bank, number__in=numbers).update(state=QuestionState.WITHDRAWN)


def make_next(benchmark: Benchmark) -> BenchmarkVersion:
    return make_new_version(benchmark, "Review of July", actor=make_person("cora", Role.COORDINATOR), at=JULY)


def test_what_changed_is_listed_without_keys() -> None:
    benchmark = make_published(n=320)
    void(benchmark, 2)
    revised(benchmark, 5, key="D")
    revised(benchmark, 7, stem="Which finding is present?", key="A")
    revised(benchmark, 9, category="Lungs")
    revised(benchmark, 11)  # another explanation: nothing of the benchmark
    found = changes_since(benchmark.versions.get())
    assert [(one.number, str(one.what)) for one in found] == [
        (2, "voided"),
        (5, "key corrected"),
        (7, "another wording"),
        (9, "counted in another group"),
    ]
    version = make_next(benchmark)
    assert [set(one) - {"becomes"} for one in version.changes] == [{"question", "what", "why"}] * 4
    assert changes_since(version) == []


def test_a_corrected_key_keeps_its_name_and_another_wording_gets_a_new_one() -> None:
    benchmark = make_published(n=320)
    names = list(benchmark.versions.get().questions.order_by("place").values_list("name", flat=True))
    void(benchmark, 2)
    revised(benchmark, 5, key="D")
    revised(benchmark, 7, stem="Which finding is present?")
    version = make_next(benchmark)
    now = list(version.questions.order_by("place").values_list("name", flat=True))
    assert (version.number, len(now)) == (2, 319)
    assert names[1] not in now
    assert names[4] in now
    assert names[6] not in now
    assert version.changes[2]["becomes"] in now
    assert benchmark.versions.get(number=1).questions.count() == 320


def test_nothing_changed_and_no_reason_are_refused() -> None:
    benchmark, cora = make_published(n=320), make_person("cora", Role.COORDINATOR)
    with pytest.raises(LeaderboardRefused, match="nothing to change"):
        make_new_version(benchmark, "why", actor=cora, at=JULY)
    void(benchmark, 2)
    with pytest.raises(LeaderboardRefused, match="Say why"):
        make_new_version(benchmark, " \u202e ", actor=cora, at=JULY)
    assert benchmark.versions.count() == 1


def test_an_edition_on_two_versions_stands_side_by_side() -> None:
    benchmark = make_published(n=320)
    before = files_of(benchmark, on=JULY.date())
    void(benchmark, *range(1, 20))
    revised(benchmark, 22, key="D")
    revised(benchmark, 23, stem="Which finding is present?")
    version, edition = make_next(benchmark), benchmark.editions.get()
    job = score_again(edition, actor=make_person("omar", Role.COORDINATOR), at=JULY)
    assert job.params["version"] == version.pk
    again = score_edition(edition, current_version(benchmark), actor=None, at=JULY)
    result = msgspec.json.decode(again.result)
    assert (result["n"], result["version"]) == (301, 2)
    one = next(
        row for row in result["entries"] if Submission.objects.get(public_id=row["entry"]).team.name == "Team One"
    )
    assert (one["n_missing"], one["n_reworded"]) == (1, 1)
    wrong = sum(place % 10 == 0 for place in range(19, 320)) + 2  # the corrected key, and the other wording
    assert one["numbers"]["all"]["value"] == round(100 * (301 - wrong) / 301, 1)
    after = files_of(benchmark, on=JULY.date())
    assert {"editions/1/index.html", "editions/1/version-2/index.html"} <= set(after)
    results = json.loads(after["board.json"])["results"]
    assert results[0] == json.loads(before["board.json"])["results"][0]
    assert b"1 on another wording" in after["editions/1/version-2/index.html"]
    assert b"version-2/" in after["editions/1/index.html"]
    assert verify(benchmark, at=JULY) == []


def test_only_the_newest_edition_is_scored_again_and_once() -> None:
    benchmark, omar = make_published(n=320, n_editions=2), make_person("omar", Role.COORDINATOR)
    first, second = benchmark.editions.order_by("number")
    with pytest.raises(LeaderboardRefused, match="newest"):
        score_again(first, actor=omar, at=JULY)
    with pytest.raises(LeaderboardRefused, match="not published"):
        score_again(second, actor=omar, at=JULY)
    name_again(second, list(Submission.objects.all()))
    scored(second)
    void(benchmark, 2)
    make_next(benchmark)
    with pytest.raises(LeaderboardRefused, match="newest published edition"):
        score_again(first, actor=omar, at=JULY)
    assert score_again(second, actor=omar, at=JULY).params["edition"] == second.pk


def test_a_withdrawn_entry_is_not_scored_again() -> None:
    benchmark = make_published(n=320)
    Submission.objects.filter(team__name="Team Two").update(withdrawn_at=JULY - timedelta(days=1))
    void(benchmark, 2)
    version = make_next(benchmark)
    again = score_edition(benchmark.editions.get(), version, actor=None, at=JULY)
    assert len(msgspec.json.decode(again.result)["entries"]) == 2
    assert verify(benchmark, at=JULY) == []


def test_a_note_is_about_the_board_or_an_entry_on_it() -> None:
    benchmark, cora = make_published(n=320), make_person("cora", Role.COORDINATOR)
    entry = Submission.objects.get(team__name="Team Two").public_id
    add_note(benchmark, "Question\u202e 3 is\n disputed.", actor=cora, at=JULY)
    add_note(benchmark, "The team says otherwise.", entry, actor=cora, at=JULY)
    page = files_of(benchmark, on=JULY.date())["index.html"].decode()
    assert "2026-07-01: Question 3 is disputed." in page
    assert "2026-07-01, <bdi>Team Two 1 1.0</bdi>: The team says otherwise." in page
    for text, name, match in (
        ("", "", "Write what"),
        ("x" * 1001, "", "at most 1000"),
        ("x", "none", "no entry|No entry"),
    ):
        with pytest.raises(LeaderboardRefused, match=match):
            add_note(benchmark, text, name, actor=cora, at=JULY)
    assert benchmark.notes.count() == 2
