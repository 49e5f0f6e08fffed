"""The report of a round: its files, and two other programs that find its numbers again and name a spoiled one."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries, DjangoDbBlocker
from pytest_django.fixtures import Settings

from annotation.enums import Degree, Flag, RoundSteps, Verdict
from annotation.exports import review_report
from annotation.exports.kernels import recompute
from annotation.exports.review_report import pack_review_report, write_review_report
from annotation.exports.reviews import columns_of_reviews, export_reviews, review_rows, reviewer_pseudonym
from annotation.exports.tables import Format, restored
from annotation.models import Assignment, AuditEvent, ReviewRound, Settlement, User
from annotation.outcomes.adjudicating import begin_adjudication, name_adjudicator, take_next
from annotation.review.ending import complete_reviews, count_open
from annotation.review.kernels.form_design import PAPER
from annotation.review.outcomes import round_outcomes
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.issues import PaperOutcome
from tests.annotation.exports.oracle import differences
from tests.annotation.exports.review_files import file_of, review_cells
from tests.annotation.exports.stopped import Stopped, counted, stopped_before
from tests.annotation.review.cases import images_are_there, make_bank, make_revisions
from tests.annotation.rounds.made import make_open, say, theirs
from tests.commands import ends_with_2
from tests.conftest import NOON, make_person
from tests.made_once import made_once

PIXELS = (".pdf", ".png", ".svg")


def test_a_report_whose_worker_was_stopped_goes_on(
    rita: User, remo: User, cora: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    lively, figures = make_lively([rita, remo], cora, n=6), review_report._figures
    monkeypatch.setattr(review_report, "_figures", lambda of: [one for one in figures(of) if "/grades." in one.name])
    undisturbed, disturbed = tmp_path / "whole.zip", tmp_path / "again.zip"
    pack_review_report(lively, undisturbed)
    made = counted(monkeypatch, review_report)
    with pytest.raises(Stopped):
        pack_review_report(lively, disturbed, stopped_before("figures/grades.png"))
    assert "figures/grades.pdf" in made
    pack_review_report(lively, disturbed)
    assert "figures/grades.png" in made
    assert set(made.values()) == {1}
    assert disturbed.read_bytes() == undisturbed.read_bytes()
    assert not list(Path(settings.TEMP_ROOT).glob("review-report-*"))


def test_what_was_drawn_for_other_reviews_is_not_kept(
    rita: User, remo: User, cora: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lively = make_lively([rita, remo], cora, n=6)
    monkeypatch.setattr(review_report, "_figures", lambda _numbers: ())
    made = counted(monkeypatch, review_report)
    with pytest.raises(Stopped):
        pack_review_report(lively, tmp_path / "one.zip", stopped_before("recompute.py"))
    say(Assignment.objects.filter(round=lively, repeats=None)[0], version=2)
    pack_review_report(lively, tmp_path / "two.zip")
    assert set(made.values()) == {2}


@made_once
def make_lively(people: list[User], cora: User, n: int = 36, *, per_question: int = 2) -> ReviewRound:
    """Everything occurs: no option, grades that nobody could give, withdrawn flags, times that count and do not."""
    made = make_open(n, *people, name="Lively", actor=cora, reviewers_per_question=per_question)
    chance = random.Random(n)
    for one in Assignment.objects.filter(round=made).select_related("revision__question").order_by("pk"):
        quality = (one.revision.question.number * 7) % 10 / 2
        review = say(
            one,
            best=chance.choice(("B", "B", "B", "A", "")),
            flags=[flag for flag in Flag if chance.random() < 0.05 * (6 - quality)],
            verdict=chance.choice([*Verdict, Verdict.ACCEPT, Verdict.ACCEPT]),
            grades={
                name.value: chance.choice((min(5, max(1, round(quality + chance.gauss(0, 1)))), "cannot_judge"))
                for name in PAPER.grades
            },
            needs_image=chance.choice([*Degree]),
            relevant=chance.choice([*Degree]),
            category=chance.choice(("", "", "Other")),
            active_ms=chance.choice((None, 20_000 + chance.randrange(90_000))),
            time_rule=chance.choice(("active-1", "elsewhere")),
            time_flags=chance.choice(([], ["resumed"], ["hidden"])),
        )
        answer = review.assignment.blind_answer
        answer.difficulty = chance.choice(("easy", "medium", "hard"))
        answer.meant = chance.choice(("", "", *({"A", "B", "none"} - {answer.best or "none"})))
        answer.save()
    first = Assignment.objects.filter(round=made).order_by("pk")[0]
    repeat = Assignment.objects.create(
        round=made, reviewer=first.reviewer, revision=first.revision, position=999, repeats=first
    )
    say(repeat, best="D", flags=list(Flag), verdict="reject")  # a hidden repeat counts nowhere
    return made


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures have tests of their own."""
    monkeypatch.setattr(review_report, "_figures", lambda numbers: ())


