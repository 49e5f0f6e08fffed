"""A sample of explanations that models gave, drawn evenly over runs, which a review round grades blind to the model.

Each question comes once, with the answer and explanation of one run in place of its own explanation. Reviewers see its
key, by which they can never judge it blind again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from msgspec.structs import replace

from annotation.enums import EXPLANATIONS
from annotation.models import QuestionBank, SamplingPlan, User
from annotation.review.samples import Draw, Stratum, preview_sample, store_sample
from annotation.statistics.kernels.sampling import StratifyBy
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
    """``n`` explanations, equally many (or one more) of each of the runs with these ids, of what any sample may draw.

    Raises PredictionsRefused for a run that is not one of ``runs_to_grade`` or explains nothing, and for too few
    explanations, SampleRefused as ``preview_sample`` and for a name that is taken; then nothing is stored.
    """
    chosen = list(runs_to_grade(bank, actor).filter(public_id__in=runs))
    if not chosen or len(chosen) != len(set(runs)):
        sentence = _("Choose runs with explanations on this bank, or on a study of it whose results were seen.")
        raise PredictionsRefused("no_run", sentence, status=422, field="runs")
    if not len(chosen) <= n <= MOST_DRAWN:
        sentence = _("Draw as many explanations as there are runs, and at most %(most)d.") % {"most": MOST_DRAWN}
        raise PredictionsRefused("out_of_range", sentence, status=422, field="n")
    whole = preview_sample(bank, by=StratifyBy.NONE, per_thousand=1000, seed=seed)
    explained = [_explained_by(run, whole) for run in chosen]
    if silent := next((run for run, theirs in zip(chosen, explained, strict=True) if not theirs), None):
        sentence = _("“%(run)s” explains no question that can be drawn: leave it out.") % {"run": _name_of(silent)}
        raise PredictionsRefused("no_explanation", sentence, status=422, field="runs")
    turn_of = _evenly(explained, n, first=seed)
    if len(turn_of) < n:
        sentence = _("Only %(n)d explanations can be drawn evenly over these runs: ask for as many, or for other runs.")
        raise PredictionsRefused("too_few", sentence % {"n": len(turn_of)}, status=422, field="n")
    drawn_as = dict(zip(whole.revision_ids, whole.drawn, strict=True))
    found = replace(
        whole,
        per_thousand=round(1000 * n / whole.n_frame),
        strata=[Stratum(one.stratum, one.n_frame, n) for one in whole.strata],
        drawn=[drawn_as[pk] for pk in turn_of],
        revision_ids=list(turn_of),
        frame={**whole.frame, "explanations": sorted(run.public_id for run in chosen)},
    )
    given = dict(_given(turn_of, chosen))
    return store_sample(found, name=name, actor=actor, at=at, rule=EXPLANATIONS, explained=given)


def _explained_by(run: PredictionRun, whole: Draw) -> list[int]:
    """Wordings in the order of the draw."""
    given = Prediction.objects.filter(run=run).exclude(explanation="").order_by()
    theirs = set(given.values_list("revision_id", flat=True))
    return [pk for pk in whole.revision_ids if pk in theirs]


def _evenly(explained: Sequence[Sequence[int]], n: int, *, first: int) -> dict[int, int]:
    """By wording the place of its run: the runs take turns, each with its next wording that no other one has."""
    waiting, taken = [iter(theirs) for theirs in explained], dict[int, int]()
    while len(taken) < n:
        turn = (first + len(taken)) % len(waiting)
        following = next((pk for pk in waiting[turn] if pk not in taken), None)
        if following is None:
            break
        taken[following] = turn
    return taken


def _given(turn_of: Mapping[int, int], runs: Sequence[PredictionRun]) -> Iterable[tuple[int, tuple[str, str]]]:
    """By wording the name of the model with its run, and what it answered and said."""
    for turn, run in enumerate(runs):
        own = [pk for pk, of in turn_of.items() if of == turn]
        for one in Prediction.objects.filter(run=run, revision__in=own).order_by():
            named = _("The model answered %(letter)s.") % {"letter": one.option}
            answer = named if one.option else _("The model named no option.")
            yield one.revision_id, (_name_of(run)[:300], f"{answer} {one.explanation}")


def _name_of(run: PredictionRun) -> str:
    name = _("%(model)s, run %(n)d") % {"model": run.entry, "n": run.number}
    return f"{name} ({run.study.name})" if run.study is not None else name
