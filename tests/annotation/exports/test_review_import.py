"""manage.py import_reviews and its page: reviews made elsewhere, all rows or none, each refused with its place."""

from __future__ import annotations

import hashlib
import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from annotation.enums import AssignmentState, Flag, ImageState, KeySource, ReturnReason, Role, RoundSteps
from annotation.exports.review_import import import_reviews
from annotation.exports.reviews import columns_of_reviews, export_reviews, review_rows, reviewer_pseudonym
from annotation.models import (
    Assignment,
    AuditEvent,
    BlindAnswer,
    Image,
    Membership,
    Question,
    Review,
    ReviewRound,
    SeenKey,
    User,
)
from annotation.outcomes.agreement import round_agreement
from annotation.review.ending import close_round, count_open
from annotation.review.outcomes import round_outcomes
from annotation.review.reviewer_progress import round_times
from annotation.review.rounds import create_round
from annotation.tables.writing import Format
from tests.annotation.exports.review_files import as_csv, as_lines, file_of, review_cells
from tests.annotation.rounds.made import make_open, make_sample, say, theirs
from tests.commands import ends_with_2
from tests.conftest import make_person

ADDRESS = "/rounds/round/import/"


@pytest.fixture
def opened(db: None, cora: User, rita: User) -> ReviewRound:
    """Four questions with key B, all of them Rita's."""
    return make_open(4, rita, actor=cora)


def run(path: Path, *options: str, review_round: str = "round") -> str:
    out = io.StringIO()
    call_command("import_reviews", str(path), "--round", review_round, *options, stdout=out)
    return out.getvalue()


def refused(path: Path, *options: str) -> str:
    """What the command says about a file that it refuses with status 2; nothing is stored."""
    before = Review.objects.count(), Assignment.objects.count(), AuditEvent.objects.count()
    errors = io.StringIO()
    with ends_with_2() as refusal:
        call_command("import_reviews", str(path), "--round", "round", *options, stderr=errors, stdout=io.StringIO())
    assert "Nothing was stored" in str(refusal.value)
    assert (Review.objects.count(), Assignment.objects.count(), AuditEvent.objects.count()) == before
    return errors.getvalue() + str(refusal.value)


