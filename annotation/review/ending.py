"""The end of the independent reviews: each question is settled by the rule, or says why it is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import F
from django.utils.translation import gettext as _

from annotation.enums import Flag, GradeName, QuestionState, RoundState, Verdict
from annotation.models import (
    AnswerKey,
    Assignment,
    Edit,
    ReviewRound,
    SampledQuestion,
    Settlement,
)
from annotation.questionbank.question_states import move_questions
from annotation.review.kernels.settling import RULE, Against, Opinion, Reason, reasons_against
from annotation.review.kernels.transitions import UNFINISHED
from annotation.review.outcomes import newest_reviews

BATCH = 500
WORDS = {word.value: word.label for words in (Verdict, GradeName, Flag) for word in words}


def settle_round(review_round: ReviewRound, *, at: datetime) -> None:
    """Store what its reviews settle and why they do not settle the rest; a question without a review gets no row.

    Runs once, in the transaction of the act that ends the reviews.
    """
    opinions = _opinions(review_round)
    keys = dict(AnswerKey.objects.filter(revision__in=opinions).values_list("revision_id", "key"))
    rows = []
    for revision_id, of_one in sorted(opinions.items()):
        reasons = reasons_against(of_one, keys[revision_id], review_round.reviewers_per_question)
        outcome = QuestionState.DISPUTED if reasons else QuestionState.ACCEPTED
        rows.append(
            Settlement(
                round=review_round,
                revision_id=revision_id,
                outcome=outcome,
                rule=RULE,
                reasons=reasons,
                settled_at=at,
            )
        )
    Settlement.objects.bulk_create(rows, batch_size=BATCH)
    for state in (QuestionState.ACCEPTED, QuestionState.DISPUTED):
        move_questions([row.revision_id for row in rows if row.outcome == state], state)
    sampled = SampledQuestion.objects.filter(plan=review_round.plan_id).values_list("revision_id", flat=True)
    rest_questions(set(sampled) - set(opinions), leaving=review_round)


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
