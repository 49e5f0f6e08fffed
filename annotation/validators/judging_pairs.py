"""Two people judge pairs of questions blind, and where they part a person sets the threshold of an embedding."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.contributions import reads_in_bank
from annotation.enums import KeySource, Role
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue
from annotation.models import (
    Embedding,
    JudgedPair,
    Membership,
    PairJudgement,
    PairTrial,
    Question,
    QuestionBank,
    Revision,
    User,
)
from annotation.models.fields import AsRead
from annotation.people.open_work import NextStep, WorkItem, WorkSection
from annotation.questionbank.answers import note_seen_keys
from annotation.review.onlookers import withheld_questions
from annotation.site.permissions import is_coordinator, site_roles
from annotation.validators.embedded_questions import vectors_of
from annotation.validators.validator_plans import check_reads_none
from annotation.validators.vector_sources import EmbeddingRefused

if TYPE_CHECKING:
    from annotation.validators.kernels.near_vectors import ThresholdCurve


class DrawingParams(TypedDict):
    trial: int


DRAWING: JobKind[DrawingParams] = JobKind("draw_pairs")
N_PAIRS = 100
JUDGES = frozenset({Role.COORDINATOR, Role.REVIEWER})  # roles on the site
LONGEST_REASON = 500


def begin_trial(
    bank: QuestionBank, embedding: Embedding, judges: Sequence[User], *, seed: int, actor: User, at: datetime
) -> PairTrial:
    """Name the two people; a job draws the pairs. Raises EmbeddingRefused; nothing is stored then."""
    if bank.archived_at is not None:
        raise EmbeddingRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    first, second = judges
    if first == second:
        raise EmbeddingRefused("one_judge", _("Two people judge: name another one."), status=422, field="second")
    for field, judge in zip(("first", "second"), judges, strict=True):
        _check_judge(bank, judge, field)
    vectors_of(bank, embedding)
    with transaction.atomic():
        trial = PairTrial.objects.create(
            bank=bank,
            embedding=embedding,
            seed=seed,
            first_judge=first,
            second_judge=second,
            created_by=actor,
            created_at=at,
        )
        facts = {"bank": bank.slug, "embedding": str(embedding), "seed": seed, "judges": [first.pk, second.pk]}
        record("pairs.begun", actor=actor, at=at, subject=trial, facts=facts)
        title = _("Pairs of “%(bank)s”") % {"bank": bank.name[:100]}
        enqueue(DRAWING, title, DrawingParams(trial=trial.pk), actor=actor, at=at)
    return trial


def _check_judge(bank: QuestionBank, judge: User, field: str) -> None:
    """They see wordings of the bank, without keys: coordinators and reviewers who read none of them in a study."""
    if not JUDGES & site_roles(judge):
        sentence = _("%(name)s neither coordinates nor reviews: pairs are judged by coordinators and reviewers.")
        raise EmbeddingRefused("no_judge", sentence % {"name": judge.name}, status=422, field=field)
    if study := reads_in_bank(judge.pk, bank.pk):
        sentence = _("%(name)s reads questions of “%(bank)s” in the study “%(study)s”. Name somebody else.")
        facts = {"name": judge.name, "bank": bank.name, "study": study}
        raise EmbeddingRefused("reads_them", sentence % facts, status=422, field=field)


def possible_judges() -> QuerySet[User]:
    mine = Membership.objects.filter(role__in=JUDGES, round=None)
    return User.objects.filter(is_active=True, pk__in=mine.values("user")).order_by(AsRead("name"), "pk")


def draw_in_background(progress: Progress, params: DrawingParams) -> Result:
    """The handler. Run twice it draws once."""
    trial = PairTrial.objects.select_related("bank", "embedding", "first_judge", "second_judge").get(pk=params["trial"])
    if not trial.pairs.exists():
        draw_pairs(trial, progress)
    page = reverse("pair-trial", args=[trial.bank.slug, trial.public_id])
    return {"page": page, "pairs": trial.pairs.count()}


def draw_pairs(trial: PairTrial, progress: Progress) -> None:
    """A hundred pairs by the seed, without questions that one of the two reviews. Raises EmbeddingRefused."""
    from annotation.validators.kernels.near_vectors import drawn_pairs  # numpy and scikit-learn

    revisions, _numbers, vectors = vectors_of(trial.bank, trial.embedding)
    current = Revision.objects.in_bank(trial.bank).current()
    hidden = set[int]()
    for judge in (trial.first_judge, trial.second_judge):
        hidden |= set(current.filter(question__in=withheld_questions(judge)).values_list("pk", flat=True))
    kept = [row for row, pk in enumerate(revisions) if pk not in hidden]
    drawn = drawn_pairs(vectors[kept], N_PAIRS, seed=trial.seed, watch=progress.report)
    with transaction.atomic():
        locked = PairTrial.objects.select_for_update(of=("self",)).get(pk=trial.pk)
        if not locked.pairs.exists():
            JudgedPair.objects.bulk_create(
                JudgedPair(
                    trial=locked,
                    number=number,
                    first_id=revisions[kept[one.first]],
                    second_id=revisions[kept[one.second]],
                    similarity=one.similarity,
                )
                for number, one in enumerate(drawn, start=1)
            )


# --- judging ---
def is_judge(trial: PairTrial, person: User) -> bool:
    return person.pk in (trial.first_judge_id, trial.second_judge_id)


def next_pair(trial: PairTrial, person: User) -> JudgedPair | None:
    """The next that this person has not judged, in the drawn order, without questions that they review by now."""
    if trial.ended_at is not None:
        return None
    done = PairJudgement.objects.filter(pair__trial=trial, judge=person).values("pair")
    pairs = _pairs_shown_to(person, trial).exclude(pk__in=done)
    return pairs.select_related("first", "second").order_by("number").first()


def show_next_pair(trial: PairTrial, person: User, *, at: datetime) -> JudgedPair | None:
    """As ``next_pair``; from now on the person counts as having seen both questions, who cannot judge them blind."""
    pair = next_pair(trial, person) if is_judge(trial, person) else None
    if pair:
        _note_seen(pair, person, at)
    return pair


def _note_seen(pair: JudgedPair, person: User, at: datetime) -> None:
    both = Question.objects.filter(revisions__in=(pair.first_id, pair.second_id))
    note_seen_keys(person, both, source=KeySource.PAIRS, subject=pair.trial, at=at)


def may_follow(trial: PairTrial, person: User) -> bool:
    """Who coordinates, and whoever judges these pairs."""
    return is_coordinator(person) or is_judge(trial, person)


def pairs_work(person: User, _at: datetime) -> WorkSection | None:
    """The lines of the home page: trials of which this person has pairs to judge."""
    mine = PairTrial.objects.filter(Q(first_judge=person) | Q(second_judge=person), ended_at=None)
    items = [
        WorkItem(
            _("Pairs of “%(bank)s”") % {"bank": one.trial.bank.name},
            reverse("pair-trial", args=[one.trial.bank.slug, one.trial.public_id]),
            n_done=dict(one.judges)[person],
            n_total=one.n_pairs,
        )
        for one in _progress(list(mine.select_related("bank", "first_judge", "second_judge").order_by("pk")))
        if next_pair(one.trial, person)
    ]
    if not items:
        return None
    sentence = _("Say of pairs of questions whether they are the same question. You do not see the key.")
    return WorkSection(_("Judged pairs"), items, NextStep(_("Judge pairs"), sentence, items[0].url), is_own=True)


def _pairs_shown_to(person: User, trial: PairTrial) -> QuerySet[JudgedPair]:
    hidden = withheld_questions(person)
    return trial.pairs.exclude(first__question__in=hidden).exclude(second__question__in=hidden)


@transaction.atomic
def judge_pair(trial: PairTrial, number: int, *, is_same: bool, actor: User, at: datetime) -> None:
    """Say of a pair whether it is the same question. The first word stays.

    Raises EmbeddingRefused, also for a question that the person reviews by now, and ValidatorRefused (``reads_them``).
    """
    if not is_judge(trial, actor):
        raise EmbeddingRefused("no_judge", _("Two other people judge these pairs."), status=403)
    check_reads_none(actor, trial.bank)
    if PairTrial.objects.select_for_update().get(pk=trial.pk).ended_at is not None:
        raise EmbeddingRefused("ended", _("Judging these pairs was ended."))
    pair = _pairs_shown_to(actor, trial).filter(number=number).first()
    if pair is None:
        raise EmbeddingRefused("no_pair", _("There is no such pair."), status=404)
    _note_seen(pair, actor, at)
    _judgement, is_new = PairJudgement.objects.get_or_create(
        pair=pair, judge=actor, defaults={"is_same": is_same, "judged_at": at}
    )
    if is_new:
        record("pair.judged", actor=actor, at=at, subject=trial, facts={"number": number})


@transaction.atomic
def end_trial(trial: PairTrial, *, actor: User, at: datetime) -> int:
    """Nobody judges its pairs any more; the curve is of those that both have judged, whose number comes back.

    For a trial that cannot be finished: a judge has left, or reviews some of the questions by now. Twice changes
    nothing. Raises EmbeddingRefused (``complete``), and ValidatorRefused (``reads_them``).
    """
    check_reads_none(actor, trial.bank)
    locked = PairTrial.objects.select_for_update().get(pk=trial.pk)
    n_both = n_judged_by_both(locked)
    if locked.ended_at is not None:
        return n_both
    if progress_of(locked).is_complete:
        raise EmbeddingRefused("complete", _("Both people have judged all pairs: there is nothing to end."))
    PairTrial.objects.filter(pk=trial.pk).update(ended_at=at, ended_by=actor)
    record("pairs.ended", actor=actor, at=at, subject=trial, facts={"judged_by_both": n_both})
    return n_both


def n_judged_by_both(trial: PairTrial) -> int:
    return trial.pairs.annotate(n_judged=Count("judgements")).filter(n_judged=2).count()


class TrialProgress(Struct, frozen=True):
    """How many pairs a trial has, and how many of them each of the two has judged."""

    trial: PairTrial
    n_pairs: int  # 0: they are not drawn yet
    n_first: int
    n_second: int

    @property
    def judges(self) -> list[tuple[User, int]]:
        return [(self.trial.first_judge, self.n_first), (self.trial.second_judge, self.n_second)]

    @property
    def is_complete(self) -> bool:
        """Both have judged all."""
        return 0 < self.n_pairs == self.n_first == self.n_second


def trials_of(bank: QuestionBank) -> list[TrialProgress]:
    """The newest first."""
    trials = PairTrial.objects.filter(bank=bank).select_related("embedding", "first_judge", "second_judge")
    return _progress(list(trials))


def progress_of(trial: PairTrial) -> TrialProgress:
    return _progress([trial])[0]


def _progress(trials: Sequence[PairTrial]) -> list[TrialProgress]:
    """In their order; two queries, whatever their number."""
    pairs = JudgedPair.objects.filter(trial__in=trials).order_by().values_list("trial")
    n_pairs = dict(pairs.annotate(n=Count("pk")))
    judgements = PairJudgement.objects.filter(pair__trial__in=trials).order_by().values_list("pair__trial", "judge")
    n_judged = {(trial, judge): n for trial, judge, n in judgements.annotate(n=Count("pk"))}
    return [
        TrialProgress(
            one,
            n_pairs.get(one.pk, 0),
            n_judged.get((one.pk, one.first_judge_id), 0),
            n_judged.get((one.pk, one.second_judge_id), 0),
        )
        for one in trials
    ]


def is_over(trial: PairTrial) -> bool:
    """Only then anybody sees judgements and similarities."""
    return trial.ended_at is not None or progress_of(trial).is_complete


def curve_of(trial: PairTrial) -> ThresholdCurve | None:
    """Of the pairs that both have judged; None while anybody still judges, and where there is no such pair."""
    if not is_over(trial):
        return None
    from annotation.validators.kernels.near_vectors import TwiceJudged, threshold_curve  # numpy and scipy

    judged: dict[int, dict[int, bool]] = {}
    rows = PairJudgement.objects.filter(pair__trial=trial).values_list("pair", "judge", "is_same")
    for pair, judge, is_same in rows:
        judged.setdefault(pair, {})[judge] = is_same
    pairs = [
        TwiceJudged(similarity, both[trial.first_judge_id], both[trial.second_judge_id])
        for pk, similarity in trial.pairs.values_list("pk", "similarity")
        if len(both := judged.get(pk, {})) == 2
    ]
    return threshold_curve(pairs, seed=trial.seed) if pairs else None


# --- the threshold ---
@transaction.atomic
def set_threshold(trial: PairTrial, threshold: float, reason: str, *, actor: User, at: datetime) -> None:
    """From now on the embedding calls pairs near from here on; findings change with the next comparison.

    Raises EmbeddingRefused (``not_judged``, ``out_of_range``, ``no_reason``).
    """
    reason = reason.strip()
    if not is_over(trial) or not n_judged_by_both(trial):
        sentence = _("A threshold is set when both people have judged all pairs, or judging was ended.")
        raise EmbeddingRefused("not_judged", sentence)
    if not 0 < threshold <= 1:
        sentence = _("A threshold is above 0 and at most 1.")
        raise EmbeddingRefused("out_of_range", sentence, status=422, field="threshold")
    if not reason or len(reason) > LONGEST_REASON:
        sentence = _("State why it lies there, in at most %(n)d characters.") % {"n": LONGEST_REASON}
        raise EmbeddingRefused("no_reason", sentence, status=422, field="reason")
    locked = Embedding.objects.select_for_update(of=("self",)).get(pk=trial.embedding_id)
    facts = {"embedding": str(locked), "threshold": threshold, "before": locked.threshold, "reason": reason}
    locked.threshold, locked.threshold_set_by, locked.threshold_set_at = threshold, actor, at
    locked.save(update_fields=["threshold", "threshold_set_by", "threshold_set_at"])
    record("embedding.threshold_set", actor=actor, at=at, subject=trial, facts=facts)
