"""A sample of explanations that models gave, drawn evenly over runs, which a review round grades blind to the model.

Each question comes once, with the answer and explanation of one run in place of its own explanation. Reviewers see its
key, by which they can never judge it blind again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.enums import EXPLANATIONS
from annotation.models import QuestionBank, Revision, SamplingPlan, User
from annotation.review.kernels.sampling import ALL, SEED_MAX, Drawn, StratifyBy, random_ranks
from annotation.review.samples import Draw, SampleRefused, Stratum, store_sample
from readerstudy.enums import EntryState
from readerstudy.models import Prediction, PredictionRun, ReaderStudy
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import runs_known_to

MOST_DRAWN = 5_000


def runs_to_grade(bank: QuestionBank, person: User | None) -> QuerySet[PredictionRun]:
    """Runs of listed models on the bank, and on its studies whose results somebody has seen; known to the person.

    Without those whose file listed options in another order: their explanations name other letters.
    """
    known = runs_known_to(person) if person else PredictionRun.objects.select_related("entry", "study")
    seen = ReaderStudy.objects.filter(bank=bank, unblinded_at__isnull=False, state__in=("closed", "analysed"))
    found = known.filter(
        Q(study=None) | Q(study__in=seen), bank=bank, withdrawn_at=None, entry__state=EntryState.LISTED
    )
    return found.filter(Q(report__other_order=0) | Q(report__other_order=None)).order_by(
        "entry__name", "entry", "number"
    )


def draw_explanations(
    bank: QuestionBank, *, runs: Sequence[str], n: int, seed: int, name: str, actor: User | None, at: datetime
) -> SamplingPlan:
    """``n`` explanations of current wordings, equally many (or one more) of each of the runs with these ids.

    Raises PredictionsRefused for a run that is not one of ``runs_to_grade``, an archived bank, numbers out of range,
    too few explanations and a name that is taken; then nothing is stored.
    """
    chosen = list(runs_to_grade(bank, actor).filter(public_id__in=runs))
    if not chosen or len(chosen) != len(set(runs)):
        sentence = _("Choose runs with explanations on this bank, or on a study of it whose results were seen.")
        raise PredictionsRefused("no_run", sentence, status=422, field="runs")
    if bank.archived_at is not None:
        raise PredictionsRefused("archived", _("“%(name)s” is archived: bring it back first.") % {"name": bank.name})
    if not len(chosen) <= n <= MOST_DRAWN or not 0 <= seed <= SEED_MAX:
        sentence = _("Draw as many explanations as there are runs, and at most %(most)d, by a seed from 0 on.")
        raise PredictionsRefused("out_of_range", sentence % {"most": MOST_DRAWN}, status=422, field="n")
    current = Revision.objects.in_bank(bank).current()
    given = Prediction.objects.exclude(explanation="").filter(revision__in=current.order_by().values("pk")).order_by()
    explained = {run.pk: set(given.filter(run=run).values_list("revision_id", flat=True)) for run in chosen}
    if silent := next((run for run in chosen if not explained[run.pk]), None):
        sentence = _("“%(run)s” explains no current question: leave it out.") % {"run": _name_of(silent)}
        raise PredictionsRefused("no_explanation", sentence, status=422, field="runs")
    numbers = dict(current.filter(pk__in=set().union(*explained.values())).values_list("pk", "question__number"))
    run_of = _evenly(explained, numbers, n=n, seed=seed)
    if len(run_of) < n:
        sentence = _("Only %(n)d explanations can be drawn evenly over these runs: ask for as many, or for other runs.")
        raise PredictionsRefused("too_few", sentence % {"n": len(run_of)}, status=422, field="n")
    found = Draw(
        bank=bank,
        by=StratifyBy.NONE,
        per_thousand=round(1000 * n / len(numbers)),
        seed=seed,
        n_frame=len(numbers),
        frame_sha256=hashlib.sha256(repr(sorted(numbers.values())).encode()).hexdigest(),
        strata=[Stratum(ALL, len(numbers), n)],
        drawn=[Drawn(numbers[pk], ALL) for pk in run_of],
        revision_ids=list(run_of),
        frame={"explanations": sorted(run.public_id for run in chosen)},
    )
    try:
        return store_sample(
            found, name=name, actor=actor, at=at, rule=EXPLANATIONS, explained=dict(_given(run_of, chosen))
        )
    except SampleRefused as refusal:
        raise PredictionsRefused(refusal.code, str(refusal), status=refusal.status, field="name") from refusal


def _evenly(explained: Mapping[int, set[int]], numbers: Mapping[int, int], *, n: int, seed: int) -> dict[int, int]:
    """By wording the run: the runs take turns, each with the next question by the seed that it explained."""
    import numpy as np  # not at every start

    by_number = sorted(numbers, key=lambda pk: numbers[pk])
    ranks = random_ranks(np.array([numbers[pk] for pk in by_number], dtype=np.int64), seed).tolist()
    order = [pk for _rank, pk in sorted(zip(ranks, by_number, strict=True))]
    waiting = {run: iter([pk for pk in order if pk in theirs]) for run, theirs in explained.items()}
    turns, taken = sorted(waiting), dict[int, int]()
    while len(taken) < n:
        run = turns[(seed + len(taken)) % len(turns)]
        following = next((pk for pk in waiting[run] if pk not in taken), None)
        if following is None:
            break
        taken[following] = run
    return taken


def _given(run_of: Mapping[int, int], runs: Iterable[PredictionRun]) -> Iterable[tuple[int, tuple[str, str]]]:
    """By wording the name of the model with its run, and what it answered and said."""
    for run in runs:
        own = [pk for pk, of in run_of.items() if of == run.pk]
        rows = Prediction.objects.filter(run=run, revision__in=own).select_related("revision")
        for one in rows:
            answer = (
                _("The model answered %(letter)s.") % {"letter": one.option} if one.option else _("It named no option.")
            )
            yield one.revision_id, (_name_of(run)[:300], f"{answer} {one.explanation}")


def _name_of(run: PredictionRun) -> str:
    name = _("%(model)s, run %(n)d") % {"model": run.entry, "n": run.number}
    return f"{name} ({run.study.name})" if run.study is not None else name
