"""The runs of one model on the same bank or study, compared with each other, and what a person sees of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from annotation.jobs.handlers import Progress, Result
from annotation.models import QuestionBank, User
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.models import ModelEntry, PredictionRun, ReaderStudy
from readerstudy.predictions.entries import is_benchmarked, knows_scores
from readerstudy.predictions.listing import runs_known_to
from readerstudy.results.comparing_models import gather_runs, gather_study_runs, published_imports, voided_cases
from readerstudy.results.comparison_job import REPEATABILITY, Computed, RepeatabilityParams, computed_once
from readerstudy.results.kernels.bank_comparison import repeatability, without_scores
from readerstudy.results.looking import is_seen

SEED = 1  # where there is no study that has one
RULE = "repeatability-3"  # change the name when the same inputs would give other numbers


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


def repeatability_for(person: User, target: Repeated, *, at: datetime) -> Computed:
    """What was computed for these runs; begins to compute it where nobody has.

    Whoever must not know scores on a bank sees how far runs agree, and nothing of how often they are right; nor does
    anybody on a benchmark under way.
    """
    title = _("Repeatability on %(name)s") % {"name": target.name[:150]}
    found = computed_once(REPEATABILITY, title, _params(target), at=at)
    is_told = knows_scores(person) and not is_benchmarked(target.bank.pk)
    may_see_scores = target.study is not None or is_told
    return found if may_see_scores or found.result is None else Computed(without_scores(found.result))


def run_repeatability(progress: Progress, params: RepeatabilityParams) -> Result:
    """The handler. Neither runs nor revisions ever change; what represents the rest is part of the inputs."""
    progress.report(0, 1)
    runs = PredictionRun.objects.filter(public_id__in=params["runs"]).select_related("entry").order_by("number")
    if params["study"]:
        study = ReaderStudy.objects.select_related("bank").get(pk=params["study"])
        found = repeatability(gather_study_runs(study, list(runs)), seed=study.seed)
    else:
        bank = QuestionBank.objects.get(pk=params["bank"])
        found = repeatability(gather_runs(bank, list(runs)), seed=SEED)
    progress.report(1, 1)
    return found


def _params(target: Repeated) -> RepeatabilityParams:
    """What the job reads; ``inputs`` is another one as soon as runs, questions, voided cases or the rule are."""
    bank, study = target.bank.pk, target.study.pk if target.study else None
    runs = [run.public_id for run in target.runs]
    changes = voided_cases(target.study) if target.study else published_imports(target.bank)
    read = {"rule": RULE, "bank": bank, "study": study, "runs": runs, "changes": changes}
    return RepeatabilityParams(inputs=sha256_of(canonical(read)), bank=bank, study=study, runs=runs)
