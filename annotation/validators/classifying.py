"""Questions are scored by a classifier of texts in a folder of this server; thresholds make findings of that.

Equation 6 of the paper: a question complies while the probabilities of an identifier and of bias stay under a
threshold. Which threshold, people see on a labelled set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import FindingPlace, JobQueue
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue, job_under_way
from annotation.models import (
    Classifier,
    ClassScore,
    ClassThreshold,
    Finding,
    Job,
    LabelledSet,
    Question,
    QuestionBank,
    Revision,
    User,
)
from annotation.questionbank.checking import CheckResult, store_found
from annotation.questionbank.kernels.question_checks import BIAS, IDENTIFIER_FREE, PARTS, ValidityPart
from annotation.questionbank.kernels.rules import CLASSIFIED_BIAS, CLASSIFIED_IDENTIFIER, Flaw, flaw
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.validators.folder_models import CLASSIFIERS, folder_named, n_threads, usable
from annotation.validators.kernels.model_folder import ClassifierFolder, read_classifier_folder
from annotation.validators.kernels.validator_exam import ClassCurve, at_threshold, curve_of, part_of_class
from annotation.validators.labelled_sets import ClassifierRefused, scored_in, store_labelled, texts_of

RULE_OF = {IDENTIFIER_FREE: CLASSIFIED_IDENTIFIER, BIAS: CLASSIFIED_BIAS}  # by part of V(Q)
AT_ONCE = 16  # texts in a step of the model
CHUNK = 500  # scores read at once


class ScoringParams(TypedDict):
    """``classifier`` and ``bank`` are ids of rows; ``actor`` is who asked."""

    classifier: int
    bank: int
    actor: NotRequired[int]


KIND: JobKind[ScoringParams] = JobKind("classify_questions", JobQueue.IMAGES)
Score = Callable[[Sequence[str]], list[list[float]]]


def _folder(name: str, fingerprint: str = "") -> ClassifierFolder:
    return folder_named(
        name, CLASSIFIERS, read=read_classifier_folder, fingerprint=fingerprint, refused=ClassifierRefused
    )


def classifier_named(name: str, *, at: datetime) -> Classifier:
    """The one that the folder holds now. Raises ClassifierRefused."""
    folder = _folder(name)
    made, _is_new = Classifier.objects.get_or_create(
        folder=name, fingerprint=folder.fingerprint, defaults={"labels": list(folder.labels), "created_at": at}
    )
    return made


def _scorer(classifier: Classifier) -> Score:
    """Loads the model. Raises ClassifierRefused, then and at each call."""
    folder = _folder(classifier.folder, classifier.fingerprint)
    from annotation.validators.kernels.onnx_model import TextClassifier  # onnxruntime and tokenizers

    def score(texts: Sequence[str]) -> list[list[float]]:
        with usable(folder.name, ClassifierRefused):
            return [[round(p, 6) for p in row] for row in model.probabilities(texts).tolist()]

    with usable(folder.name, ClassifierRefused):
        model = TextClassifier(folder, n_threads=n_threads())
    return score


# --- scoring ---
def ask_for_scores(
    bank: QuestionBank, folder: str, *, labelled: tuple[str, bytes] | None = None, actor: User, at: datetime
) -> Job:
    """A job that scores what was not scored yet, and a labelled set (name and content of its file) where one is given.

    Raises ClassifierRefused and FileRefused.
    """
    check_bank(bank)
    classifier = classifier_named(folder, at=at)
    with transaction.atomic():
        if labelled is not None:
            store_labelled(classifier, bank, *labelled, actor=actor, at=at)
        elif under_way := job_under_way(KIND, classifier=classifier.pk, bank=bank.pk):
            return under_way
        return _enqueue(classifier, bank, actor=actor, at=at)


def _enqueue(classifier: Classifier, bank: QuestionBank, *, actor: User, at: datetime) -> Job:
    title = _("Classes of “%(bank)s” by %(folder)s") % {"bank": bank.name[:100], "folder": classifier.folder}
    params = ScoringParams(classifier=classifier.pk, bank=bank.pk, actor=actor.pk)
    return enqueue(KIND, title, params, actor=actor, at=at)


def check_bank(bank: QuestionBank) -> None:
    if bank.archived_at is not None:
        raise ClassifierRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    if not Revision.objects.in_bank(bank).current().exists():
        raise ClassifierRefused("no_questions", _("“%(bank)s” holds no question.") % {"bank": bank.name})


class ScoringResult(Struct, frozen=True):
    n_scored: int  # questions, now
    found: CheckResult

    def as_json(self) -> dict[str, Any]:
        return {"scored": self.n_scored, **self.found.as_json()}


def score_questions(
    classifier: Classifier, bank: QuestionBank, *, actor: User | None, at: datetime, progress: Progress
) -> ScoringResult:
    """Score waiting labelled sets and the current questions without a score, then store findings by the thresholds.

    Each step is stored at once: run again, it goes on where it ended. Raises ClassifierRefused.
    """
    waiting = list(classifier.labelled_sets.filter(texts__isnull=False))
    have = ClassScore.objects.filter(classifier=classifier).values("revision")
    current = Revision.objects.in_bank(bank).current()
    missing = list(current.exclude(pk__in=have).order_by("pk").values_list("pk", flat=True))
    if waiting or missing:
        score = _scorer(classifier)
        for one in waiting:
            _score_labelled(one, score, progress)
        for start in range(0, len(missing), AT_ONCE):
            progress.report(start, len(missing), _("questions scored"))
            rows = list(texts_of(current.filter(pk__in=missing[start : start + AT_ONCE]), "pk"))
            scores = score([text for _pk, text in rows])
            ClassScore.objects.bulk_create(
                (
                    ClassScore(classifier=classifier, revision_id=pk, probabilities=one)
                    for (pk, _text), one in zip(rows, scores, strict=True)
                ),
                ignore_conflicts=True,  # another run may be at it
            )
        progress.report(len(missing), len(missing))
    found = _find(classifier, bank, at)
    result = ScoringResult(len(missing), found)
    with transaction.atomic():
        facts = {"classifier": str(classifier), "labelled_sets": len(waiting), **result.as_json()}
        record("bank.classified", actor=actor, at=at, subject=bank, facts=facts)
    return result


def _score_labelled(one: LabelledSet, score: Score, progress: Progress) -> None:
    found: list[list[float]] = []
    texts = one.texts or []
    for start in range(0, len(texts), AT_ONCE):
        progress.report(start, len(texts), _("labelled texts scored"))
        found += score(texts[start : start + AT_ONCE])
    LabelledSet.objects.filter(pk=one.pk).update(probabilities=found, texts=None)


def _find(classifier: Classifier, bank: QuestionBank, at: datetime) -> CheckResult:
    """Bring findings in line with scores and thresholds; those of another classifier for the same part go."""
    result, limits = CheckResult(), list(classifier.thresholds.all())
    current = Revision.objects.in_bank(bank).current().order_by()
    scores = ClassScore.objects.filter(classifier=classifier, revision__in=current.values("pk"))
    rows, last = scores.order_by("revision").values_list("revision", "probabilities"), 0
    while limits and (page := list(rows.filter(revision__gt=last)[:CHUNK])):
        last = page[-1][0]
        found = {pk: list(_flaws(classifier, limits, probabilities)) for pk, probabilities in page}
        with transaction.atomic():
            store_found(bank, found, result, at=at, of=[RULE_OF[one.part] for one in limits])
        result.n_questions += len(found)
        for flaws in found.values():
            result.rules.update({one.rule for one in flaws})
    return result


def _flaws(classifier: Classifier, limits: Sequence[ClassThreshold], probabilities: Sequence[float]) -> list[Flaw]:
    return [
        flaw(
            RULE_OF[limit.part],
            FindingPlace.QUESTION,
            label=limit.label,
            p=f"{p:.3f}",
            classifier=classifier,
            threshold=f"{limit.threshold:g}",
        )
        for limit in limits
        if (p := probabilities[classifier.labels.index(limit.label)]) >= limit.threshold
    ]


def classify_in_background(progress: Progress, params: ScoringParams) -> Result:
    """The job."""
    classifier, bank = Classifier.objects.get(pk=params["classifier"]), QuestionBank.objects.get(pk=params["bank"])
    actor = User.objects.filter(pk=params["actor"]).first() if "actor" in params else None
    result = score_questions(classifier, bank, actor=actor, at=timezone.now(), progress=progress)
    return {"page": reverse("bank-compliance", args=[bank.slug]), **result.as_json()}


# --- thresholds ---
@transaction.atomic
def set_threshold(
    labelled: LabelledSet,
    *,
    label: str,
    part: str,
    threshold: float,
    bank: QuestionBank,
    actor: User | None,
    at: datetime,
) -> ClassThreshold:
    """From now on questions whose probability of the class reaches it fail the part; findings follow by a job.

    Raises ClassifierRefused (``no_class``, ``no_part``, ``out_of_range``, ``not_scored``).
    """
    classifier = labelled.classifier
    if label not in classifier.labels:
        sentence = _("“%(label)s” is no class of %(classifier)s. Its classes: %(known)s.")
        facts = {"label": label[:60], "classifier": classifier, "known": ", ".join(classifier.labels)}
        raise ClassifierRefused("no_class", sentence % facts, status=422, field="label")
    if part not in RULE_OF:
        sentence = _("State what the class is about: %(known)s.") % {"known": ", ".join(RULE_OF)}
        raise ClassifierRefused("no_part", sentence, status=422, field="part")
    if not 0 <= threshold <= 1:
        raise ClassifierRefused("out_of_range", _("A threshold is from 0 to 1."), status=422, field="threshold")
    if labelled.texts is not None:
        raise ClassifierRefused("not_scored", _("The labelled set is not scored yet; look again in a minute."))
    measured = at_threshold(scored_in(labelled, label), threshold).as_json()
    before = ClassThreshold.objects.select_for_update(of=("self",)).filter(classifier=classifier, part=part).first()
    made = before or ClassThreshold(classifier=classifier, part=part)
    facts = {"classifier": str(classifier), "part": part, "label": label, "threshold": threshold}
    facts |= {"before": before.threshold if before else None, "labelled_set": labelled.public_id, **measured}
    made.label, made.threshold, made.labelled_set, made.measured = label, threshold, labelled, measured
    made.set_by, made.set_at = actor, at
    made.save()
    record("classifier.threshold_set", actor=actor, at=at, subject=labelled, facts=facts)
    if actor is not None:
        _enqueue(classifier, bank, actor=actor, at=at)
    return made


# --- shown ---
class ThresholdRow(Struct, frozen=True):
    """A threshold, what was measured at it, and how many questions have an open or a dismissed finding by its part."""

    threshold: ClassThreshold
    part: ValidityPart
    rule: str
    precision: Estimate
    recall: Estimate
    n_open: int
    n_dismissed: int


class ClassifierRow(Struct, frozen=True):
    """``labelled``: the newest set that is scored; ``is_waiting``: one is not."""

    classifier: Classifier
    n_scored: int
    thresholds: list[ThresholdRow]
    labelled: LabelledSet | None
    is_waiting: bool

    @property
    def classes(self) -> list[str]:
        """Those that the names say to be about compliance come first."""
        labels: list[str] = self.classifier.labels
        return sorted(labels, key=lambda one: (not part_of_class(one), labels.index(one)))

    def curve(self, label: str) -> ClassCurve | None:
        return curve_of(scored_in(self.labelled, label)) if self.labelled else None


def classifiers_of(bank: QuestionBank, hidden: QuerySet[Question]) -> list[ClassifierRow]:
    """Those that scored a question of the bank or have a labelled set; without questions hidden from who asks."""
    current = Revision.objects.in_bank(bank).current().exclude(question__in=hidden).order_by()
    found = Finding.objects.of_rules().filter(bank=bank, rule__in=RULE_OF.values(), revision__in=current.values("pk"))
    is_open = Q(dismissed_at=None)
    counts = {
        rule: numbers
        for rule, *numbers in found.order_by()
        .values_list("rule")
        .annotate(n_open=Count("pk", filter=is_open), n_dismissed=Count("pk", filter=~is_open))
    }
    rows = list[ClassifierRow]()
    for one in Classifier.objects.prefetch_related("thresholds__set_by", "labelled_sets"):
        n_scored = ClassScore.objects.filter(classifier=one, revision__in=current.values("pk")).count()
        sets = list(one.labelled_sets.all())
        thresholds = [_threshold_row(limit, counts) for limit in one.thresholds.all()]
        if n_scored or sets:
            labelled = next((found for found in sets if found.texts is None), None)
            rows.append(ClassifierRow(one, n_scored, thresholds, labelled, any(s.texts is not None for s in sets)))
    return rows


def _threshold_row(limit: ClassThreshold, counts: dict[str, list[int]]) -> ThresholdRow:
    precision, recall = (
        share(limit.measured[name]["count"], limit.measured[name]["n"]) for name in ("precision", "recall")
    )
    rule = RULE_OF[limit.part]
    return ThresholdRow(limit, PARTS[limit.part], rule, precision, recall, *counts.get(rule, (0, 0)))
