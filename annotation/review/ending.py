"""The end of a round: its reviews become final, and each question is settled by the rule or says why it is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.audit.recording import record
from annotation.enums import FINAL_STATES, Flag, GradeName, QuestionState, RoundState, Verdict
from annotation.models import AnswerKey, Assignment, Edit, ReviewRound, SampledQuestion, Settlement, User
from annotation.questionbank.importing import move_questions
from annotation.review.assigning import lock_round
from annotation.review.calibrating import uncalibrated
from annotation.review.kernels.settling import RULE, Against, Opinion, Reason, reasons_against
from annotation.review.kernels.transitions import UNFINISHED, UNREVIEWED, ReviewRefused, RoundAct, RoundFacts, why_not
from annotation.review.outcomes import newest_reviews

BATCH = 500
WORDS = {word.value: word.label for words in (Verdict, GradeName, Flag) for word in words}


@transaction.atomic
def complete_reviews(review_round: ReviewRound, *, actor: User, at: datetime, confirmed_open: int = 0) -> None:
    """End the independent reviews: they are final, and settle by the rule what they agree on.

    ``confirmed_open`` is the number of unfinished assignments that the person was shown and agreed to leave. Ending
    them twice changes nothing. Raises ReviewRefused for a draft, and with ``n_open`` when another number is unfinished.
    """
    lock_round(review_round)
    if review_round.state in FINAL_STATES:
        return
    if refusal := why_not(RoundAct.COMPLETE, _facts(review_round)):
        raise refusal
    n_open = _end_reviews(review_round, at=at, confirmed_open=confirmed_open)
    review_round.state = RoundState.COMPLETE
    review_round.save(update_fields=["state", "completed_at"])
    record("round.completed", actor=actor, at=at, subject=review_round, facts={"n_open": n_open})


@transaction.atomic
def close_round(review_round: ReviewRound, *, actor: User, at: datetime, confirmed_open: int = 0) -> None:
    """Nothing can be answered, changed or decided from now on. Closing a closed round changes nothing.

    An open round is settled by the rule first, as complete_reviews does. ``confirmed_open`` is the number of unfinished
    assignments, or of undecided questions, that the person was shown and agreed to leave. Raises ReviewRefused for a
    draft, and with ``n_open`` when another number is unfinished.
    """
    lock_round(review_round)
    if review_round.state == RoundState.CLOSED:
        return
    if refusal := why_not(RoundAct.CLOSE, _facts(review_round)):
        raise refusal
    if review_round.state == RoundState.OPEN:
        n_open = _end_reviews(review_round, at=at, confirmed_open=confirmed_open)
    else:
        n_open = disputed(review_round).count() if review_round.state == RoundState.ADJUDICATION else 0
        _check_confirmed(n_open, confirmed_open, _not_decided)
        ReviewRound.everywhere.filter(adjudicates=review_round).update(state=RoundState.CLOSED, closed_at=at)
    review_round.state = RoundState.CLOSED
    review_round.closed_at = at
    review_round.save(update_fields=["state", "completed_at", "closed_at"])
    record("round.closed", actor=actor, at=at, subject=review_round, facts={"n_open": n_open})


def _facts(review_round: ReviewRound) -> RoundFacts:
    people = uncalibrated(review_round) if review_round.state == RoundState.OPEN else []
    return RoundFacts(state=review_round.state, uncalibrated=tuple(person.name for person in people))


def _end_reviews(review_round: ReviewRound, *, at: datetime, confirmed_open: int) -> int:
    n_open = count_open(review_round)
    _check_confirmed(n_open, confirmed_open, _not_reviewed)
    review_round.completed_at = at
    ReviewRound.everywhere.filter(calibrates=review_round).update(state=RoundState.CLOSED, closed_at=at)
    settle_round(review_round, at=at)
    return n_open


def _check_confirmed(n_open: int, confirmed: int, sentence: Callable[[int], str]) -> None:
    if n_open != confirmed:
        raise ReviewRefused("not_complete", sentence(n_open) % {"n": n_open}, n_open=n_open)


def _not_reviewed(n: int) -> str:
    return ngettext(
        "%(n)s assigned question is not reviewed yet. Go on without it?",
        "%(n)s assigned questions are not reviewed yet. Go on without them?",
        n,
    )


def _not_decided(n: int) -> str:
    return ngettext(
        "%(n)s question waits for an adjudicator. Close the round without it? It stays disputed.",
        "%(n)s questions wait for an adjudicator. Close the round without them? They stay disputed.",
        n,
    )


def count_open(review_round: ReviewRound) -> int:
    """Assignments that are neither submitted nor withdrawn."""
    return Assignment.objects.filter(round=review_round, state__in=UNREVIEWED).count()


def disputed(review_round: ReviewRound) -> QuerySet[Settlement]:
    """What waits for the decision of an adjudicator, in the order of the questions."""
    rows = Settlement.objects.filter(round=review_round, outcome=QuestionState.DISPUTED)
    return rows.order_by("revision__question__number")


def sampled_revisions(review_round: ReviewRound) -> list[int]:
    """The wordings of its sample, whose states follow the round: none where it grades explanations of models."""
    if review_round.grades_explanations:
        return []
    return list(SampledQuestion.objects.filter(plan=review_round.plan_id).values_list("revision_id", flat=True))


def settle_round(review_round: ReviewRound, *, at: datetime) -> None:
    """Store what its reviews settle and why they do not settle the rest; a question without a review gets no row.

    Runs once, in the transaction of the act that ends the reviews. Explanations of models settle no question.
    """
    if review_round.grades_explanations:
        return
    opinions = _opinions(review_round)
    keys = dict(AnswerKey.objects.filter(revision__in=opinions).values_list("revision_id", "key"))
    rows = []
    for revision_id, of_one in sorted(opinions.items()):
        reasons = reasons_against(of_one, keys[revision_id], review_round.reviewers_per_question)
        outcome = QuestionState.DISPUTED if reasons else QuestionState.ACCEPTED
        rows.append(
            Settlement(
                round=review_round, revision_id=revision_id, outcome=outcome, rule=RULE, reasons=reasons, settled_at=at
            )
        )
    Settlement.objects.bulk_create(rows, batch_size=BATCH)
    for state in (QuestionState.ACCEPTED, QuestionState.DISPUTED):
        move_questions([row.revision_id for row in rows if row.outcome == state], state)
    rest_questions(set(sampled_revisions(review_round)) - set(opinions), leaving=review_round)


def _opinions(review_round: ReviewRound) -> dict[int, list[Opinion]]:
    """What the newest versions say, by wording."""
    found: dict[int, list[Opinion]] = defaultdict(list)
    columns = ("revision_id", "best", "verdict", "flags", "grades")
    rows = (
        newest_reviews(review_round)
        .order_by("assignment__reviewer")
        .annotate(revision_id=F("assignment__revision"), best=F("assignment__blind_answer__best"))
    )
    for revision_id, best, verdict, flags, grades in rows.values_list(*columns):
        opinion = Opinion(best=best, verdict=verdict, flags=frozenset(flags), grades=grades)
        found[revision_id].append(opinion)
    return found


def rest_questions(revision_ids: Collection[int], *, leaving: ReviewRound) -> None:
    """Questions that leave a round without a review are again what they were before it, unless another open round
    has them.
    """
    open_elsewhere = Assignment.objects.filter(revision__in=revision_ids, round__state=RoundState.OPEN)
    open_elsewhere = open_elsewhere.exclude(round=leaving).filter(state__in=UNFINISHED)
    resting = set(revision_ids) - set(open_elsewhere.values_list("revision_id", flat=True))
    edited = set(Edit.objects.filter(revision__in=resting).values_list("revision_id", flat=True))
    state_of = dict.fromkeys(resting, QuestionState.IMPORTED) | dict.fromkeys(edited, QuestionState.REVISED)
    settled = Settlement.objects.filter(revision__in=resting).order_by("settled_at", "pk")
    state_of |= {pk: QuestionState(outcome) for pk, outcome in settled.values_list("revision_id", "outcome")}
    for state in set(state_of.values()):
        move_questions([pk for pk, one in state_of.items() if one == state], state)


def reason_text(reason: Reason, n_wanted: int) -> str:
    """One thing against settling, as people read it."""
    word, n = _(WORDS.get(reason["word"], reason["word"])), reason["n"]
    match Against(reason["code"]):
        case Against.MISSING:
            return _("%(n)s of %(wanted)s reviews is in") % {"n": n, "wanted": n_wanted}
        case Against.NOT_BLIND:
            return _("no blind answers were asked")
        case Against.ANSWERS_DIFFER:
            return _("blind answers differ")
        case Against.NOT_THE_KEY:
            return _("nobody answered the key") if word else _("no option was acceptable to anybody")
        case Against.VERDICT:
            return _("verdict “%(verdict)s”") % {"verdict": word} + (f" ({n})" if n > 1 else "")
        case Against.GRADE:
            return f"{word.lower()} {n}"
        case Against.FLAG:
            return _("flag “%(flag)s”") % {"flag": word} + (f" ({n})" if n > 1 else "")


def reasons_text(reasons: Iterable[Reason], n_wanted: int) -> str:
    """Why a question is not settled, in one line; empty where it is."""
    return "; ".join(reason_text(reason, n_wanted) for reason in reasons)
