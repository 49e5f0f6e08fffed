"""Rounds made, opened, handed on, closed and put away.

A round is not opened in silence while its questions wait for images, and a sample leaves out what lost one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.audit.deleting import BinRefused, empty_bin, move_to_bin
from annotation.contributions import Conflict
from annotation.enums import AssignmentState, ImageState, Role, RoundState, RoundSteps
from annotation.ingest.quarantine import quarantine_image, remove
from annotation.models import Assignment, AuditEvent, Image, Membership, Review, ReviewRound, SamplingPlan, User
from annotation.review.assigning import assign_round
from annotation.review.ending import close_round, count_open
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.reassigning import add_reviewer, reassign, remove_reviewer
from annotation.review.rounds import archive_round, create_round, open_round
from annotation.review.samples import SampleRefused, preview_sample
from annotation.statistics.kernels.sampling import StratifyBy
from tests.annotation.rounds.made import make_open, make_sample, say, theirs
from tests.conftest import make_person
from tests.contributing import contribute
from tests.refusals import refuses


@pytest.fixture
def plan(db: None) -> SamplingPlan:
    return make_sample(12)


@pytest.fixture
def mia(db: None) -> User:
    return make_person("Mia", Role.REVIEWER)


@pytest.fixture
def opened(plan: SamplingPlan, cora: User, rita: User, remo: User) -> ReviewRound:
    return make_open(plan, rita, remo, name="Open", actor=cora)


def test_a_round_is_assigned_evenly_and_its_reviewers_know_it(
    plan: SamplingPlan, cora: User, rita: User, remo: User, mia: User, noon: datetime
) -> None:
    people, steps = [rita, remo, mia], RoundSteps.OPEN
    made = create_round(plan, name="R", reviewers=people, reviewers_per_question=2, steps=steps, actor=cora, at=noon)
    assert made.state == RoundState.DRAFT
    assert Counter(a.reviewer_id for a in made.assignments.all()) == {rita.pk: 8, remo.pk: 8, mia.pk: 8}
    assert set(Counter(a.revision_id for a in made.assignments.all()).values()) == {2}
    assert [a.position for a in theirs(rita)] == list(range(1, 9))
    assert Membership.objects.filter(round=made, role=Role.REVIEWER).count() == 3
    assert set(AuditEvent.objects.values_list("act", flat=True)) >= {"round.created", "round.assigned"}


def test_the_seed_decides_who_gets_what(plan: SamplingPlan, cora: User, rita: User, remo: User, noon: datetime) -> None:
    def orders(name: str, seed: int) -> list[tuple[int, int]]:
        made = create_round(plan, name=name, reviewers=[remo, rita], seed=seed, actor=cora, at=noon)
        return list(made.assignments.order_by("reviewer", "position").values_list("reviewer_id", "revision_id"))

    assert orders("a", 4) == orders("b", 4) != orders("c", 5)


def test_bad_rounds_are_refused(plan: SamplingPlan, cora: User, rita: User, noon: datetime) -> None:
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"name": " "}, "name_missing", "a name"),
        ({"name": "x" * 201}, "name_too_long", "longer"),
        ({"name": "R", "reviewers_per_question": 0}, "out_of_range", "1 to 9"),
        ({"name": "R", "seed": -1}, "out_of_range", "seed"),
        ({"name": "R", "reviewers_per_question": 2}, "too_few_reviewers", "needs 2 different reviewers"),
    ]
    for fields, code, reason in wrong:
        with refuses(ReviewRefused, code, match=reason):
            create_round(plan, reviewers=[rita, rita], actor=cora, at=noon, **fields)
    assert not ReviewRound.objects.exists()


@pytest.fixture
def conflict(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Pairs of (person, question) that another app forbids."""
    pairs: list[tuple[int, int]] = []

    def rule(people: Collection[int], questions: Collection[int]) -> Iterator[Conflict]:
        for person, question in pairs:
            if person in people and question in questions:
                yield Conflict(person, question, "Reads it in a study.")

    contribute(monkeypatch, question_rules=(rule,))
    return pairs


def test_a_veto_is_heard(
    plan: SamplingPlan, cora: User, rita: User, remo: User, noon: datetime, conflict: list[tuple[int, int]]
) -> None:
    questions = list(plan.questions.values_list("revision__question_id", flat=True))
    conflict += [(rita.pk, question) for question in questions[:3]]
    made = create_round(plan, name="R", reviewers=[rita, remo], actor=cora, at=noon)
    had = set(made.assignments.filter(reviewer=rita).values_list("revision__question_id", flat=True))
    assert not had & set(questions[:3])
    with refuses(
        ReviewRefused, "too_few_reviewers", match=r"only 1 of these reviewers, and needs 2. Reads it in a study."
    ):
        create_round(plan, name="S", reviewers=[rita, remo], reviewers_per_question=2, actor=cora, at=noon)
    first = Assignment.objects.filter(round=made, reviewer=remo, revision__question_id=questions[0]).get()
    open_round(made, actor=cora, at=noon)
    with refuses(ReviewRefused, "cannot_take", match=r"Reads it in a study\."):
        reassign(made, [first.public_id], to=rita, actor=cora, at=noon)


