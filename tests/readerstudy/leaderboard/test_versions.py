"""A question voided or corrected: the next version, stored answers scored again, and nothing published edited."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from annotation.enums import ImportKind, ImportState, QuestionState, Role
from annotation.models import AnswerKey, BankImport, Question, Revision
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.leaderboard.edition_scoring import score_edition, verify
from readerstudy.leaderboard.editions import score_again
from readerstudy.leaderboard.public_board import files_of
from readerstudy.leaderboard.versions import add_note, changes_since, make_new_version
from readerstudy.models import Benchmark, BenchmarkVersion, Submission
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import make_published, name_again, scored

pytestmark = pytest.mark.django_db


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
