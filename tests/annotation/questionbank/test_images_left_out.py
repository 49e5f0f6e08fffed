"""Images of an exam that a revision leaves out: stored, refused, undone, and what the pages of coordinators say."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from msgspec.structs import replace

from annotation.enums import ImageState
from annotation.models import AuditEvent, Edit, Image, Question, Revision, User
from annotation.questionbank.editing import current_revision, propose, revise, undo, wording_of
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.wording import Wording
from annotation.review.history import life_of
from annotation.review.samples import preview_sample
from annotation.statistics.kernels.sampling import StratifyBy
from tests.annotation.review.cases import make_bank, make_revision
from tests.annotation.review.pixels import give_pixels
from tests.refusals import refuses

NEW_STEM = "Which of these findings is absent on the frontal radiograph?"


@pytest.fixture
def question(db: None) -> Question:
    """With a PA and a lateral image, both of which can be seen."""
    question = make_revision(make_bank("Chest"), 1).question
    for image in question.exam.images.all():
        give_pixels(image, seed=image.position)
    return question


def names_of(question: Question) -> tuple[str, str]:
    pa, lateral = question.exam.images.order_by("position").values_list("public_id", flat=True)
    return pa, lateral


def changed(question: Question, *left_out: str, **fields: Any) -> Wording:
    return replace(wording_of(current_revision(question)), left_out=frozenset(left_out), **fields)


def leave_out(question: Question, cora: User, noon: datetime, *left_out: str, **fields: Any) -> Revision:
    based_on = current_revision(question).number
    wording = changed(question, *left_out, **fields)
    return revise(question, wording, "The lateral is of no use.", based_on=based_on, actor=cora, at=noon)


def test_a_revision_leaves_an_image_out_and_says_which(question: Question, cora: User, noon: datetime) -> None:
    pa, lateral = names_of(question)
    said = propose(current_revision(question), changed(question, lateral))
    assert [(one.label, one.after) for one in said.changes] == [
        ("Images that count", "Image 2 (lateral) no longer counts.")
    ]
    assert said.faults == []
    revision = leave_out(question, cora, noon, lateral)
    assert (revision.number, revision.images_left_out) == (2, [lateral])
    first = Revision.objects.get(question=question, number=1)
    assert first.images_left_out is None
    assert AuditEvent.objects.get(act="question.revised").facts == {"revision": 2, "fields": ["images"]}
    swapped = propose(revision, changed(question, pa))
    assert swapped.changes[0].after == "Image 1 (PA) no longer counts. Image 2 (lateral) counts again."


def test_bad_choices_of_images_change_nothing(question: Question, cora: User, noon: datetime) -> None:
    pa, lateral = names_of(question)
    of_another, _lateral = names_of(make_revision(question.bank, 2).question)
    for left_out, told in (
        ((pa, lateral), "At least one image must count."),
        (("nobody",), "The exam has no such image."),
        ((lateral, "<b>"), "The exam has no such image."),
        ((of_another,), "The exam has no such image."),
    ):
        with refuses(BankRefused, "rules", match=f"Images that count: {told}", status=422) as refused:
            leave_out(question, cora, noon, *left_out, stem=NEW_STEM)
        assert [fault.field for fault in refused.value.facts["faults"]] == ["images"]
    assert current_revision(question).number == 1
    assert not Edit.objects.exists()


def test_undo_lets_the_image_count_again_as_the_history_tells(question: Question, cora: User, noon: datetime) -> None:
    pa, _lateral = names_of(question)
    leave_out(question, cora, noon, pa)
    with refuses(BankRefused, "unchanged"):
        leave_out(question, cora, noon, pa)
    back = undo(question, based_on=2, actor=cora, at=noon)
    assert (back.number, back.images_left_out) == (3, None)
    revisions = Revision.objects.filter(question=question).select_related("bank_import__actor", "edit__author")
    events = life_of(question, list(revisions.order_by("-number")), cora)
    said = {one.past.revision.number: [change.after for change in one.past.changes] for one in events if one.past}
    assert said == {3: ["Image 1 (PA) counts again."], 2: ["Image 1 (PA) no longer counts."], 1: []}
    assert undo(question, based_on=3, actor=cora, at=noon).left_out == {pa}


def test_the_second_of_two_editors_is_told_of_the_images(
    question: Question, cora: User, ada: User, noon: datetime
) -> None:
    hers = changed(question, stem=NEW_STEM)
    leave_out(question, ada, noon, names_of(question)[1], key="C")
    with refuses(BankRefused, "changed", match="since you opened it: Images that count, Key"):
        revise(question, hers, "Stem.", based_on=1, actor=cora, at=noon)


def drawn_and_lost(question: Question) -> tuple[set[int], set[int]]:
    preview = preview_sample(question.bank, by=StratifyBy.NONE, per_thousand=1000, seed=1)
    return {one.number for one in preview.drawn}, {one.number for one in preview.lost}


def test_a_question_outlives_an_image_that_it_leaves_out(question: Question, cora: User, noon: datetime) -> None:
    _pa, lateral = names_of(question)
    make_revision(question.bank, 2)
    Image.objects.filter(public_id=lateral).update(state=ImageState.REMOVED)
    assert drawn_and_lost(question) == ({2}, {1})
    leave_out(question, cora, noon, lateral)
    assert drawn_and_lost(question) == ({1, 2}, set())
    Image.objects.exclude(public_id=lateral).filter(exam=question.exam).update(state=ImageState.REMOVED)
    assert drawn_and_lost(question) == ({2}, {1})


# --- pages -----------------------------------------------------------------------------------------
def typed(question: Question, *counting: str, **fields: object) -> dict[str, object]:
    images = {"images_shown": list(names_of(question)), "images": list(counting)}
    texts = wording_of(current_revision(question)).texts()
    return {**texts, **images, "based_on": 1, "reason": "The lateral is of no use.", **fields}


def views_of(page: str) -> list[str]:
    found = re.search(r'<script id="views" type="application/json">(.*?)</script>', page)
    assert found is not None
    return re.findall(r'"id": "([^"]+)"', found[1])


def test_an_editor_leaves_an_image_out_by_its_box_and_the_question_says_so(
    coordinator: Client, question: Question
) -> None:
    pa, lateral = names_of(question)

    def n_checked(page: str) -> int:
        return len(re.findall(r'<input type="checkbox" name="images"[^>]* checked>', page))

    page = coordinator.get("/banks/chest/1/revise/").content.decode()
    assert ("Images that count" in page, "Image 1 (PA)" in page) == (True, True)
    assert (n_checked(page), views_of(page)) == (2, [pa, lateral])
    preview = coordinator.post("/banks/chest/1/revise/", typed(question, pa)).content.decode()
    assert "Image 2 (lateral) no longer counts." in preview
    assert (n_checked(preview), views_of(preview), current_revision(question).number) == (1, [pa], 1)
    assert "Does not count" not in coordinator.get("/banks/chest/1/").content.decode()
    answer = coordinator.post("/banks/chest/1/revise/", typed(question, pa, store="yes"))
    assert answer["Location"] == "/banks/chest/1/"
    assert current_revision(question).left_out == {lateral}
    page = coordinator.get("/banks/chest/1/").content.decode()
    assert page.count("Does not count") == 1
    assert "Image 2 (lateral) no longer counts." in page
    assert n_checked(coordinator.get("/banks/chest/1/revise/").content.decode()) == 1


def test_a_bad_choice_comes_back_beside_the_boxes(coordinator: Client, question: Question) -> None:
    page = coordinator.post("/banks/chest/1/revise/", typed(question, stem=NEW_STEM, store="yes"))
    assert page.status_code == 422
    assert page.context["form"].errors["images"]
    assert NEW_STEM in page.content.decode()
    assert current_revision(question).number == 1


def test_an_image_that_the_page_did_not_show_stays_as_it_was(coordinator: Client, question: Question) -> None:
    """It came in after the page was loaded."""
    sent = typed(question, *names_of(question), stem=NEW_STEM, store="yes")
    Image.objects.create(exam=question.exam, position=2, state=ImageState.PENDING)
    coordinator.post("/banks/chest/1/revise/", sent)
    assert (current_revision(question).stem, current_revision(question).images_left_out) == (NEW_STEM, None)


def test_nothing_is_asked_of_a_single_image(coordinator: Client, question: Question) -> None:
    question.exam.images.filter(position=1).update(exam=make_revision(question.bank, 2).question.exam)
    assert 'name="images' not in coordinator.get("/banks/chest/1/revise/").content.decode()
    sent = {**wording_of(current_revision(question)).texts(), "reason": "x"}
    coordinator.post("/banks/chest/1/revise/", {**sent, "based_on": 1, "stem": NEW_STEM, "store": "yes"})
    assert current_revision(question).stem == NEW_STEM


def test_the_list_of_the_bank_shows_what_counts(
    coordinator: Client, question: Question, cora: User, noon: datetime
) -> None:
    pa, lateral = names_of(question)

    def row() -> Any:
        [row] = coordinator.get("/banks/chest/").context["rows"]
        return row

    before = row()
    assert before.views == "<span>PA</span>, <span>lateral</span>"
    leave_out(question, cora, noon, pa)
    after = row()
    assert after.views == "<span>lateral</span>"
    preview = Image.objects.get(public_id=lateral).renditions.get(kind="preview").name
    assert after.thumbnail == f"/thumbnails/{preview}"
    assert before.thumbnail != after.thumbnail