def test_a_draft_waits_for_its_people(plan: SamplingPlan, cora: User, rita: User, remo: User, noon: datetime) -> None:
    made = create_round(plan, name="R", reviewers=[], actor=cora, at=noon)
    with refuses(ReviewRefused, "not_assigned", match="No question is assigned"):
        open_round(made, actor=cora, at=noon)
    assert assign_round(made, [rita], actor=cora, at=noon) == 12
    assert add_reviewer(made, remo, actor=cora, at=noon) == 6
    assert remove_reviewer(made, rita, actor=cora, at=noon) == 6
    assert len(theirs(remo)) == 12
    assert not Membership.objects.filter(round=made, user=rita).exists()
    open_round(made, actor=cora, at=noon)
    assert (made.state, made.opened_at) == (RoundState.OPEN, noon)
    with refuses(ReviewRefused, "not_draft", match="The round is open: add, remove or reassign"):
        assign_round(made, [rita], actor=cora, at=noon)


def test_a_round_does_not_open_for_somebody_who_cannot_log_in(
    plan: SamplingPlan, cora: User, rita: User, noon: datetime
) -> None:
    made = create_round(plan, name="R", reviewers=[rita], actor=cora, at=noon)
    User.objects.filter(pk=rita.pk).update(is_active=False)
    with refuses(ReviewRefused, "cannot_log_in", match="Rita cannot log in"):
        open_round(made, actor=cora, at=noon)


@pytest.mark.logs("round.reviewer_added")
def test_a_newcomer_takes_over_what_nobody_has_opened(
    opened: ReviewRound, cora: User, rita: User, remo: User, mia: User, noon: datetime
) -> None:
    begun = theirs(rita)[0]
    Assignment.objects.filter(pk=begun.pk).update(opened_at=noon)
    say(theirs(rita)[1])
    assert add_reviewer(opened, mia, actor=cora, at=noon) == 3  # of 10 that wait unopened
    taken = theirs(mia)
    assert all(one.reassigned_from and one.reassigned_from.state == AssignmentState.WITHDRAWN for one in taken)
    assert {theirs(rita)[0].pk} == {begun.pk}
    assert len(theirs(rita)) + len(theirs(remo)) + len(taken) == 12
    with refuses(ReviewRefused, "already_reviews", match="already"):
        add_reviewer(opened, mia, actor=cora, at=noon)


