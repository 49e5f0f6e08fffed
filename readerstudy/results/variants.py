"""The runs of one model with one prompt on the same bank or study, set beside each other: variants, orders, repeats;
and what the model answers right without the image.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from annotation.call_enums import OF_SERVER, WITH_IMAGES_OF_PEOPLE, BatchState, CallOutcome, SentImages
from annotation.enums import EXPLANATIONS, Degree, RoundState
from annotation.jobs.queueing import Progress, Result
from annotation.models import ModelCall, ReviewRound, Revision, User
from annotation.questionbank.priors import patients_of
from annotation.review.onlookers import rounds_in_sight, rounds_with_outcomes_for
from annotation.review.outcomes import newest_reviews
from annotation.statistics.kernels.estimate import Value
from annotation.statistics.kernels.proportions import accuracy, clustered_accuracy
from readerstudy.analysis.comparing_models import KeyedQuestions, keyed_questions, options_of, voided_cases
from readerstudy.analysis.kernels.bank_comparison import (
    VARIANTS_RULE,
    AnsweredRun,
    AskedArrays,
    PairedVariant,
    variant_tables,
)
from readerstudy.analysis.kernels.result import LETTERS
from readerstudy.analysis.storing import VARIANTS, Computed, VariantParams, computed_once
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.design.shown import patients_shown
from readerstudy.model_runs.asked_questions import RunningRefused, hidden_from
from readerstudy.model_runs.planning import shows_results
from readerstudy.model_runs.publishing import is_plain, target_of_run
from readerstudy.models import ModelRun, StudyCase

_ABOUT = ("pk", "question__exam__pseudonym", "question__exam__patient_pseudonym")


@dataclass(frozen=True)
class WaitingRun:
    """A run that has no table, since calls of it have no answer of the model."""

    run: ModelRun
    n_left: int


@dataclass(frozen=True)
class RunFamily:
    """All runs of one version of a model with one prompt on one bank or study, the oldest first."""

    asked: ModelRun  # the one by which it was found
    complete: tuple[ModelRun, ...]
    waiting: tuple[WaitingRun, ...]

    @property
    def plain(self) -> list[ModelRun]:
        """Those with the images that the prompt names; where there are none, those with all images."""
        found = [run for run in self.complete if is_plain(run)]
        return [run for run in found if run.batch.images == run.batch.prompt.images] or found

    @property
    def lacks_plain(self) -> str:
        """Why runs with other images stand beside nothing; empty where they do, or where there are none."""
        if self.plain or not self.complete:
            return ""
        images = SentImages(self.asked.batch.prompt.images)
        sentence = _(
            "No complete run asks with the images that the prompt names (%(images)s), or with all images. Run the "
            "model with them: runs with other images are compared with that one."
        )
        return sentence % {"images": _(images.label)}

    @property
    def text_only(self) -> ModelRun | None:
        """The newest one without images."""
        return next((run for run in reversed(self.complete) if run.batch.images == SentImages.NONE), None)

    @property
    def has_tables(self) -> bool:
        """Whether there is anything to set beside each other."""
        batches = [run.batch for run in self.complete]
        several = any(batch.n_orders > 1 or batch.n_repeats > 1 for batch in batches)
        return several or bool(self.plain and len(self.plain) < len(self.complete))

    def variants(self) -> tuple[PairedVariant, ...]:
        """Each with the newest plain run of the same settings, else with the newest one."""
        place = {run.pk: number for number, run in enumerate(self.complete)}
        found = []
        for run in self.complete:
            if self.plain and run not in self.plain:
                alike = [one for one in self.plain if not other_settings(run, one)]
                plain = (alike or self.plain)[-1]
                found.append(PairedVariant(place[run.pk], place[plain.pk], other_settings(run, plain)))
        return tuple(found)


def family_of(run: ModelRun) -> RunFamily:
    """Refused in a study whose results nobody may see yet, and on a benchmark under way. Three queries."""
    if not shows_results(run):
        of_study = _(
            "How a model does in a study is a result of the study: it is shown once the study is closed and somebody "
            "has looked at its results."
        )
        sentence = of_study if run.study else _("How models do on a benchmark is told by its editions alone.")
        raise RunningRefused("hidden", sentence, status=403)
    batch = run.batch
    alike = ModelRun.objects.filter(
        entry=run.entry, study=run.study, batch__bank=batch.bank_id, batch__prompt=batch.prompt_id
    )
    runs = list(alike.select_related("batch__prompt", "batch__bank", "entry", "study").order_by("batch_id"))
    left = _not_asked([one.pk for one in runs])
    complete = tuple(one for one in runs if one.batch.state == BatchState.COMPLETE and not left.get(one.pk))
    waiting = tuple(WaitingRun(one, left.get(one.pk, 0)) for one in runs if one not in complete)
    return RunFamily(run, complete, waiting)


def _not_asked(batches: Sequence[int]) -> dict[int, int]:
    waiting = ModelCall.objects.filter(batch__in=batches, outcome=CallOutcome.NOT_ASKED).order_by()
    return dict(waiting.values("batch").annotate(n=Count("pk")).values_list("batch", "n"))


def other_settings(run: ModelRun, plain: ModelRun) -> tuple[str, ...]:
    """What differs between the two beside the images, by name."""
    one, other = run.batch, plain.batch
    found = [name for name in ("endpoint", "model") if getattr(one, name) != getattr(other, name)]
    both_show_people = one.images in WITH_IMAGES_OF_PEOPLE and other.images in WITH_IMAGES_OF_PEOPLE
    if both_show_people and one.picture_policy != other.picture_policy:
        found.append("picture_policy")
    names = {*one.chat_settings, *other.chat_settings}
    return (*found, *sorted(name for name in names if one.chat_settings.get(name) != other.chat_settings.get(name)))


# --- computing ------------------------------------------------------------------------------------
def tables_for(family: RunFamily, *, at: datetime) -> Computed:
    """What was computed for these runs; begins to compute it where nobody has."""
    title = _("Variants of %(model)s on %(name)s") % {
        "model": family.asked.entry,
        "name": target_of_run(family.asked).name,
    }
    return computed_once(VARIANTS, title[:200], _params(family), at=at)


def _params(family: RunFamily) -> VariantParams:
    """Neither answers nor keys of a wording ever change; ``inputs`` is another one with a run, voided case or rule."""
    study = family.asked.study
    runs = [run.batch.public_id for run in family.complete]
    read = {"rule": VARIANTS_RULE, "runs": runs, "voided": voided_cases(study) if study else []}
    return VariantParams(inputs=sha256_of(canonical(read)), run=family.asked.batch.public_id)


def run_variant_tables(progress: Progress, params: VariantParams) -> Result:
    """The handler."""
    progress.report(0, 1)
    runs = ModelRun.objects.select_related("batch__prompt", "batch__bank", "entry", "study")
    found = tables_now(family_of(runs.get(batch__public_id=params["run"])))
    progress.report(1, 1)
    return found


def tables_now(family: RunFamily) -> dict[str, Any]:
    questions = questions_asked(family.complete or (family.asked,))
    arrays = AskedArrays(
        key=questions.key,
        cluster=questions.cluster,
        cluster_level=questions.cluster_level,
        n_without_key=questions.n_without_key,
        runs=tuple(AnsweredRun(facts_of(run), options_of(run, questions)) for run in family.complete),
        variants=family.variants(),
    )
    return variant_tables(arrays)


def questions_asked(runs: Sequence[ModelRun], among: QuerySet[Any, Any] | None = None) -> KeyedQuestions:
    """By runs of one family, in the wordings in which they were asked; ``among``: revisions. Three queries.

    Without the cases of a study that were voided before anybody saw a result.
    """
    study, bank = runs[0].study, runs[0].batch.bank_id
    calls = ModelCall.objects.filter(batch__in=[one.pk for one in runs], rotation=0, repeat=0)
    asked = Revision.objects.filter(pk__in=calls.values("revision"))
    if among is not None:
        asked = asked.filter(pk__in=among)
    if study is not None:
        voided = StudyCase.objects.filter(study=study, voiding__before_unblinding=True)
        asked = asked.exclude(pk__in=voided.values("revision"))
    rows = list(asked.order_by("question__number", "pk").values_list(*_ABOUT))
    patients = patients_shown(study) if study else patients_of(bank)
    return keyed_questions(rows, asked.values("pk"), patients)


def facts_of(run: ModelRun) -> dict[str, Any]:
    batch = run.batch
    return {
        "run": batch.public_id,
        "images": batch.images,
        "n_orders": batch.n_orders,
        "n_repeats": batch.n_repeats,
        "planned_at": batch.created_at.isoformat(),
    }


LOWEST_FIRST = (Degree.NO, Degree.PARTLY, Degree.YES)


@dataclass(frozen=True)
class JudgedQuestion:
    revision_id: int
    number: int  # in the bank
    cluster: int
    need: Degree  # the lowest word of its reviewers
    n_reviews: int  # that judged it
    is_right: bool  # the model, without the image


@dataclass(frozen=True)
class NeedRow:
    """``need`` None: all of these questions."""

    need: Degree | None
    right: Value  # share that the model has right without the image

    @property
    def label(self) -> str:
        return self.need.label if self.need else ""


@dataclass(frozen=True)
class ImageNeed:
    """``n_rounds_hidden``: rounds that this person judges in, of which nothing is counted."""

    run: ModelRun
    questions: list[JudgedQuestion]
    n_cannot_judge: int = 0  # questions that were reviewed, and of which nobody could say it
    n_questions_hidden: int = 0
    n_rounds_hidden: int = 0
    reviews_per_question: list[tuple[int, int]] = field(default_factory=list)

    @cached_property
    def is_clustered(self) -> bool:
        return len({one.cluster for one in self.questions}) < len(self.questions)

    @property
    def rows(self) -> list[NeedRow]:
        """From "yes" down, then all; by cluster where questions share exams or patients."""
        of: list[Degree | None] = [*reversed(LOWEST_FIRST), None]
        return [NeedRow(need, self._right(one for one in self.questions if need in (None, one.need))) for need in of]

    def _right(self, questions: Iterable[JudgedQuestion]) -> Value:
        some = list(questions)
        right = np.array([one.is_right for one in some], dtype=np.int8)
        if not self.is_clustered:
            return accuracy(right).as_json()
        return clustered_accuracy(right, np.array([one.cluster for one in some], dtype=np.int32)).accuracy.as_json()

    @property
    def right_without(self) -> list[JudgedQuestion]:
        """Right without the image, although reviewers say that it is needed; by number."""
        return [one for one in self.questions if one.is_right and one.need == Degree.YES]

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run.batch.public_id,
            "rule": "the lowest word of the reviewers of a question",
            "reviews_per_question": self.reviews_per_question,
            "cannot_judge": self.n_cannot_judge,
            "hidden_rounds": self.n_rounds_hidden,
            "needs_image": [{"needs_image": row.need or "all", "right_without_image": row.right} for row in self.rows],
            "right_although_needed": [one.number for one in self.right_without],
        }


def image_need(family: RunFamily, person: User | None) -> ImageNeed | None:
    """What the model answers right without the image, beside how far reviewers say that the question needs it.

    By the newest run without images; None where there is none. On the command line (None) of closed rounds alone. Of
    several reviews of a question the lowest word counts: "no" before "partly" before "yes". So "yes" means that nobody
    who could judge it answered less. Whoever judges in a round learns nothing of it here, and nothing of a question
    that they review.
    """
    run = family.text_only
    if run is None:
        return None
    rounds, n_rounds_hidden = _rounds(run, person)
    reviews = newest_reviews(*rounds).exclude(needs_image="").order_by()
    reviewed = reviews.values("assignment__revision")
    words: dict[int, list[str]] = defaultdict(list)
    for revision, word in reviews.values_list("assignment__revision", "needs_image"):
        words[revision].append(word)
    questions = questions_asked([run], reviewed)
    hidden = hidden_from(person) if person else set()
    found, counts = [], Counter[str]()
    for revision, question, number, option in _answers(run, reviewed):
        column, need = questions.column_of.get(revision), _lowest(words[revision])
        if column is None:
            continue
        if question in hidden:
            counts["hidden"] += 1
        elif need is None:
            counts["cannot judge"] += 1
        else:
            is_right = option == LETTERS[questions.key[column]]
            n_reviews = sum(word in LOWEST_FIRST for word in words[revision])
            found.append(JudgedQuestion(revision, number, int(questions.cluster[column]), need, n_reviews, is_right))
    return ImageNeed(
        run,
        found,
        n_cannot_judge=counts["cannot judge"],
        n_questions_hidden=counts["hidden"],
        n_rounds_hidden=n_rounds_hidden,
        reviews_per_question=sorted(Counter(one.n_reviews for one in found).items()),
    )


def _answers(run: ModelRun, among: QuerySet[Any, Any]) -> Iterator[tuple[int, int, int, str]]:
    """Revision, question, its number and the option, by number."""
    calls = ModelCall.objects.filter(batch=run.batch_id, rotation=0, repeat=0, revision__in=among).exclude(
        outcome__in=OF_SERVER
    )
    columns = ("revision_id", "revision__question_id", "revision__question__number", "option")
    return calls.order_by("revision__question__number", "revision").values_list(*columns).iterator()


def _rounds(run: ModelRun, person: User | None) -> tuple[list[ReviewRound], int]:
    if person is not None:
        return rounds_in_sight(person, run.batch.bank)
    begun = ReviewRound.objects.filter(plan__bank=run.batch.bank_id).exclude(state=RoundState.DRAFT)
    begun = begun.exclude(plan__rule=EXPLANATIONS)
    seen = rounds_with_outcomes_for(None, begun)
    rounds = list(begun)
    return [one for one in rounds if one.pk in seen], len(rounds) - len(seen)


def _lowest(words: Iterable[str]) -> Degree | None:
    return next((one for one in LOWEST_FIRST if one in set(words)), None)
