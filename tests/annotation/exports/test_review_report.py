"""The report of a round: its files, and two other programs that find its numbers again and name a spoiled one."""

from __future__ import annotations

import csv
import io
import random
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from annotation.enums import Degree, Flag, Verdict
from annotation.exports import review_report
from annotation.exports.kernels import recompute
from annotation.exports.review_report import pack_review_report, write_review_report
from annotation.exports.reviews import reviewer_pseudonym
from annotation.models import Assignment, AuditEvent, ReviewRound, Settlement, User
from annotation.outcomes.adjudicating import begin_adjudication, name_adjudicator, take_next
from annotation.review.ending import complete_reviews, count_open
from annotation.review.kernels.form_design import PAPER
from tests.annotation.exports.oracle import differences
from tests.annotation.exports.stopped import Stopped, counted, stopped_before
from tests.annotation.rounds.made import make_open, say, theirs
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