@pytest.mark.parametrize("name", ["reviews.csv", "reviews.jsonl"])
def test_reviews_are_stored_as_submitted_without_times(
    tmp_path: Path, opened: ReviewRound, rita: User, remo: User, name: str
) -> None:
    rows = [
        review_cells(1, flag_unsound=True, verdict="revise", reasoning="Both fit.\nSee the lateral view."),
        review_cells(2, "REMO@example.org", grade_image_alignment="", cannot_judge_image_alignment=True),
        review_cells(3, reviewer_pseudonym(rita.pk), blind_best="", blind_difficulty="hard", disagreement="own_error"),
    ]
    rows[0] |= {"blind_meant": "none"}
    rows[2] |= {"blind_meant": "B"}
    path = file_of(tmp_path, rows, name)
    said = run(path)
    assert [line.split()[-1] for line in said.splitlines()[1:]] == ["3", "2", "3", "1", "1"]
    first, second, third = Review.objects.order_by("assignment__revision__question__number")
    assert (first.flags, first.verdict, first.reasoning) == (["unsound"], "revise", "Both fit.\nSee the lateral view.")
    assert (first.active_ms, first.time_rule, first.assignment.opened_at) == (None, "elsewhere", None)
    assert first.assignment.state == AssignmentState.SUBMITTED
    assert second.assignment.reviewer == remo
    assert second.grades["image_alignment"] == "cannot_judge"
    assert Membership.objects.filter(user=remo, round=opened, role=Role.REVIEWER).exists()
    answers = {a.assignment_id: (a.best, a.meant, a.defensible, a.difficulty) for a in BlindAnswer.objects.all()}
    assert answers[first.assignment_id] == ("B", "none", ["B"], "easy")
    assert answers[third.assignment_id] == ("", "B", [], "hard")
    assert round_outcomes(opened).n_reviews == 3
    assert round_times(opened).n_undefined == 3
    assert round_times(opened).active.n == 0
    facts = AuditEvent.objects.get(act="reviews.imported").facts
    assert facts["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert facts["file"] == name
    assert (facts["n_reviews"], facts["n_reviewers"], facts["n_questions"], facts["n_assignments"]) == (3, 2, 3, 1)


def test_an_apostrophe_that_no_export_put_there_stays(tmp_path: Path, opened: ReviewRound) -> None:
    make_person("Ruth")
    texts = {"'tis fine": "'tis fine", "''tis fine": "'tis fine", "'=1": "=1"}
    by_ruth = [review_cells(number, "ruth@example.org", comment=text) for number, text in enumerate(texts, start=1)]
    run(file_of(tmp_path, by_ruth))
    assert Assignment.objects.filter(reviewer__name="Ruth").count() == 3, "somebody without a role becomes a reviewer"
    found = Review.objects.order_by("assignment__revision__question__number").values_list("comment", flat=True)
    assert list(found) == list(texts.values())


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown question": ({"question": 77}, "row 3, question: The round has no question 77"),
    "wording": ({"revision": 2}, "row 3, revision: The round reviews wording 1 of this question, not 2"),
    "no wording": ({"revision": ""}, "row 3, revision: Give a whole number from 1."),
    "reviewer": ({"reviewer": "nobody@example.org"}, "row 3, reviewer: 'nobody@example.org' has no account here"),
    "no reviewer": ({"reviewer": ""}, "row 3, reviewer: Give the e-mail address"),
    "grade of 6": ({"grade_clinical_quality": 6}, "row 3, grade_clinical_quality: '6' is no grade: write 1, 2, 3, 4"),
    "grade and none": (
        {"cannot_judge_clinical_quality": True},
        "row 3, grade_clinical_quality: A grade, and could not judge",
    ),
    "flag": ({"flag_unsound": "perhaps"}, "row 3, flag_unsound: 'perhaps' is neither true nor false"),
    "withdrawn": ({"withdrawn_flags": "key_wrong|odd"}, "row 3, withdrawn_flags: 'odd' is unknown"),
    "verdict": ({"verdict": "good"}, "row 3, verdict: 'good' is unknown: write accept, revise, reject or cannot_judge"),
    "no verdict": ({"verdict": ""}, "row 3, verdict: Give a verdict"),
    "choice": ({"needs_image": "maybe"}, "row 3, needs_image: 'maybe' is unknown: write yes, partly, no"),
    "no blind answer": (
        {"blind_best": "", "blind_difficulty": ""},
        "row 3, blind_difficulty: The blind answer is missing, and the round asks for it",
    ),
    "option": ({"blind_best": "E"}, "row 3, blind_best: Choose among the options A to D."),
    "meant": ({"blind_meant": "E"}, "row 3, blind_meant: Write the letter that was meant, or none"),
    "meant as answered": ({"blind_meant": "B"}, "row 3, blind_meant: Write the letter that was meant, or none"),
    "difficulty": ({"blind_difficulty": ""}, "row 3, blind_difficulty: Choose a difficulty"),
    "bank": ({"bank": "other"}, "row 3, bank: The round is on the bank bank-of-sample"),
    "long text": ({"comment": "x" * 5001}, "row 3, comment: The text has more than 5,000 characters"),
    "another id": ({"question_id": "abc"}, "row 3, question_id: Question 2 has another id here"),
}


@pytest.mark.parametrize(("name", "place"), [("reviews.csv", "row 3"), ("reviews.jsonl", "row 2")])  # no header
def test_a_wrong_row_is_named_with_its_place_and_nothing_is_stored(
    tmp_path: Path, opened: ReviewRound, name: str, place: str
) -> None:
    for case, (changed, sentence) in WRONG.items():
        rows = [review_cells(1), review_cells(**{"question": 2, **changed})]
        assert sentence.replace("row 3", place) in refused(file_of(tmp_path, rows, name)), case


def test_every_wrong_row_is_named(tmp_path: Path, opened: ReviewRound) -> None:
    rows = [review_cells(1, verdict="good"), review_cells(77), review_cells(2), review_cells(3, relevant="?")]
    said = refused(file_of(tmp_path, rows))
    places = [line.partition(":")[0] for line in said.splitlines()[:3]]
    assert places == ["row 2, verdict", "row 3, question", "row 5, relevant"]


def test_doubled_reviews_are_refused(tmp_path: Path, opened: ReviewRound, rita: User) -> None:
    twice = [review_cells(1), review_cells(2), review_cells(1, reviewer_pseudonym(rita.pk))]
    assert "row 4, reviewer: Row 2 has a review of this question" in refused(file_of(tmp_path, twice))
    run(file_of(tmp_path, [review_cells(1)]))
    again = refused(file_of(tmp_path, [review_cells(1)]))
    assert "row 2, reviewer: A review of this question by this reviewer is stored" in again


def test_what_a_reviewer_began_or_gave_up_here_is_not_overwritten(
    tmp_path: Path, opened: ReviewRound, rita: User
) -> None:
    one, other, *_rest = theirs(rita)
    say(one)
    Review.objects.all().delete()
    Assignment.objects.filter(pk=one.pk).update(state=AssignmentState.ANSWERED)
    Assignment.objects.filter(pk=other.pk).update(
        state=AssignmentState.RETURNED, returned_because=ReturnReason.KNOWS_KEY
    )
    rows = [review_cells(n.revision.question.number) for n in (one, other)]
    said = refused(file_of(tmp_path, rows))
    assert "is to finish it" in said
    assert "handed the question back" in said


