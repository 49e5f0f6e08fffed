"""Cases that many readers missed go to a blinded re-review, mixed with as many that few missed.

A wrong key shows as a case that good readers miss. The reviewers must not know which cases are suspected: the round
is made of an ordinary sample, in a random order, and nothing in it tells the two kinds apart.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import RoundState
from annotation.models import AuditEvent, ReviewRound, User
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.rounds import create_round
from annotation.review.samples import Draw, SampleRefused, Stratum, store_sample
from annotation.statistics.kernels.sampling import Drawn, StratifyBy, random_ranks
from readerstudy.enums import Block
from readerstudy.models import ReaderStudy, StudyCase
from readerstudy.predictions.looks import may_see_results, scored_readings, unblind
from readerstudy.study.permissions import StudyRefused, lock_study

RULE = "rereview-1"
MADE = "study.rereview_made"
FEWEST_ANSWERS = 2  # of a case, before its error rate says anything


@dataclass(frozen=True)
class Mixture:
    """What would go into a round: cases missed by at least ``threshold_percent`` of their readers, and controls."""

    threshold_percent: int
    missed: list[StudyCase]
    controls: list[StudyCase]


def mixture_of(study: ReaderStudy, threshold_percent: int) -> Mixture:
    """Controls are drawn by the seed of the study from the cases below the threshold, as many as were missed.

    Raises StudyRefused before closing, for a threshold out of range, and where no case has answers enough.
    """
    if not may_see_results(study):
        raise StudyRefused("not_closed", _("Before closing nobody knows which cases were missed."))
    if not 1 <= threshold_percent <= 100:
        raise StudyRefused("out_of_range", _("The error rate is a number from 1 to 100 percent."))
    n, n_wrong = Counter[int](), Counter[int]()
    for one in scored_readings(study):
        n[one.case_id] += 1
        n_wrong[one.case_id] += not one.is_right
    rows = study.cases.filter(block=Block.MAIN, voiding__isnull=True).select_related("revision__question")
    cases = [case for case in rows.order_by("number") if n[case.pk] >= FEWEST_ANSWERS]
    if not cases:
        sentence = _("No case has answers of %(n)s readers: nobody knows which were missed.") % {"n": FEWEST_ANSWERS}
        raise StudyRefused("too_few_answers", sentence)
    missed: list[StudyCase] = []
    others: list[StudyCase] = []
    for case in cases:
        is_missed = 100 * n_wrong[case.pk] >= threshold_percent * n[case.pk]
        (missed if is_missed else others).append(case)
    return Mixture(threshold_percent, missed, _ranked(others, study.seed)[: len(missed)])


def send_to_rereview(
    study: ReaderStudy, threshold_percent: int, *, name: str, actor: User, at: datetime
) -> ReviewRound:
    """A draft round without reviewers. Which cases are which is kept in the audit log of the study.

    Choosing them is a look at results and unblinds the study. Raises StudyRefused where nothing was missed or fewer
    controls are left than cases were missed, as mixture_of, and for a name that is taken.
    """
    mixture = mixture_of(study, threshold_percent)
    if not mixture.missed:
        raise StudyRefused("nothing_missed", _("No case was missed that often: lower the error rate."))
    n_missed, n_controls = len(mixture.missed), len(mixture.controls)
    if n_controls < n_missed:
        sentence = _(
            "Too few cases are left to mix in: %(left)s, for %(missed)s that were missed that often. Raise the error "
            "rate, or review all cases of the study instead."
        )
        raise StudyRefused("too_few_controls", sentence % {"missed": n_missed, "left": n_controls})
    mixed = _ranked([*mixture.missed, *mixture.controls], study.seed + 1)
    with transaction.atomic():
        lock_study(study)
        try:
            plan = store_sample(_draw(study, mixed), name=name, actor=actor, at=at, rule=RULE)
            review_round = create_round(plan, name=name, reviewers=[], actor=actor, at=at)
        except (SampleRefused, ReviewRefused) as refusal:
            raise StudyRefused("round_refused", str(refusal)) from refusal
        unblind(study, actor=actor, at=at, because="choosing cases for a re-review")
        facts = {
            "rule": RULE,
            "threshold_percent": threshold_percent,
            "round": review_round.slug,
            "missed": [case.number for case in mixture.missed],
            "controls": sorted(case.number for case in mixture.controls),
        }
        record(MADE, actor=actor, at=at, subject=study, facts=facts)
    return review_round


@dataclass(frozen=True)
class Rereview:
    """A round that was made from missed cases. Which are which is shown when it has closed."""

    round: ReviewRound
    threshold_percent: int
    missed: list[int]
    controls: list[int]


def rereviews_of(study: ReaderStudy) -> list[Rereview]:
    rows = AuditEvent.objects.filter(act=MADE, subject_type="readerstudy", subject_id=str(study.pk)).order_by("pk")
    made = [one.facts for one in rows]
    rounds = {one.slug: one for one in ReviewRound.objects.filter(slug__in=[facts["round"] for facts in made])}
    found = []
    for facts in made:
        review_round = rounds.get(facts["round"])
        if review_round is not None:
            is_closed = review_round.state == RoundState.CLOSED
            missed, controls = (facts["missed"], facts["controls"]) if is_closed else ([], [])
            found.append(Rereview(review_round, facts["threshold_percent"], missed, controls))
    return found


def _ranked(cases: Sequence[StudyCase], seed: int) -> list[StudyCase]:
    """In a random order that follows from the seed and the numbers of the cases alone."""
    ranks = random_ranks(np.array([case.number for case in cases], dtype=np.int64), seed)
    return [case for _rank, _number, case in sorted(zip(ranks.tolist(), range(len(cases)), cases, strict=True))]


def _draw(study: ReaderStudy, mixed: Sequence[StudyCase]) -> Draw:
    """The mixture as a sample of which every question is in one stratum."""
    n_frame = study.cases.filter(block=Block.MAIN).count()
    numbers = sorted(case.revision.question.number for case in mixed)
    return Draw(
        bank=study.bank,
        by=StratifyBy.NONE,
        per_thousand=round(1000 * len(mixed) / n_frame),
        seed=study.seed,
        n_frame=n_frame,
        frame_sha256=hashlib.sha256(repr(numbers).encode()).hexdigest(),
        strata=[Stratum("all", n_frame, len(mixed))],
        drawn=[Drawn(case.revision.question.number, "all") for case in mixed],
        revision_ids=[case.revision_id for case in mixed],
    )
