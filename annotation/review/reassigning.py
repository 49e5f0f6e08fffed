"""Questions that change hands: a reviewer comes, leaves or hands some on. Nothing is deleted in an open round."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import FINAL_STATES, AssignmentState, Role, RoundState
from annotation.models import Assignment, Membership, ReviewRound, User
from annotation.review.assigning import (
    BATCH,
    assign_round,
    assigned_now,
    check_may_log_in,
    ineligible,
    listed,
    lock_round,
    make_reviewer,
    numbers_drawn,
    outside_competences,
    reviewers_of,
    sentences,
)
from annotation.review.kernels.allotment import hand_out, share_for_newcomer
from annotation.review.kernels.transitions import UNREVIEWED, ReviewAct, ReviewRefused, state_after
from annotation.review.samples import place_repeats, withdraw_repeats


@transaction.atomic
def add_reviewer(review_round: ReviewRound, person: User, *, actor: User, at: datetime) -> int:
    """One more reviewer: a draft is assigned anew; in an open round they take over an equal share of what waits.

    Returns how many questions the person has now. Questions that somebody has begun, skipped or submitted stay where
    they are. Raises ReviewRefused for a closed round, for somebody who reviews in it already, and as assign_round does.
    """
    lock_round(review_round)
    _check_not_closed(review_round)
    check_may_log_in(person)
    present = reviewers_of(review_round)
    if person in present and assigned_now(review_round).filter(reviewer=person).exists():
        raise ReviewRefused("already_reviews", _("%(name)s reviews in this round already.") % {"name": person})
    if review_round.state == RoundState.DRAFT:
        assign_round(review_round, [*present, person], actor=actor, at=at)
        return Assignment.objects.filter(round=review_round, reviewer=person).count()
    make_reviewer(review_round, person, actor=actor, at=at)
    waiting = list(
        _open_rows(review_round).filter(state=AssignmentState.WAITING, opened_at__isnull=True).order_by("pk")
    )
    places = {pk: index for index, pk in enumerate(sorted({row.reviewer_id for row in waiting}))}
    pairs = [(places[row.reviewer_id], row.revision.question.number) for row in waiting]
    conflicting = _conflicting(review_round, person)
    moving = [waiting[index] for index in share_for_newcomer(pairs, conflicting, review_round.seed)]
    _hand_over(review_round, [(row, person) for row in moving])
    record("round.reviewer_added", actor=actor, at=at, subject=review_round, facts=_moved(person, moving))
    return len(moving)


@transaction.atomic
def remove_reviewer(
    review_round: ReviewRound, person: User, *, actor: User, at: datetime, to: User | None = None
) -> int:
    """Take a reviewer out; what they submitted stays, what they left open goes to ``to`` or evenly to the others.

    A draft is assigned anew without them. Returns how many questions changed hands. Raises ReviewRefused for a closed
    round, for somebody who does not review in it, and when nobody may take one of the questions.
    """
    lock_round(review_round)
    _check_not_closed(review_round)
    present = reviewers_of(review_round)
    if person.pk not in {one.pk for one in present}:
        raise ReviewRefused("no_reviewer", _("%(name)s does not review in this round.") % {"name": person})
    others = [one for one in present if one.pk != person.pk]
    n_theirs = assigned_now(review_round).filter(reviewer=person).count()
    if review_round.state == RoundState.DRAFT and n_theirs:
        assign_round(review_round, [*others, to] if to else others, actor=actor, at=at)
        return n_theirs
    rows = list(_open_rows(review_round).filter(reviewer=person))
    if to is not None:
        _check_takes(review_round, to, rows)
        takers = dict.fromkeys((row.pk for row in rows), to)
    else:
        takers = _spread(review_round, rows, [one for one in others if one.is_active])
    for one in {taker.pk: taker for taker in takers.values()}.values():
        make_reviewer(review_round, one, actor=actor, at=at)
    _hand_over(review_round, [(row, takers[row.pk]) for row in rows])
    Membership.objects.filter(user=person, round=review_round, role=Role.REVIEWER).delete()
    record("round.reviewer_removed", actor=actor, at=at, subject=review_round, facts=_moved(person, rows))
    return len(rows)


@transaction.atomic
def reassign(review_round: ReviewRound, assignments: Collection[str], *, to: User, actor: User, at: datetime) -> int:
    """Give open assignments, named by their public ids, to another person; returns how many went.

    Raises ReviewRefused when one of them is not open in this round, when the person has the question already or must
    not see it; then none goes.
    """
    lock_round(review_round)
    _check_not_closed(review_round)
    rows = list(_open_rows(review_round).filter(public_id__in=assignments))
    if len(rows) != len(set(assignments)):
        raise ReviewRefused("no_longer_open", _("Some of these questions are no longer open; look at the list again."))
    _check_takes(review_round, to, rows)
    make_reviewer(review_round, to, actor=actor, at=at)
    _hand_over(review_round, [(row, to) for row in rows])
    record("round.reassigned", actor=actor, at=at, subject=review_round, facts=_moved(to, rows))
    return len(rows)


class Handover(Struct, frozen=True):
    """What of the open questions of one reviewer another person may take."""

    n_open: int
    names: tuple[str, ...]  # public ids of the assignments that can go
    n_begun: int  # of these, opened by the reviewer who has them now
    stay: tuple[int, ...]  # numbers of the questions that the person cannot be given
    reasons: str  # why, as sentences


def handover_of(review_round: ReviewRound, person: User, *, to: User) -> Handover:
    """Raises ReviewRefused for a closed round and for a person who cannot log in."""
    _check_not_closed(review_round)
    check_may_log_in(to)
    rows = open_rows(review_round).filter(reviewer=person)
    conflicting = _conflicting(review_round, to)
    going = [row for row in rows if row.revision.question.number not in conflicting]
    stay = sorted({row.revision.question.number for row in rows} & set(conflicting))
    return Handover(
        n_open=len(rows),
        names=tuple(row.public_id for row in going),
        n_begun=sum(row.opened_at is not None for row in going),
        stay=tuple(stay),
        reasons=sentences(conflicting[number] for number in stay),
    )


@transaction.atomic
def reassign_all(
    review_round: ReviewRound, person: User, *, to: User, confirmed: int | None, actor: User, at: datetime
) -> Handover:
    """Give another person every open question of a reviewer that this person may have; the others stay.

    ``confirmed`` is the number of questions that the coordinator agreed to give, None: not asked yet. Raises
    ReviewRefused as reassign does, and with the ``handover`` when another number can go by now.
    """
    lock_round(review_round)
    handover = handover_of(review_round, person, to=to)
    if len(handover.names) != confirmed:
        raise ReviewRefused("handover_changed", handover=handover)
    reassign(review_round, handover.names, to=to, actor=actor, at=at)
    return handover


def _check_not_closed(review_round: ReviewRound) -> None:
    if review_round.state in FINAL_STATES:
        raise ReviewRefused("round_closed", _("The reviews of the round are final; its reviewers stay as they are."))


def open_rows(review_round: ReviewRound) -> QuerySet[Assignment]:
    """What the round still lacks and can change hands, in the order of each reviewer."""
    rows = Assignment.objects.filter(round=review_round, state__in=UNREVIEWED, repeats=None)
    return rows.select_related("revision__question").order_by("position")


def _open_rows(review_round: ReviewRound) -> QuerySet[Assignment]:
    return open_rows(review_round).select_for_update(of=("self",))


def _numbers_had(review_round: ReviewRound, person: User) -> set[int]:
    """Numbers of the questions that the person has in this round, or had and opened: nobody is blind twice."""
    rows = Assignment.objects.filter(round=review_round, reviewer=person)
    rows = rows.exclude(state=AssignmentState.WITHDRAWN, opened_at__isnull=True)
    return set(rows.values_list("revision__question__number", flat=True))


def _conflicting(review_round: ReviewRound, person: User) -> dict[int, set[str]]:
    """Numbers of the questions that the person cannot be given, with the reasons."""
    found = ineligible([person], numbers_drawn(review_round.plan_id), review_round.steps, review_round)
    conflicting = {number: why for (_index, number), why in found.items()}
    for (_index, number), why in outside_competences([person], review_round.plan_id).items():
        conflicting.setdefault(number, set()).update(why)
    had = _("%(name)s has it, or had it, in this round.") % {"name": person}
    return conflicting | {number: {had} for number in _numbers_had(review_round, person)}


def _check_takes(review_round: ReviewRound, to: User, rows: Sequence[Assignment]) -> None:
    check_may_log_in(to)
    conflicting = _conflicting(review_round, to)
    numbers = sorted({row.revision.question.number for row in rows} & set(conflicting))
    if numbers:
        raise ReviewRefused(
            "cannot_take",
            ngettext(
                "Question %(numbers)s cannot go to %(name)s: name somebody else for it. %(reasons)s",
                "Questions %(numbers)s cannot go to %(name)s: name somebody else for them. %(reasons)s",
                len(numbers),
            )
            % {"name": to, "numbers": listed(numbers), "reasons": sentences(conflicting[number] for number in numbers)},
        )


def _spread(review_round: ReviewRound, rows: Sequence[Assignment], others: Sequence[User]) -> dict[int, User]:
    """Who takes which assignment (its pk): whoever may have the question and has least, done and to do together."""
    conflicting = [_conflicting(review_round, person) for person in others]
    loads = [assigned_now(review_round).filter(reviewer=person, repeats=None).count() for person in others]
    numbers = [row.revision.question.number for row in rows]
    possible = {n: [index for index, cannot in enumerate(conflicting) if n not in cannot] for n in numbers}
    if stuck := sorted(n for n in numbers if not possible[n]):
        raise ReviewRefused(
            "cannot_take",
            ngettext(
                "Question %(numbers)s cannot go to any of the other reviewers: add a reviewer first. %(reasons)s",
                "Questions %(numbers)s cannot go to any of the other reviewers: add a reviewer first. %(reasons)s",
                len(stuck),
            )
            % {
                "numbers": listed(stuck),
                "reasons": sentences(cannot.get(number, set()) for cannot in conflicting for number in stuck),
            },
        )
    given = hand_out(numbers, possible, loads, review_round.seed)
    return {row.pk: others[given[row.revision.question.number]] for row in rows}


def _hand_over(review_round: ReviewRound, moves: Sequence[tuple[Assignment, User]]) -> None:
    give_questions(review_round, [(old.revision_id, person, old) for old, person in moves])
    place_repeats(review_round, {person.pk for _old, person in moves})


def give_questions(
    review_round: ReviewRound, moves: Sequence[tuple[int, User, Assignment | None]], **columns: Any
) -> list[Assignment]:
    """Give each wording to somebody, at the end of their order; the assignment that they take over is withdrawn."""
    last = dict(
        Assignment.objects.filter(round=review_round).order_by().values_list("reviewer").annotate(Max("position"))
    )
    fresh: list[Assignment] = []
    for revision_id, person, old in moves:
        last[person.pk] = last.get(person.pk, 0) + 1
        fresh.append(
            Assignment(
                round=review_round,
                reviewer=person,
                revision_id=revision_id,
                position=last[person.pk],
                reassigned_from=old,
                **columns,
            )
        )
    withdrawn = [old for _revision, _person, old in moves if old is not None]
    for old in withdrawn:
        old.state = state_after(old.state, ReviewAct.WITHDRAW, steps=review_round.steps)
    Assignment.objects.bulk_update(withdrawn, ["state"], batch_size=BATCH)
    stored = Assignment.objects.bulk_create(fresh, batch_size=BATCH)
    withdraw_repeats(review_round)
    return stored


def _moved(person: User, rows: Sequence[Assignment]) -> dict[str, int]:
    return {"person": person.pk, "assignments": len(rows)}
