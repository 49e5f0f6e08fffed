"""Adjudication of a round: begun, its questions taken one by one, each decided with a reason.

An adjudicator first answers and judges a question in the form of the reviewers, in the row of ReviewRound that
``adjudicates`` the round. Then the reviews are shown, and the own review is final.

The reviews of one question side by side, without names, beside the adjudicator's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import (
    AssignmentState,
    BindingVerdict,
    Degree,
    Difficulty,
    Disagreement,
    Flag,
    GradeName,
    QuestionState,
    Role,
    RoundState,
    RoundSteps,
    Verdict,
    Word,
)
from annotation.models import Assignment, BlindAnswer, Membership, Review, ReviewRound, Revision, Settlement, User
from annotation.models.fields import AsRead
from annotation.people.roles import grant
from annotation.questionbank.editing import revise
from annotation.questionbank.importing import move_questions
from annotation.questionbank.kernels.wording import Wording
from annotation.review.assigning import ineligible, lock_round, sentences
from annotation.review.ending import disputed
from annotation.review.kernels.transitions import GONE, UNFINISHED, ReviewRefused, RoundAct, RoundFacts, why_not
from annotation.review.kernels.visibility import Onlooker, OthersPart, visible_of_others
from annotation.review.outcomes import newest_reviews
from annotation.review.viewing import viewing_of
from annotation.site.permissions import is_adjudicator
from annotation.site.sentences import free_slug

REASON_LIMIT = 5000
OUTCOMES = {
    BindingVerdict.ACCEPT: QuestionState.ACCEPTED,
    BindingVerdict.REVISE: QuestionState.NEEDS_REVISION,
    BindingVerdict.REJECT: QuestionState.REJECTED,
}


def adjudicators_of(review_round: ReviewRound) -> QuerySet[User]:
    members = Membership.objects.filter(round=review_round, role=Role.ADJUDICATOR)
    return User.objects.filter(pk__in=members.values("user")).order_by(AsRead("name"), "email")


def facts_of(review_round: ReviewRound) -> RoundFacts:
    """What annotation.review.kernels.transitions asks of a round."""
    return RoundFacts(
        state=review_round.state,
        n_disputed=disputed(review_round).count(),
        n_adjudicators=adjudicators_of(review_round).filter(is_active=True).count(),
    )


def name_adjudicator(review_round: ReviewRound, person: User, *, actor: User, at: datetime) -> None:
    """Give the role in this round. Raises ReviewRefused for a closed round, PeopleRefused for one's own role."""
    if review_round.state == RoundState.CLOSED:
        raise ReviewRefused("round_closed", _("The round is closed: nothing is decided in it any more."))
    grant(person, Role.ADJUDICATOR, review_round=review_round, actor=actor, at=at)


@transaction.atomic
def name_adjudicator_and_begin(review_round: ReviewRound, person: User, *, actor: User, at: datetime) -> None:
    """Both, or neither. Raises as each of them."""
    name_adjudicator(review_round, person, actor=actor, at=at)
    begin_adjudication(review_round, actor=actor, at=at)


@transaction.atomic
def begin_adjudication(review_round: ReviewRound, *, actor: User, at: datetime) -> None:
    """From now on the adjudicators of the round see what is not settled. Raises ReviewRefused as the policy says."""
    lock_round(review_round)
    if refusal := why_not(RoundAct.ADJUDICATE, facts_of(review_round)):
        raise refusal
    ReviewRound.everywhere.create(
        name=_("Adjudication of %(name)s") % {"name": review_round.name[:170]},
        slug=free_slug(f"adjudication {review_round.pk}", among=ReviewRound.everywhere.all(), otherwise="adjudication"),
        plan_id=review_round.plan_id,
        state=RoundState.OPEN,
        steps=RoundSteps.FULL,
        instructions=review_round.instructions,
        **viewing_of(review_round).as_columns(),
        simulated=review_round.simulated,
        adjudicates=review_round,
        created_by=actor,
        created_at=at,
        opened_at=at,
    )
    review_round.state = RoundState.ADJUDICATION
    review_round.save(update_fields=["state"])
    facts = {"n_disputed": disputed(review_round).count()}
    record("round.adjudication_begun", actor=actor, at=at, subject=review_round, facts=facts)


@transaction.atomic
def take_next(review_round: ReviewRound, adjudicator: User, *, at: datetime) -> Assignment | None:
    """The question that this adjudicator has begun, else the next one that nobody has and that they may judge.

    None when there is no such question. Whoever asks at the same time gets another one: the round is locked. Raises
    ReviewRefused for anybody else, and while the round is not in adjudication.
    """
    lock_round(review_round)
    check_adjudicates(review_round, adjudicator)
    mine = Assignment.objects.filter(round__adjudicates=review_round, reviewer=adjudicator)
    begun = mine.filter(state__in=UNFINISHED).order_by("position").first()
    if begun is not None:
        return begun
    not_theirs = {one.pk for one, _why in barred(review_round, adjudicator)}
    found = next((one for one in free(review_round) if one.pk not in not_theirs), None)
    if found is None:
        return None
    position = (mine.aggregate(last=Max("position"))["last"] or 0) + 1
    assignment = Assignment.objects.create(
        round=ReviewRound.everywhere.get(adjudicates=review_round),
        reviewer=adjudicator,
        revision_id=found.revision_id,
        position=position,
    )
    found.assignment = assignment
    found.save(update_fields=["assignment"])
    record("adjudication.taken", actor=adjudicator, at=at, subject=found, facts={"round": review_round.slug})
    return assignment