@pytest.mark.logs("round.reviewer_removed")
def test_who_leaves_keeps_what_they_submitted(
    opened: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    kept = theirs(rita)[0]
    say(kept)
    assert remove_reviewer(opened, rita, actor=cora, at=noon) == 5
    assert [one.pk for one in theirs(rita)] == [kept.pk]
    assert Review.objects.filter(assignment=kept).exists()
    assert len(theirs(remo)) == 11
    assert [one.position for one in theirs(remo)] == list(range(1, 12))


def test_nobody_leaves_when_nobody_can_take_over(
    plan: SamplingPlan, cora: User, rita: User, remo: User, mia: User, noon: datetime
) -> None:
    made = make_open(plan, rita, remo, name="R", actor=cora, reviewers_per_question=2)
    with refuses(ReviewRefused, "cannot_take", match="cannot go to any of the other reviewers"):
        remove_reviewer(made, rita, actor=cora, at=noon)
    assert len(theirs(rita)) == 12
    assert remove_reviewer(made, rita, to=mia, actor=cora, at=noon) == 12
    assert (len(theirs(rita)), len(theirs(mia))) == (0, 12)
    assert Membership.objects.filter(round=made, user=mia, role=Role.REVIEWER).exists()


def test_reassigning_goes_all_or_nothing(
    opened: ReviewRound, cora: User, rita: User, remo: User, mia: User, noon: datetime
) -> None:
    first, second, done = theirs(rita)[:3]
    say(done)
    with refuses(ReviewRefused, "no_longer_open", match="no longer open"):
        reassign(opened, [first.public_id, done.public_id], to=mia, actor=cora, at=noon)
    assert not theirs(mia)
    assert reassign(opened, [first.public_id, second.public_id], to=mia, actor=cora, at=noon) == 2
    back = [one.public_id for one in theirs(mia)]
    assert reassign(opened, back[:1], to=rita, actor=cora, at=noon) == 1  # never opened it: may have it back
    Assignment.objects.filter(pk=second.pk).update(opened_at=noon)
    with refuses(ReviewRefused, "cannot_take", match="Rita has it, or had it"):
        reassign(opened, back[1:], to=rita, actor=cora, at=noon)


def test_closing_asks_when_something_is_open(opened: ReviewRound, cora: User, rita: User, noon: datetime) -> None:
    with refuses(ReviewRefused, "not_complete") as refusal:
        close_round(opened, actor=cora, at=noon)
    assert refusal.value.facts["n_open"] == 12
    say(theirs(rita)[0])
    with refuses(ReviewRefused, "not_complete"):  # another number than the one agreed to
        close_round(opened, actor=cora, at=noon, confirmed_open=12)
    close_round(opened, actor=cora, at=noon, confirmed_open=11)
    assert (opened.state, opened.closed_at, count_open(opened)) == (RoundState.CLOSED, noon, 11)
    close_round(opened, actor=cora, at=noon)
    with refuses(ReviewRefused, "wrong_state"):
        open_round(opened, actor=cora, at=noon)
    with refuses(ReviewRefused, "round_closed"):
        add_reviewer(opened, rita, actor=cora, at=noon)


def test_archiving_and_deleting(opened: ReviewRound, cora: User, ada: User, rita: User, noon: datetime) -> None:
    with refuses(ReviewRefused, "round_open", match="close it"):
        archive_round(opened, actor=cora, at=noon)
    answered = theirs(rita)[0]
    review = say(answered)
    with refuses(BinRefused, "in_use", match="answered"):
        move_to_bin(opened, actor=ada, at=noon)
    review.delete()
    answered.blind_answer.delete()
    move_to_bin(opened, actor=ada, at=noon)
    assert not ReviewRound.objects.exists()
    empty_bin(noon + timedelta(days=30))
    assert not Assignment.objects.exists()


def test_who_left_can_come_back_and_gets_nothing_before(
    opened: ReviewRound, cora: User, rita: User, remo: User, mia: User, noon: datetime
) -> None:
    say(theirs(rita)[0])
    remove_reviewer(opened, rita, actor=cora, at=noon)
    add_reviewer(opened, mia, actor=cora, at=noon)
    remove_reviewer(opened, mia, actor=cora, at=noon)
    assert len(theirs(rita)) == 1  # what Mia left went to Remo alone
    assert add_reviewer(opened, rita, actor=cora, at=noon) == 5


@pytest.fixture
def draft(db: None, cora: User, rita: User, noon: datetime) -> ReviewRound:
    """Twelve questions on four exams."""
    return create_round(make_sample(12), name="Round", reviewers=[rita], actor=cora, at=noon)


def of_question(number: int) -> Image:
    return Image.objects.filter(exam__questions__number=number)[0]


def test_no_round_opens_when_every_image_is_missing(draft: ReviewRound, cora: User, noon: datetime) -> None:
    Image.objects.update(state=ImageState.PENDING)
    for reason in ("", "we hurry"):
        with refuses(ReviewRefused, "images_missing", match="12 of 12 questions lack an image .*: 1, 2, 3"):
            open_round(draft, actor=cora, at=noon, without_images=reason)
    assert ReviewRound.objects.get().state == RoundState.DRAFT


def test_with_some_missing_it_opens_with_a_reason_that_is_logged(draft: ReviewRound, cora: User) -> None:
    Image.objects.filter(pk=of_question(4).pk).update(state=ImageState.PENDING)
    client = Client()
    client.force_login(cora)
    page = client.get(reverse("round", args=[draft.slug])).content.decode()
    assert "3 of 12 questions lack an image that may be shown (missing or not released): 4, 5, 6." in page
    assert ">Open the round<" not in page
    client.post(reverse("round-open", args=[draft.slug]))
    assert ReviewRound.objects.get().state == RoundState.DRAFT
    client.post(reverse("round-open", args=[draft.slug]), {"without_images": "the lateral is enough"})
    assert ReviewRound.objects.get().state == RoundState.OPEN
    facts = AuditEvent.objects.get(act="round.opened").facts
    assert facts == {"n_without_images": 3, "reason": "the lateral is enough"}


def test_a_question_that_lost_an_image_is_named_and_not_drawn(
    draft: ReviewRound, cora: User, dina: User, noon: datetime
) -> None:
    image = of_question(4)
    quarantine_image(image, reason="a name", actor=dina, at=noon)
    bank = draft.plan.bank
    seen = preview_sample(bank, by=StratifyBy.NONE, per_thousand=1000, seed=1)
    assert [(one.number, one.why) for one in seen.lost] == [(n, "PA in quarantine: a name") for n in (4, 5, 6)]
    assert {one.number for one in seen.drawn} == {1, 2, 3, 7, 8, 9, 10, 11, 12}
    image.refresh_from_db()
    remove(image, reason="a name at the edge", actor=dina, at=noon)
    client = Client()
    client.force_login(cora)
    asked = {"bank": bank.slug, "by": "none", "per_thousand": "1000", "seed": "1"}
    page = client.get(reverse("sample-new"), asked).content.decode()
    assert "3 questions lost an image and are not drawn" in page
    assert "PA removed: a name at the edge" in page
    Image.objects.update(state=ImageState.REMOVED)
    with refuses(SampleRefused, "images_lost", match="has lost an image"):
        preview_sample(bank, by=StratifyBy.NONE, per_thousand=1000, seed=1)
