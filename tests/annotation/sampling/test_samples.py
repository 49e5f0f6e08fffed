"""Samples that are stored: what they keep, and what is refused."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from django.test import Client
from msgspec.structs import asdict

from annotation.audit.deleting import BinRefused, archive, bring_back, empty_bin, move_to_bin
from annotation.enums import ImageState, ImportState, QuestionState, Task
from annotation.ingest.quarantine import quarantine_image, remove
from annotation.models import (
    AuditEvent,
    BankImport,
    Image,
    Question,
    QuestionBank,
    Revision,
    SampledQuestion,
    SamplingPlan,
    User,
)
from annotation.questionbank.filters import BankSearch
from annotation.review.frames import frame_rows
from annotation.review.rounds import create_round
from annotation.review.samples import SampleRefused, draw_sample, preview_sample, store_sample
from annotation.statistics.kernels.sampling import StratifyBy
from tests.annotation.review.cases import NOON, make_bank, make_revision, make_revisions
from tests.annotation.rounds.made import make_sample
from tests.pages import markup
from tests.refusals import refuses


@pytest.fixture
def bank(db: None) -> QuestionBank:
    bank = make_bank("Bank")
    make_revisions(bank, {n: {"difficulty": ["easy", "medium", "hard", ""][n % 4]} for n in range(1, 41)})
    return bank


def test_what_was_previewed_is_stored(bank: QuestionBank, cora: User, noon: datetime) -> None:
    seen = preview_sample(bank, by=StratifyBy.DIFFICULTY, per_thousand=300, seed=9)
    assert not SamplingPlan.objects.exists()
    assert not AuditEvent.objects.exists()
    plan = draw_sample(
        bank, name="S", per_thousand=300, seed=9, seen_frame_sha256=seen.frame_sha256, actor=cora, at=noon
    )
    stored = list(plan.questions.values_list("revision_id", "stratum"))
    assert stored == list(zip(seen.revision_ids, [one.stratum for one in seen.drawn], strict=True))
    assert plan.strata == [asdict(one) for one in seen.strata]
    assert (plan.n_frame, plan.seed, plan.rule, plan.stratify_by) == (40, 9, "ranked-1", "difficulty")
    assert AuditEvent.objects.filter(act="sample.drawn", actor=cora, subject_id=str(plan.pk)).exists()


@pytest.mark.parametrize("by", [StratifyBy.TASK, StratifyBy.CATEGORY])
def test_other_fields_are_drawn_in_proportion(db: None, by: StratifyBy) -> None:
    chest = make_bank("Chest")
    rare, common = {"task": Task.LOCATION, "category": "Pleura"}, {"task": Task.PRESENCE, "category": "Heart"}
    make_revisions(chest, {number: common if number % 4 else rare for number in range(1, 41)})
    plan = draw_sample(chest, by=by, per_thousand=200, actor=None, at=NOON)
    assert plan.stratify_by == by
    often, seldom = {StratifyBy.TASK: ("presence", "location"), StratifyBy.CATEGORY: ("Heart", "Pleura")}[by]
    assert {one["stratum"]: (one["n_frame"], one["n_drawn"]) for one in plan.strata} == {
        often: (30, 6),
        seldom: (10, 2),
    }
    assert Counter(plan.questions.values_list("stratum", flat=True)) == {often: 6, seldom: 2}


def test_only_current_wordings_are_drawn(bank: QuestionBank, cora: User, noon: datetime) -> None:
    newer = BankImport.objects.create(
        bank=bank, state=ImportState.PUBLISHED, file_name="b.json", started_at=NOON, heartbeat_at=NOON
    )
    running = BankImport.objects.create(
        bank=bank, state=ImportState.RUNNING, file_name="c.json", started_at=NOON, heartbeat_at=NOON
    )
    old, other = Revision.objects.filter(bank=bank).order_by("question__number")[:2]
    for before, by in ((old, newer), (other, running)):
        before.superseded_by = by
        before.save()
        before.pk, before.number, before.bank_import, before.superseded_by = None, 2, by, None
        before.save(force_insert=True)
    plan = draw_sample(bank, per_thousand=1000, actor=cora, at=noon)
    numbers = dict(plan.questions.values_list("revision__question__number", "revision__number"))
    assert len(numbers) == 40
    assert numbers[1] == 2  # published: the new wording
    assert numbers[2] == 1  # its import still runs: the old one


def test_a_bank_that_changed_since_the_preview_is_refused(bank: QuestionBank, cora: User, noon: datetime) -> None:
    seen = preview_sample(bank, by=StratifyBy.DIFFICULTY, per_thousand=300, seed=9)
    make_revision(bank, 41, difficulty="hard")
    with refuses(SampleRefused, "bank_changed", match="has changed"):
        draw_sample(bank, per_thousand=300, seed=9, seen_frame_sha256=seen.frame_sha256, actor=cora, at=noon)
    assert not SamplingPlan.objects.exists()


def test_numbers_out_of_range_and_an_empty_or_archived_bank_are_refused(
    bank: QuestionBank, cora: User, noon: datetime
) -> None:
    for per_thousand, seed in ((0, 1), (1001, 1), (100, -1), (100, 2**63)):
        with refuses(SampleRefused, "out_of_range"):
            preview_sample(bank, by=StratifyBy.NONE, per_thousand=per_thousand, seed=seed)
    empty = make_bank("Empty")
    with refuses(SampleRefused, "no_questions", match="no questions"):
        draw_sample(empty, actor=cora, at=noon)
    empty.archived_at = noon
    with refuses(SampleRefused, "bank_archived", match="archived"):
        draw_sample(empty, actor=cora, at=noon)


def test_a_name_is_used_once_and_an_address_gets_a_number(bank: QuestionBank, cora: User, noon: datetime) -> None:
    first = draw_sample(bank, name="Autumn!", actor=cora, at=noon)
    second = draw_sample(bank, name="Autumn?", actor=cora, at=noon)
    third = draw_sample(bank, name="new", actor=cora, at=noon)
    assert [first.slug, second.slug, third.slug] == ["autumn", "autumn-2", "new-2"]
    with refuses(SampleRefused, "name_taken", match="exists already"):
        draw_sample(bank, name="Autumn!", actor=cora, at=noon)


def test_archiving_deleting_and_what_refers(bank: QuestionBank, cora: User, ada: User, noon: datetime) -> None:
    plan = draw_sample(bank, actor=cora, at=noon)
    archive(plan, actor=cora, at=noon)
    assert plan.archived_at == noon
    bring_back(plan, actor=cora, at=noon)
    review_round = create_round(plan, name="R", reviewers=[], actor=cora, at=noon)
    with refuses(BinRefused, "in_use", match="round was made"):
        move_to_bin(plan, actor=ada, at=noon)
    review_round.delete()
    move_to_bin(plan, actor=ada, at=noon)
    empty_bin(noon + timedelta(days=30))
    assert not SampledQuestion.objects.exists()


def test_the_frame_says_what_it_leaves_out_and_what_waits(
    coordinator: Client, cora: User, dina: User, noon: datetime
) -> None:
    """Twelve questions on four exams: one in quarantine, one removed, one whose images never came, one withdrawn."""
    bank = make_sample(12).bank
    held, gone, away = (Image.objects.filter(exam__questions__number=number)[0] for number in (1, 4, 7))
    quarantine_image(held, reason="a name", actor=dina, at=noon)
    quarantine_image(gone, reason="a name", actor=dina, at=noon)
    gone.refresh_from_db()
    remove(gone, reason="a name", actor=dina, at=noon)
    Image.objects.filter(exam=away.exam_id).update(state=ImageState.PENDING)
    Question.objects.filter(bank=bank, number=10).update(state=QuestionState.WITHDRAWN)
    told = [
        ("In the bank", 12),
        ("left out: withdrawn", 1),
        ("left out: an image is in quarantine", 3),
        ("left out: an image was removed", 3),
        ("In the frame", 5),
        ("of these, images have not come", 3),
    ]
    found = preview_sample(bank, by=StratifyBy.NONE, per_thousand=1000, seed=1)
    assert frame_rows(found.frame, found.n_frame) == told, "a frame says what it left out, and why, before drawing"
    asked = {"bank": bank.slug, "by": "none", "per_thousand": "1000", "seed": "1"}
    page = markup(coordinator.get("/samples/new/", asked))
    for words, n in told:
        assert f'<td>{words}</td><td class="number">{n}</td>' in page
    assert "3 questions of the frame have no images yet" in page
    whole = preview_sample(bank, by=StratifyBy.NONE, per_thousand=1000, seed=1, wanted={"images": "here"})
    assert {one.number for one in whole.drawn} == {11, 12}
    assert frame_rows(whole.frame, whole.n_frame) == [
        ("Found by the filters", 3),
        ("left out: withdrawn", 1),
        ("In the frame", 2),
    ]
    plan = store_sample(found, name="S", actor=cora, at=noon)
    assert f'<td>{words}</td><td class="number">{n}</td>' in markup(coordinator.get(f"/samples/{plan.slug}/"))
    shown = coordinator.get(f"/api/v1/samples/{plan.slug}/").json()
    assert (shown["left_out"]["quarantine"], shown["n_waiting"]) == (3, 3)
    plan.frame = {}  # as it was stored before that was counted
    plan.save(update_fields=["frame"])
    shown = coordinator.get(f"/api/v1/samples/{plan.slug}/").json()
    assert (shown["left_out"], shown["n_waiting"]) == (None, None), "what was not counted is no number"


def test_the_list_of_questions_finds_them_by_their_images(dina: User, noon: datetime) -> None:
    bank = make_sample(9).bank
    quarantine_image(Image.objects.filter(exam__questions__number=1)[0], reason="a name", actor=dina, at=noon)
    Image.objects.filter(exam__questions__number=4).update(state=ImageState.PENDING)
    asked = {value: BankSearch(bank, {"images": value}).revisions() for value in ("lost", "waiting", "here")}
    found = {value: set(rows.values_list("question__number", flat=True)) for value, rows in asked.items()}
    assert found == {"lost": {1, 2, 3}, "waiting": {4, 5, 6}, "here": {7, 8, 9}}