def adjudicate(made: ReviewRound, cora: User, at: datetime) -> None:
    """Complete the reviews and decide about the first two disputed questions."""
    judy = make_person("Judy")
    complete_reviews(made, actor=cora, at=at, confirmed_open=count_open(made))
    name_adjudicator(made, judy, actor=cora, at=at)
    begin_adjudication(made, actor=cora, at=at)
    for flags in ([Flag.UNSOUND], []):
        taken = take_next(made, judy, at=at)
        assert taken is not None
        say(taken, flags=flags)
        Settlement.objects.filter(assignment=taken).update(outcome="accepted", decision="accept", decided_at=at)


@pytest.mark.parametrize("n_reviewers", [1, 2, 3])
def test_every_number_is_found_again(
    tmp_path: Path, cora: User, noon: datetime, n_reviewers: int, undrawn: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the oracle all, exactly; by recompute.py the headline numbers."""
    people = [make_person(f"R{number}") for number in range(n_reviewers)]
    made = make_lively(people, cora, per_question=min(2, n_reviewers))
    if n_reviewers == 2:
        adjudicate(made, cora, noon)
        made.refresh_from_db()
    write_review_report(made, tmp_path / "report", actor=None, at=noon)
    assert differences(tmp_path / "report") == []
    assert recompute.main(tmp_path / "report") == 0, capsys.readouterr().out
    printed = capsys.readouterr().out
    for word in ("any, any ", "all, flag_unsound ", "expert_ceiling ", "expert_ceiling_meant ", "accepted "):
        assert f"\n{word}" in printed
    assert ("\nadjudicated, any " in printed) == (n_reviewers == 2)
    assert ("\nverdict, gwet_ac1 " in printed) == (n_reviewers > 1)


@pytest.fixture(scope="module")
def written(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """One report, whose rows are gone again: what follows reads files alone."""
    folder = tmp_path_factory.mktemp("made") / "report"
    with django_db_blocker.unblock(), transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(review_report, "_figures", lambda numbers: ())
        made = make_lively([make_person("Rita"), make_person("Remo")], make_person("Cora"))
        write_review_report(made, folder, actor=None, at=NOON)
        transaction.set_rollback(True)
    return folder


def test_methods_say_which_intervals_of_agreement_are_drawn(written: Path) -> None:
    said = " ".join((written / "methods.txt").read_text(encoding="utf-8").split())
    assert "CIs: percentile bootstrap over" in said
    assert "AC2 (t) take questions as independent; weighted agreement has none." in said


@pytest.fixture
def report(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "report"))


@pytest.mark.parametrize(
    ("table", "column", "place", "named"),
    [
        ("outcomes", "high", 1, "\nany, paper_"),
        ("agreement", "value", 0, "\ngrade_clinical_quality, percent_agreement"),
        ("shares", "cluster_low", 0, "\nexpert_ceiling, by cluster"),
        ("difficulty", "low", -1, ""),
        ("times", "value", 0, ""),
    ],
)
def test_a_spoiled_number_is_named(
    report: Path, capsys: pytest.CaptureFixture[str], table: str, column: str, place: int, named: str
) -> None:
    """By recompute.py where it is a headline number."""
    path = report / "tables" / f"{table}.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[place][column] = str(float(rows[place][column]) * 1.001)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    [one] = differences(report)
    assert f", {column}: {rows[place][column]}, computed" in one
    assert recompute.main(report) == bool(named)
    printed = capsys.readouterr().out
    assert printed.count(" NO\n") == bool(named)
    assert named in printed


def test_a_file_that_is_gone_is_said(report: Path) -> None:
    (report / "data" / "reviews.csv").unlink()
    assert recompute.main(report) == 2


def test_every_file_of_a_simulated_round_says_so(tmp_path: Path, cora: User, rita: User, remo: User) -> None:
    made = make_lively([rita, remo], cora, n=6)
    ReviewRound.objects.filter(pk=made.pk).update(simulated=True)
    call_command("review_report", "--round", made.slug, "--out", str(tmp_path / "report"), verbosity=0)
    files = [path for path in (tmp_path / "report").rglob("*") if path.is_file()]
    unlabelled = {
        path.name
        for path in files
        if path.suffix not in (".pdf", ".png") and "simulated" not in path.read_text(encoding="utf-8").lower()
    }
    assert unlabelled == {"SHA256SUMS"}
    assert {path.suffix for path in files} > set(PIXELS)
    assert "made up" in (tmp_path / "report" / "methods.txt").read_text(encoding="utf-8")
    sums = (tmp_path / "report" / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert len(sums) == len(files) - 1
    assert AuditEvent.objects.get(act="round.report_taken").facts["reviews"] == 12


@pytest.mark.check
def test_the_same_reviews_give_the_same_files(tmp_path: Path, cora: User, rita: User, noon: datetime) -> None:
    made = make_lively([rita], cora, n=6, per_question=1)
    for name in ("first", "second"):
        write_review_report(made, tmp_path / name, actor=None, at=noon)
    first, second = ((tmp_path / name / "SHA256SUMS").read_bytes() for name in ("first", "second"))
    assert first == second


def test_what_cannot_be_written_is_refused(tmp_path: Path, cora: User, rita: User, undrawn: None) -> None:
    make_open(3, rita, name="Fresh", actor=cora)
    arguments = ("review_report", "--round", "fresh", "--out")
    with pytest.raises(CommandError, match=r"No review of Fresh is submitted yet.*Nothing was written") as empty:
        call_command(*arguments, str(tmp_path / "report"))
    say(theirs(rita)[0])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(CommandError, match="is not empty: name a new folder") as full:
        call_command(*arguments, str(tmp_path / "full"))
    assert (empty.value.returncode, full.value.returncode) == (2, 2)
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "mine.txt"]


def test_reviewers_are_nameless_unless_names_are_asked_for(
    tmp_path: Path, cora: User, rita: User, remo: User, undrawn: None
) -> None:
    made = make_lively([rita, remo], cora, n=6)
    for person, name in ((rita, "Rita Okafor"), (remo, "Remo Castelli")):
        User.objects.filter(pk=person.pk).update(name=name)
    for name, more in (("without", []), ("with", ["--names"])):
        folder = str(tmp_path / name)
        call_command("review_report", "--round", made.slug, "--out", folder, *more, verbosity=0)
    plain, named = (_texts(tmp_path / name) for name in ("without", "with"))
    for text in plain.values():
        assert not [word for word in ("okafor", "castelli", rita.email, remo.email) if word in text.lower()]
    assert set(named) - set(plain) == {"reviewers.csv", "reviewers.codebook.csv"}
    rows = list(csv.DictReader(io.StringIO(named["reviewers.csv"])))
    assert {row["name"] for row in rows} == {"Rita Okafor", "Remo Castelli"}
    assert [row["reviewer"] for row in rows] == sorted(reviewer_pseudonym(person.pk) for person in (rita, remo))
    assert all(row["reviewer"] in plain["outcomes_by.csv"] for row in rows)
    assert differences(tmp_path / "with") == []


def _texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()}


# --- the reviews of a round as files ---
@pytest.fixture
def reviewed(db: None, cora: User, rita: User, remo: User, noon: datetime) -> ReviewRound:
    made = make_open(6, rita, remo, actor=cora, reviewers_per_question=2)
    first = theirs(rita)[0]
    say(first, flags=[Flag.OTHER], verdict="reject")
    say(first, version=2, flags=[Flag.KEY_WRONG], best="A", comment='=cmd|"/c calc"!A1', at=noon + timedelta(hours=1))
    say(theirs(rita)[1], verdict="revise", reasoning="two\nlines, ”quoted” 胸部")
    say(theirs(remo)[0], best="")
    return made


def exported(made: ReviewRound, form: Format, noon: datetime) -> bytes:
    file = io.BytesIO()
    export_reviews(made, form, file, actor=None, at=noon)
    return file.getvalue()


def test_twice_gives_the_same_bytes_without_names_of_people(reviewed: ReviewRound, noon: datetime) -> None:
    for form in Format:
        told = exported(reviewed, form, noon)
        assert told == exported(reviewed, form, noon + timedelta(days=1)), form
        assert [name for name in (b"rita", b"remo") if name in told.lower()] == [], form


def test_one_row_per_review_in_its_newest_version(reviewed: ReviewRound, rita: User, noon: datetime) -> None:
    lines = [json.loads(line) for line in exported(reviewed, Format.JSONL, noon).decode().splitlines()]
    assert (len(lines), len({line["reviewer"] for line in lines})) == (3, 2)
    assert [line["question"] for line in lines] == sorted(line["question"] for line in lines)
    changed = next(line for line in lines if line["version"] == 2)
    assert (changed["flag_key_wrong"], changed["flag_other"], changed["verdict"]) == (True, False, "accept")
    assert (changed["grade_clinical_quality"], changed["grade_image_alignment"]) == (5, None)
    assert changed["cannot_judge_image_alignment"] is True
    assert (changed["blind_best"], changed["key"], changed["blind_equals_key"]) == ("B", "B", True)
    assert changed["submitted_at"] == "2026-11-21"
    assert changed["reviewer"] == reviewer_pseudonym(rita.pk)
    assert changed["stratum"] == changed["difficulty"]


def test_the_formats_agree(reviewed: ReviewRound, noon: datetime) -> None:
    lines = [json.loads(line) for line in exported(reviewed, Format.JSONL, noon).decode().splitlines()]
    table = list(csv.DictReader(io.StringIO(exported(reviewed, Format.CSV, noon).decode("utf-8-sig"), newline="")))
    parquet = pq.read_table(io.BytesIO(exported(reviewed, Format.PARQUET, noon))).to_pylist()
    for line, row, record in zip(lines, table, parquet, strict=True):
        for name in ("comment", "reasoning", "reviewer", "verdict", "category"):
            assert restored(row[name]) == line[name] == record[name]
        name = "grade_factual_correctness"
        assert record[name] == line[name] == int(row[name])
    assert any(row["comment"].startswith("'=cmd") for row in table)


def test_a_round_of_judgement_only_leaves_the_blind_columns_empty(cora: User, rita: User, noon: datetime) -> None:
    made = make_open(3, rita, name="J", actor=cora, steps=RoundSteps.OPEN)
    say(theirs(rita)[0], best=None)
    [line] = [json.loads(line) for line in exported(made, Format.JSONL, noon).decode().splitlines()]
    assert (line["blind_best"], line["blind_defensible"], line["blind_equals_key"]) == ("", "", None)
    assert line["steps"] == "open"


def test_who_took_which_bytes_is_in_the_audit_log(reviewed: ReviewRound, noon: datetime) -> None:
    exported(reviewed, Format.CSV, noon)
    facts = AuditEvent.objects.get(act="round.exported").facts
    assert (facts["format"], facts["rows"], len(facts["sha256"])) == ("csv", 3, 64)


def test_the_rows_take_one_query(reviewed: ReviewRound, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    fresh = ReviewRound.objects.select_related("plan__bank").get(pk=reviewed.pk)
    with django_assert_num_queries(1):
        assert len(list(review_rows(fresh))) == 3


def test_the_command_writes_the_file_and_its_codebook(reviewed: ReviewRound, tmp_path: Path, noon: datetime) -> None:
    for form in Format:
        path = tmp_path / f"reviews.{form.value}"
        for name in ("round", "Round"):
            call_command("export_reviews", "--round", name, "--format", form.value, "--output", str(path))
            assert path.read_bytes() == exported(reviewed, form, noon)
    with (tmp_path / "reviews.codebook.csv").open(encoding="utf-8-sig") as file:
        written = [row["column"] for row in csv.DictReader(file)]
    assert written == [column.name for column in columns_of_reviews(ReviewRound(), source_ids=False)]
    assert len(list(tmp_path.iterdir())) == 1 + len(Format)


def test_the_command_refuses_with_status_2(reviewed: ReviewRound, tmp_path: Path) -> None:
    for arguments in (
        ["--round", "nowhere", "--format", "csv", "--output", str(tmp_path / "a.csv")],
        ["--round", "round", "--format", "csv", "--output", str(tmp_path / "missing" / "a.csv")],
        ["--round", "round", "--format", "csv", "--output", str(tmp_path)],
    ):
        with ends_with_2():
            call_command("export_reviews", *arguments)
    assert not list(tmp_path.iterdir())


# How many of 120 questions have which flag, and the percents as they are printed.
FLAGGED = {Flag.SEVERAL_VALID: 13, Flag.NEEDS_PRIOR: 8, Flag.UNSOUND: 6, Flag.HALLUCINATED: 4}
PRINTED = {
    PaperOutcome.SEVERAL_VALID: "10.8",
    PaperOutcome.COMPARISON: "6.7",
    PaperOutcome.VALIDITY: "5.0",
    PaperOutcome.HALLUCINATED: "3.3",
    PaperOutcome.MISALIGNED: "0.0",
}


def test_imported_rows_give_the_printed_percents(
    tmp_path: Path, client: Client, cora: User, rita: User, noon: datetime
) -> None:
    bank, numbers = make_bank("First"), range(1, 121)
    make_revisions(bank, {number: {"difficulty": "easy"} for number in numbers})
    images_are_there(bank)
    plan = draw_sample(bank, per_thousand=1000, actor=None, at=noon)
    made = make_open(plan, rita, name="First", actor=cora, steps=RoundSteps.OPEN)
    rows: list[dict[str, Any]] = [
        review_cells(number, blind_best=None, blind_difficulty=None)
        | {f"flag_{flag.value}": number <= n_flagged for flag, n_flagged in FLAGGED.items()}
        for number in numbers
    ]
    call_command("import_reviews", str(file_of(tmp_path, rows)), "--round", made.slug, verbosity=0)
    found = round_outcomes(made)
    assert (found.n_reviewed, found.n_reviews) == (120, 120)
    shares = {row.issue: row.rate.share for row in found.paper}
    assert [shares[one].count for one in PRINTED] == [*FLAGGED.values(), 0]
    client.force_login(cora)
    page = client.get(f"/rounds/{made.slug}/").content.decode()
    figure = client.get(f"/rounds/{made.slug}/outcomes/one.svg").content.decode()
    for outcome, printed in PRINTED.items():
        value = Decimal(100 * (shares[outcome].value or 0))
        assert str(value.quantize(Decimal("0.1"), ROUND_HALF_UP)) == printed
        assert f"{value:.2f}\N{NO-BREAK SPACE}%" in page
        assert f">{printed}<" in figure
        assert f">{shares[outcome].count} of 120<" in figure