def test_whoever_knows_the_key_does_not_review_it(
    tmp_path: Path, opened: ReviewRound, remo: User, noon: datetime
) -> None:
    question = Question.objects.get(number=2)
    SeenKey.objects.create(person=remo, question=question, source=KeySource.QUESTION_PAGE, seen_at=noon)
    said = refused(file_of(tmp_path, [review_cells(2, "remo@example.org")]))
    assert "row 2, reviewer: Remo has seen its key" in said


FILES = {
    "empty": ("", "The file holds no review"),
    "header only": ("question,revision,reviewer,verdict\n", "The file holds no review"),
    "column": ("question,revision,reviewer,verdict,flag_hallucinatd\n", "The column 'flag_hallucinatd' is not known"),
    "column missing": ("question,revision,reviewer\n", "Missing: 'verdict'"),
    "no question": ("revision,reviewer,verdict\n1,r,accept\n", "The column 'question' is missing"),
    "column twice": ("question,question,revision,reviewer,verdict\n", "The column 'question' is there twice"),
    "cells": ("question,revision,reviewer,verdict\n1,1,rita@example.org\n", "Row 2: The row has 3 cells, the first"),
    "not JSON": ('{"question": 1,\n', "Line 1, column 16: This is not JSON"),
    "no object": ('{"question": 1, "revision": 1, "reviewer": "r", "verdict": "accept"}\n[1]\n', "Line 2 is no JSON"),
    "nested": ('{"question": 1, "revision": 1, "reviewer": ["r"], "verdict": "accept"}\n', "a list or an object"),
}


def test_a_file_that_cannot_be_read_says_where(tmp_path: Path, opened: ReviewRound) -> None:
    path = tmp_path / "reviews.csv"
    for case, (text, sentence) in FILES.items():
        path.write_text(text, encoding="utf-8")
        assert sentence in refused(path), case
    path.write_bytes(as_csv([review_cells(1, comment="naïve")]).encode("latin-1"))
    assert "not UTF-8" in refused(path)
    path.write_bytes(as_lines([review_cells(1, comment="a\ud800b")]).encode())
    assert "row 1, comment: The text holds a sign that is no character" in refused(path)
    path.write_bytes(b'{"question": 1, "\xff": 2}\n')
    assert "Line 1: The text is not UTF-8" in refused(path)
    assert "No such file" in refused(tmp_path / "none.csv")


