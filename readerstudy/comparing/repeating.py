"""The runs of one model on the same bank or study, compared with each other, and what a person sees of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from annotation.models import QuestionBank, User
from readerstudy.comparing.gathering import gather_runs, gather_study_runs, published_imports
from readerstudy.comparing.listing import sees_all_models
from readerstudy.comparing.repeatability import repeatability
from readerstudy.comparing.showing import pair_without_accuracy, run_coarsely
from readerstudy.models import ModelEntry, PredictionRun, ReaderStudy, StudyCase
from readerstudy.predictions.listing import runs_known_to
from readerstudy.results.looking import is_seen

SEED = 1  # where there is no study that has one
KEPT = 32  # results that a process keeps: a few thousand bytes each


@dataclass(frozen=True)
class Repeated:
    """A bank or a study with two live runs or more."""

    bank: QuestionBank
    study: ReaderStudy | None
    runs: tuple[PredictionRun, ...]

    @property
    def name(self) -> str:
        return f"study-{self.study.slug}" if self.study else f"bank-{self.bank.slug}"

    @property
    def is_hidden(self) -> bool:
        """What models scored in a study is a result of it: hidden until somebody has seen its results."""
        return self.study is not None and not is_seen(self.study)


def repeated_targets(entry: ModelEntry, person: User) -> list[Repeated]:
    """Studies first. Of runs that the person may see; withdrawn ones are left out."""
    runs = runs_known_to(person).filter(entry=entry, withdrawn_at__isnull=True)
    found = targets_of(runs.order_by("number"))
    return sorted(found, key=lambda one: (one.study is None, one.name))


def targets_of(runs: Iterable[PredictionRun]) -> list[Repeated]:
    found: dict[tuple[int | None, int], list[PredictionRun]] = {}
    for run in runs:
        if run.withdrawn_at is None:
            found.setdefault((run.study_id, run.bank_id), []).append(run)
    return [Repeated(of[0].bank, of[0].study, tuple(of)) for of in found.values() if len(of) > 1]


def repeatability_for(person: User, target: Repeated) -> dict[str, Any]:
    """Whoever does not see all models sees accuracy on a bank as coarsely as where models are compared."""
    runs = tuple(run.public_id for run in target.runs)
    if target.study is None:
        found = _on_bank(target.bank.pk, runs, tuple(published_imports(target.bank)))
    else:
        found = _on_study(target.study.pk, runs, _voided(target.study))
    if target.study is not None or sees_all_models(person):
        return found
    return {
        **found,
        "runs": [run_coarsely(one, n=found["n"]) for one in found["runs"]],
        "pairs": [pair_without_accuracy(one) for one in found["pairs"]],
    }


@lru_cache(maxsize=KEPT)
def _on_bank(bank: int, runs: tuple[str, ...], imports: tuple[str, ...]) -> dict[str, Any]:
    """Neither runs nor revisions ever change: right for as long as the same imports are published."""
    arrays = gather_runs(QuestionBank.objects.get(pk=bank), _in_order(runs))
    return repeatability(arrays, seed=SEED)


@lru_cache(maxsize=KEPT)
def _on_study(pk: int, runs: tuple[str, ...], voided: tuple[int, ...]) -> dict[str, Any]:
    """The cases of a study whose results were seen never change, but for what is voided before."""
    study = ReaderStudy.objects.select_related("bank").get(pk=pk)
    return repeatability(gather_study_runs(study, _in_order(runs)), seed=study.seed)


def _voided(study: ReaderStudy) -> tuple[int, ...]:
    voided = StudyCase.objects.filter(study=study, voiding__before_unblinding=True)
    return tuple(voided.order_by("pk").values_list("pk", flat=True))


def _in_order(runs: tuple[str, ...]) -> list[PredictionRun]:
    return list(PredictionRun.objects.filter(public_id__in=runs).select_related("entry").order_by("number"))
