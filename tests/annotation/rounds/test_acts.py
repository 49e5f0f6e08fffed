"""Rounds made, opened, handed on, closed and put away.

A round is not opened in silence while its questions wait for images, and a sample leaves out what lost one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotation.audit.deleting import BinRefused, empty_bin, move_to_bin
from annotation.contributions import Conflict
from annotation.enums import AssignmentState, ImageState, Role, RoundState, RoundSteps
from annotation.ingest.quarantine import quarantine_image, remove
from annotation.models import Assignment, AuditEvent, Image, Membership, Review, ReviewRound, SamplingPlan, User
from annotation.review.assigning import assign_round
from annotation.review.ending import close_round, count_open
from annotation.review.kernels.allotment import Item, allot, hand_out, in_order, share_for_newcomer, too_few_for
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


# --- who gets which question: balanced, different people for each, mates apart, by the seed ---
SEEDS = st.integers(0, 2**63 - 1)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[list[Item], int, int]:
    exams = draw(st.dictionaries(st.integers(1, 999), st.integers(1, 12), min_size=1, max_size=60))
    n_reviewers = draw(st.integers(1, 7))
    return [Item(number, exam) for number, exam in exams.items()], n_reviewers, draw(st.integers(1, n_reviewers))


@given(rounds(), SEEDS)
def test_each_question_gets_k_reviewers_and_the_loads_are_even(made: tuple[list[Item], int, int], seed: int) -> None:
    items, n_reviewers, k = made
    orders = allot(items, n_reviewers, k, seed)
    assert Counter(number for order in orders for number in order) == {one.number: k for one in items}
    assert all(len(order) == len(set(order)) for order in orders)
    assert max(map(len, orders)) - min(map(len, orders)) <= 1


@given(rounds(), SEEDS, st.randoms(use_true_random=False))
def test_the_same_seed_allots_the_same_in_any_order_of_rows(
    made: tuple[list[Item], int, int], seed: int, shuffler: random.Random
) -> None:
    items, n_reviewers, k = made
    first = allot(items, n_reviewers, k, seed)
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    assert allot(shuffled, n_reviewers, k, seed) == first


@given(rounds(), SEEDS, st.data())
def test_what_is_forbidden_is_never_given(made: tuple[list[Item], int, int], seed: int, data: st.DataObject) -> None:
    items, n_reviewers, k = made
    pairs = [(reviewer, one.number) for reviewer in range(n_reviewers) for one in items]
    forbidden = data.draw(st.sets(st.sampled_from(pairs), max_size=len(pairs) // 3))
    short = any(sum((r, one.number) not in forbidden for r in range(n_reviewers)) < k for one in items)
    assert (too_few_for(items, n_reviewers, k, forbidden) is not None) == short
    if short:
        with pytest.raises(ValueError):
            allot(items, n_reviewers, k, seed, forbidden)
    else:
        orders = allot(items, n_reviewers, k, seed, forbidden)
        assert not {(r, number) for r, order in enumerate(orders) for number in order} & forbidden
        assert Counter(number for order in orders for number in order) == {one.number: k for one in items}


def test_mates_of_an_exam_go_to_different_people_and_all_pairs_meet() -> None:
    items = [Item(number, number // 3) for number in range(120)]
    orders = allot(items, 6, 2, seed=5)
    for exam in range(40):
        mates = {number for number in range(120) if number // 3 == exam}
        assert all(len(mates & set(order)) == 1 for order in orders)  # 3 questions x 2 = each of 6 people one
    together = [len(set(a) & set(b)) for a, b in combinations(orders, 2)]
    assert sum(together) == 120
    assert min(together) >= 5


def test_mates_stand_evenly_apart_in_one_order() -> None:
    items = [Item(number, number // 4) for number in range(80)]
    [order] = allot(items, 1, 1, seed=2)
    place = {number: index for index, number in enumerate(order)}
    for exam in range(20):
        places = sorted(place[number] for number in range(80) if number // 4 == exam)
        assert all(12 <= after - before <= 28 for before, after in pairwise(places))  # 20 on average


def test_people_have_their_own_orders() -> None:
    items = [Item(number, number) for number in range(30)]
    first, second = allot(items, 2, 2, seed=1)
    assert first != second
    assert sorted(first) == sorted(second)


def test_an_order_of_nothing_is_empty() -> None:
    assert in_order([], {}) == []


@given(st.lists(st.integers(0, 4), max_size=80), SEEDS)
def test_a_newcomer_gets_an_equal_share_from_those_who_have_most(owners: list[int], seed: int) -> None:
    waiting = list(zip(owners, range(len(owners)), strict=True))
    taken = share_for_newcomer(waiting, [], seed)
    before = Counter(owners)
    after = before - Counter(owners[index] for index in taken)
    share = len(owners) // (len(before) + 1)
    assert len(taken) == len(set(taken)) == share
    assert all(after[r] >= share for r in before if before[r] >= share)
    assert all(after[r] == before[r] for r in before if before[r] < share)


def test_a_newcomer_gets_each_question_once_and_none_that_they_hold() -> None:
    waiting = [(r, number) for r in range(2) for number in range(10)]  # both reviewers have the same ten
    taken = share_for_newcomer(waiting, [0, 1], seed=1)
    numbers = [waiting[index][1] for index in taken]
    assert len(numbers) == len(set(numbers)) == 6
    assert not {0, 1} & set(numbers)


def test_open_questions_go_to_whoever_has_least() -> None:
    given_to = hand_out([1, 2, 3, 4], {number: [0, 1] for number in (1, 2, 3, 4)}, [3, 0], seed=1)
    assert Counter(given_to.values()) == {1: 3, 0: 1}
    with pytest.raises(ValueError):
        hand_out([1], {1: []}, [0], seed=1)
