"""The reviews of a round as files.

The expert review of the ReXVQA paper (section 3.3.3), from imported rows to its printed percents.

Three reviews of other questions each: 120 of the first, 200 of the alignment of images, 300 of the later reader study.
"""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Flag, RoundSteps
from annotation.exports.reviews import columns_of_reviews, export_reviews, review_rows, reviewer_pseudonym
from annotation.models import AuditEvent, ReviewRound, User
from annotation.review.outcomes import round_outcomes
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.issues import PaperOutcome
from annotation.tables.writing import Format, restored
from tests.annotation.exports.review_files import file_of, review_cells
from tests.annotation.review.cases import images_are_there, make_bank, make_revisions
from tests.annotation.rounds.made import make_open, say, theirs
from tests.commands import ends_with_2


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