def free(review_round: ReviewRound) -> QuerySet[Settlement]:
    """What no adjudicator has: never taken, or handed back."""
    nobody = Q(assignment=None) | Q(assignment__state__in=GONE)
    return disputed(review_round).filter(nobody).select_related("revision__question")


def barred(review_round: ReviewRound, adjudicator: User) -> list[tuple[Settlement, str]]:
    """Free questions that this person must not judge, each with the reason.

    Nobody adjudicates what they reviewed, wrote or imported, nor what shows a patient whom they know.
    """
    waiting = list(free(review_round))
    number_of = {one.revision.question_id: one.revision.question.number for one in waiting}
    conflicts = ineligible([adjudicator], number_of, RoundSteps.FULL, None)
    own = set(
        Assignment.objects.filter(round=review_round, reviewer=adjudicator)
        .exclude(state=AssignmentState.WITHDRAWN)
        .values_list("revision_id", flat=True)
    )
    found = []
    for one in waiting:
        why = set(conflicts.get((0, one.revision.question.number), ()))
        if one.revision_id in own:
            why.add(_("%(name)s reviews it in this round.") % {"name": adjudicator.name})
        if why:
            found.append((one, sentences([why])))
    return found


def check_adjudicates(review_round: ReviewRound, person: User) -> None:
    """Raises ReviewRefused unless the round is in adjudication and this person adjudicates it."""
    if not is_adjudicator(person, review_round):
        raise ReviewRefused("not_an_adjudicator", _("This is for the adjudicators of the round."), status=403)
    if review_round.state != RoundState.ADJUDICATION:
        raise ReviewRefused("not_in_adjudication", _("The round is not in adjudication."))


@transaction.atomic
def show_reviews(settlement: Settlement, *, actor: User, at: datetime) -> Settlement:
    """The reviews of the question as its adjudicator may see them from now on; the first time is noted.

    Raises ReviewRefused until the own review is submitted, and for anybody but its adjudicator.
    """
    locked = _lock_own(settlement, actor)
    if locked.shown_at is None:
        locked.shown_at = at
        locked.save(update_fields=["shown_at"])
        record("adjudication.reviews_shown", actor=actor, at=at, subject=locked)
    return locked


@transaction.atomic
def decide(settlement: Settlement, decision: str, reason: str, *, actor: User, at: datetime) -> Settlement:
    """The binding verdict on a question, with its reason. The same decision again changes nothing.

    Raises ReviewRefused for one that is decided otherwise, without a choice or a reason, and as show_reviews does.
    """
    text = reason.replace("\x00", "").replace("\r\n", "\n").strip()
    if decision not in BindingVerdict.values():
        raise ReviewRefused("no_decision", _("Choose a decision."), status=422, field="decision")
    if not text or len(text) > REASON_LIMIT:
        raise ReviewRefused("no_reason", _("Give a reason, of at most 5,000 characters."), status=422, field="reason")
    locked = _lock_own(settlement, actor)
    if locked.decision:
        if (locked.decision, locked.reason) == (decision, text):
            return locked
        raise ReviewRefused("decided", _("This question is decided: its decision stays."))
    if locked.shown_at is None:
        raise _not_read()
    locked.decision, locked.reason, locked.decided_at = decision, text, at
    locked.outcome = OUTCOMES[BindingVerdict(decision)]
    locked.against_all = decision not in verdicts_on(locked)
    locked.save(update_fields=["decision", "reason", "decided_at", "outcome", "against_all"])
    move_questions([locked.revision_id], QuestionState(locked.outcome))
    facts = {"decision": decision, "against_all": locked.against_all}
    record("adjudication.decided", actor=actor, at=at, subject=locked, facts=facts)
    return locked


@transaction.atomic
def revise_in_place(
    settlement: Settlement, wording: Wording, reason: str, *, based_on: int, actor: User, at: datetime
) -> Revision:
    """The adjudicator's own wording of a question that needs revision; decides so where nothing is decided yet.

    Raises ReviewRefused as check_revisable and decide do, and BankRefused as revise does.
    """
    locked = check_revisable(settlement, actor)
    if not locked.decision:
        locked = decide(locked, BindingVerdict.REVISE, reason, actor=actor, at=at)
    question = locked.revision.question
    return revise(question, wording, reason, based_on=based_on, actor=actor, at=at, settlement=locked)