def test_only_open_rounds_take_reviews(
    tmp_path: Path, opened: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    create_round(make_sample(3, name="Later"), name="Draft", reviewers=[rita], actor=cora, at=noon)
    path = file_of(tmp_path, [review_cells(1)])
    with pytest.raises(CommandError, match="an open round only"):
        run(path, review_round="draft")
    close_round(opened, actor=cora, at=noon, confirmed_open=4)
    assert "an open round only" in refused(path)


def test_an_export_comes_back_as_it_was(tmp_path: Path, cora: User, rita: User, remo: User, noon: datetime) -> None:
    """Of a round that asks for the judgement only: nobody judges a key blind that they have seen."""
    plan, open_steps = make_sample(3), RoundSteps.OPEN
    rounds = []
    for name in ("First", "Second"):
        made = make_open(plan, rita, remo, name=name, actor=cora, reviewers_per_question=2, steps=open_steps)
        rounds.append(made)
    first, second = rounds
    for person in (rita, remo):
        for one in (one for one in theirs(person) if one.round_id == first.pk):
            say(one, best=None, flags=[Flag.OTHER], comment="=1+1", verdict="reject", reasoning="Why, “so”.\nYes.")
    for form in (Format.CSV, Format.JSONL):
        file = io.BytesIO()
        export_reviews(first, form, file, actor=None, at=noon)
        told = import_reviews(
            second, name="f", content=file.getvalue(), actor=cora, at=noon, dry_run=form == Format.CSV
        )
        assert told.faults == []
    columns = ("question", "reviewer", "comment", "flag_other", "verdict", "reasoning")

    def said(of: ReviewRound) -> list[list[object]]:
        names = [column.name for column in columns_of_reviews(ReviewRound(), source_ids=False)]
        places = [names.index(name) for name in columns]
        return sorted([[row[place] for place in places] for row in review_rows(of)], key=str)

    assert said(second) == said(first)
    assert round_agreement(second, draws=10).n_pairs == 3
    with pytest.raises(CommandError):
        run(file_of(tmp_path, [review_cells(1)]), review_round="second")  # a blind answer that nobody asked for


def test_identifying_text_hides_the_images_but_not_in_a_dry_run(tmp_path: Path, opened: ReviewRound) -> None:
    said = run(file_of(tmp_path, [review_cells(1, flag_identifies=True)]), "--dry-run")
    assert "What would happen to the round round" in said
    told = json.loads(run(file_of(tmp_path, [review_cells(1)]), "--dry-run", "--json"))
    assert (told["n_reviews"], told["stored"], told["errors"]) == (1, False, [])
    assert not Review.objects.exists(), "a dry run stores nothing"
    assert not AuditEvent.objects.filter(act="reviews.imported").exists()
    run(file_of(tmp_path, [review_cells(1, flag_identifies=True)]))
    exam = Question.objects.get(number=1).exam_id
    assert set(Image.objects.filter(exam=exam).values_list("state", flat=True)) == {ImageState.QUARANTINED}
    assert ImageState.QUARANTINED not in Image.objects.exclude(exam=exam).values_list("state", flat=True)


def test_a_review_without_grades_is_shown_as_such(client: Client, opened: ReviewRound, cora: User, rita: User) -> None:
    """Files once needed none."""
    say(theirs(rita)[0], flags=[Flag.UNSOUND], verdict="revise", grades={}, time_rule="elsewhere")
    client.force_login(cora)
    page = client.get(f"/rounds/round/reviewers/{rita.pk}/").content.decode()
    assert "Clinical quality –" in page
    assert "the review was made elsewhere and imported" in page
    assert {one.n for one in round_outcomes(opened).grades} == {0}
    assert client.get("/rounds/round/").status_code == 200


# --- the page that takes a file ---
def send(client: Client, *rows: dict[str, Any], **fields: str) -> Any:
    file = SimpleUploadedFile("reviews.csv", as_csv(rows).encode())
    return client.post(ADDRESS, {"file": file, **fields})


def test_a_file_is_checked_and_then_imported(client: Client, cora: User, opened: ReviewRound) -> None:
    client.force_login(cora)
    assert ADDRESS.encode() in client.get("/rounds/round/").content
    assert client.get(ADDRESS).status_code == 200
    for act in ({}, {"check": "1"}):
        refused = send(client, review_cells(1), review_cells(9), review_cells(2, grade_clinical_quality=6), **act)
        faults = [(one.row, one.column) for one in refused.context["faults"]]
        assert (refused.status_code, faults) == (422, [(3, "question"), (4, "grade_clinical_quality")])
        assert b"2 cells are wrong. Nothing was saved" in refused.content
    rows = [review_cells(number) for number in (1, 2)]
    checked = send(client, *rows, check="1")
    assert checked.status_code == 200
    assert b"Preview: nothing has been saved." in checked.content
    assert Review.objects.count() == 0
    assert send(client, *rows).headers["Location"] == "/rounds/round/"
    assert Review.objects.count() == 2
    assert b"2 reviews imported." in client.get("/rounds/round/").content
    assert AuditEvent.objects.get(act="reviews.imported").actor == cora


def test_a_file_that_is_none_and_a_round_that_is_over_are_refused(
    client: Client, cora: User, opened: ReviewRound, noon: datetime
) -> None:
    client.force_login(cora)
    assert client.post(ADDRESS).status_code == 422
    large = SimpleUploadedFile("reviews.csv", b"x" * 5_000_001)
    answer = client.post(ADDRESS, {"file": large})
    assert (answer.status_code, b"larger than 5 MB" in answer.content) == (422, True)
    empty = client.post(ADDRESS, {"file": SimpleUploadedFile("reviews.csv", b"")})
    assert empty.status_code == 422
    close_round(opened, actor=cora, at=noon, confirmed_open=count_open(opened))
    over = send(client, review_cells(1))
    assert (over.status_code, b"into an open round only" in over.content) == (422, True)
    assert ADDRESS.encode() not in client.get("/rounds/round/").content


def test_a_coordinator_who_judges_in_the_round_imports_nothing(
    client: Client, remo: User, opened: ReviewRound, noon: datetime
) -> None:
    Membership.objects.create(user=remo, role=Role.COORDINATOR, round=opened, granted_at=noon)
    client.force_login(remo)
    assert client.get(ADDRESS).status_code == 200
    Assignment.objects.filter(pk=Assignment.objects.filter(round=opened).first().pk).update(reviewer=remo)  # type: ignore[union-attr]
    assert client.get(ADDRESS).status_code == 403
    assert ADDRESS.encode() not in client.get("/rounds/round/").content