@transaction.atomic
def check_revisable(settlement: Settlement, person: User) -> Settlement:
    """Raises ReviewRefused for anybody but its adjudicator, before the reviews are read, and after another decision."""
    locked = _lock_own(settlement, person)
    if locked.shown_at is None:
        raise _not_read()
    if locked.decision not in ("", BindingVerdict.REVISE):
        raise ReviewRefused("decided", _("This question is decided: its decision stays."))
    return locked


def _not_read() -> ReviewRefused:
    return ReviewRefused("reviews_not_seen", _("Read the reviews of this question first."))


def verdicts_on(settlement: Settlement) -> Sequence[str]:
    """The final answers of the reviewers of the round."""
    rows = newest_reviews(settlement.round).filter(assignment__revision=settlement.revision_id)
    return list(rows.order_by("assignment__reviewer").values_list("verdict", flat=True))


def _lock_own(settlement: Settlement, person: User) -> Settlement:
    """The settlement as stored now, locked until the transaction ends, with what it belongs to."""
    locked = Settlement.objects.select_for_update(of=("self",)).select_related("round").get(pk=settlement.pk)
    check_adjudicates(locked.round, person)
    own = locked.assignment
    if own is None or own.reviewer_id != person.pk:
        raise ReviewRefused("not_the_adjudicator", _("Another adjudicator has this question."), status=403)
    is_final = own.state == AssignmentState.SUBMITTED
    onlooker = Onlooker(coordinates=False, reviews=False, adjudicates=True, is_closed=False, own_final=is_final)
    if OthersPart.REVIEWS not in visible_of_others(onlooker):
        sentence = _("Answer and judge this question yourself first; then the reviews are shown.")
        raise ReviewRefused("own_review_first", sentence)
    return locked


# --- The reviews of one question side by side, without names, beside the adjudicator's ------------
class Line(Struct, frozen=True):
    """What each review says to one field of the form; the first cell is the adjudicator's own."""

    label: str
    cells: list[str]
    is_text: bool = False

    @property
    def differs(self) -> bool:
        """Whether the marked answers differ; texts always do."""
        return not self.is_text and len(set(self.cells)) > 1


class Comparison(Struct, frozen=True):
    n_reviews: int
    lines: list[Line]


def compare(settlement: Settlement) -> Comparison:
    """The adjudicator's newest version, then those of the round in an order that says nothing about who wrote them.

    The caller has seen to it that the adjudicator's own review is submitted.
    """
    of_round = newest_reviews(settlement.round).filter(assignment__revision=settlement.revision_id)
    reviews = list(of_round.select_related("assignment__blind_answer").order_by("assignment__public_id"))
    own = Review.objects.filter(assignment=settlement.assignment_id).select_related("assignment__blind_answer")
    return Comparison(len(reviews), _lines([own.latest("version"), *reviews]))


def _lines(reviews: Sequence[Review]) -> list[Line]:
    answers: list[BlindAnswer | None] = [getattr(one.assignment, "blind_answer", None) for one in reviews]

    def of_answers(label: str, cell: Callable[[BlindAnswer], str]) -> Line:
        return Line(label, [cell(one) if one is not None else _("not asked") for one in answers])

    def of_reviews(label: str, cell: Callable[[Review], str], *, is_text: bool = False) -> Line:
        return Line(label, [cell(one) for one in reviews], is_text)

    asked = [name for name in GradeName if any(name in one.grades for one in reviews)]
    lines = [
        of_answers(_("Blind answer"), lambda one: one.best or _("none")),
        of_answers(_("Acceptable"), lambda one: ", ".join(one.defensible) or _("none")),
        of_answers(_("Difficulty"), lambda one: _label(Difficulty, one.difficulty)),
        of_reviews(_("Verdict"), lambda one: _label(Verdict, one.verdict)),
        of_reviews(_("Flags"), lambda one: "; ".join(_label(Flag, flag) for flag in one.flags) or _("none")),
        *(of_reviews(_(name.label), lambda one, name=name: _grade(one, name)) for name in asked),  # type: ignore[misc]
        of_reviews(_("Needs the image"), lambda one: _label(Degree, one.needs_image)),
        of_reviews(_("Clinically relevant"), lambda one: _label(Degree, one.relevant)),
        of_reviews(_("On the key"), lambda one: _label(Disagreement, one.disagreement) or "–"),
        of_reviews(_("Category"), lambda one: one.category or _("as it is")),
        of_reviews(_("Reasoning"), lambda one: one.reasoning, is_text=True),
        of_reviews(_("Comment"), lambda one: one.comment, is_text=True),
        of_reviews(_("Cannot judge because"), lambda one: one.verdict_reason, is_text=True),
    ]
    return [line for line in lines if any(line.cells)]


def _label(words: type[Word], value: str) -> str:
    return next((_(word.label) for word in words if word == value and word.label), value)


def _grade(review: Review, name: GradeName) -> str:
    grade = review.grades.get(name)
    if grade is None:
        return ""  # its form did not ask for it, or an imported review has none
    return str(grade) if isinstance(grade, int) else _("cannot judge")
