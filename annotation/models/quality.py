"""What rules and models found in the wording of a question, before a radiologist reads it.

How near two questions are by the vectors of an embedding model, at an endpoint or in a folder of the server.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.enums import FindingPlace
from annotation.models.calls import LONGEST_ENDPOINT, LONGEST_MODEL
from annotation.models.fields import ComposedLine, PublicIdField, WordField, a_person_or_none


class FindingQuerySet(models.QuerySet["Finding"]):
    def of_rules(self) -> FindingQuerySet:
        return self.filter(call=None)

    def against(self) -> FindingQuerySet:
        """What speaks against a question: what rules found, and the newest verdict of a validator if it is "fail"."""
        return self.filter(superseded_at=None, verdict__in=("", "fail"))

    def open(self) -> FindingQuerySet:
        """What speaks against a question and was not dismissed."""
        return self.against().filter(dismissed_at=None)


class Finding(models.Model):
    """One rule that fired at one place of one wording, or the verdict of a model that a validator asked.

    It is shown, and acted on only where a person says so of the bank. Place and detail may tell the key: only
    coordinators see a finding, and no related name leads to it.
    """

    public_id = PublicIdField()
    bank = models.ForeignKey(
        "annotation.QuestionBank", on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )  # that of the revision
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+", db_index=False)
    rule = models.CharField(max_length=32)  # a code of annotation.questionbank.kernels.rules.RULES, or of a validator
    rule_version = models.PositiveSmallIntegerField()  # of a validator: the number of its prompt version
    place = WordField(FindingPlace, max_length=11)
    detail = models.TextField()  # what was found, and what to do
    other = models.ForeignKey(
        "annotation.Revision", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # of a near-duplicate: the most similar one
    call = models.ForeignKey(
        "annotation.ModelCall", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )  # which a validator made: it leads to prompt and model; null: a rule
    verdict = models.CharField(max_length=9, blank=True)  # of a validator; pass of a near-duplicate: kept; else empty
    superseded_at = models.DateTimeField(null=True, blank=True)  # its validator was asked again
    found_at = models.DateTimeField()
    dismissed_at = models.DateTimeField(null=True, blank=True)
    dismissed_by = a_person_or_none(db_index=False)
    dismiss_reason = ComposedLine(_("reason"), max_length=500, blank=True)

    objects = FindingQuerySet.as_manager()

    class Meta:
        ordering = ("revision", "rule", "place")
        constraints = (
            models.UniqueConstraint(
                fields=["revision", "rule", "rule_version", "place"], condition=Q(call=None), name="finding_once"
            ),
            models.UniqueConstraint(fields=["call"], condition=Q(call__isnull=False), name="verdict_once"),
        )
        indexes = (
            models.Index(fields=["revision"], name="finding_of_revision"),
            models.Index(
                fields=["bank", "rule", "revision"],
                name="finding_of_bank",
                condition=Q(dismissed_at__isnull=True, superseded_at__isnull=True),
            ),
            models.Index(
                fields=["bank", "rule", "revision"],
                name="finding_dismissed",
                condition=Q(dismissed_at__isnull=False, superseded_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.rule} in revision {self.revision_id}"


class Gate(models.Model):
    """Which parts of V(Q) the questions of a bank have to pass; rows stay, and the highest number counts."""

    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.CASCADE, related_name="gates")
    number = models.PositiveSmallIntegerField()  # its version
    name = ComposedLine(_("name"), max_length=100)
    parts = models.JSONField(default=list)  # codes of PARTS in questionbank.kernels.question_checks; none: no gate
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    set_at = models.DateTimeField()

    class Meta:
        ordering = ("bank", "-number")
        constraints = (models.UniqueConstraint(fields=["bank", "number"], name="gate_once"),)

    def __str__(self) -> str:
        return f"{self.name}, version {self.number}"


class Release(models.Model):
    """A benchmark as it was released: never changed, and written as files whenever they are asked for, unless it is
    withdrawn, after which nobody gets them and its name stays taken.
    """

    public_id = PublicIdField()
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="releases")
    gate = models.ForeignKey(Gate, on_delete=models.PROTECT, related_name="+")
    name = ComposedLine(_("name"), max_length=100)
    shares = models.JSONField()  # percent by split
    seed = models.PositiveIntegerField(_("seed"))
    counts = models.JSONField()  # by split: questions and patients
    left_out = models.JSONField(default=dict)  # questions of the bank then, by why
    sums = models.JSONField(default=dict)  # SHA-256 of each file but images
    released_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    released_at = models.DateTimeField()
    withdrawn_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)
    withdrawal_reason = ComposedLine(max_length=500, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (models.UniqueConstraint(fields=["bank", "name"], name="release_once"),)

    def __str__(self) -> str:
        return self.name


class ReleasedQuestion(models.Model):
    """One wording of a release and its split."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="questions")
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+")
    split = models.CharField(max_length=7)  # of annotation.exports.kernels.data_card.Split

    class Meta:
        constraints = (models.UniqueConstraint(fields=["release", "revision"], name="released_once"),)

    def __str__(self) -> str:
        return f"revision {self.revision_id} in {self.split}"


class ValidatorRun(models.Model):
    """The calls by which one validator is asked about the questions of a bank."""

    public_id = PublicIdField()
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="validator_runs")
    validator = models.CharField(max_length=8)  # a code of annotation.questionbank.kernels.question_checks.ASKED
    batch = models.OneToOneField("annotation.CallBatch", on_delete=models.PROTECT, related_name="+")
    left_out = models.JSONField(default=list)  # {"question", "why"}: not asked, see annotation/validators
    n_unread = models.PositiveIntegerField(default=0)  # answers that hold no verdict
    created_by = a_person_or_none()  # null: on the command line
    created_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True, blank=True)  # when the verdicts were stored

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.validator} run {self.public_id}"


# --- How likely a question is of a class, by a classifier in a folder of the server -----------------
class Classifier(models.Model):
    """A classifier of texts in a folder: other files are another one. Thresholds make findings of what it gives."""

    public_id = PublicIdField()
    folder = models.CharField(max_length=30)
    fingerprint = models.CharField(max_length=12)  # of its files
    labels = models.JSONField()  # its classes, in the order of ``probabilities``
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("folder", "-pk")
        constraints = (models.UniqueConstraint(fields=["folder", "fingerprint"], name="classifier_once"),)

    def __str__(self) -> str:
        return f"{self.folder} ({self.fingerprint})"


class ClassScore(models.Model):
    """The probability of each class for one wording."""

    classifier = models.ForeignKey(Classifier, on_delete=models.PROTECT, related_name="+", db_index=False)
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+")
    probabilities = models.JSONField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["classifier", "revision"], name="class_score_once"),)

    def __str__(self) -> str:
        return f"classes of revision {self.revision_id}"


class LabelledSet(models.Model):
    """Texts of which people say the classes, scored by a classifier. The texts go once they are scored."""

    public_id = PublicIdField()
    classifier = models.ForeignKey(Classifier, on_delete=models.PROTECT, related_name="labelled_sets")
    name = ComposedLine(max_length=100)  # of its file
    sha256 = models.CharField(max_length=64)
    texts = models.JSONField(null=True)  # null: scored
    classes = models.JSONField()  # of each text, the names
    probabilities = models.JSONField(default=list)  # of each text, in the order of the classifier's classes
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.name


class ClassThreshold(models.Model):
    """From which probability of a class on a question fails a part of compliance, and what was measured there."""

    classifier = models.ForeignKey(Classifier, on_delete=models.PROTECT, related_name="thresholds")
    part = models.CharField(max_length=11)  # identifiers or bias, of PARTS in questionbank.kernels.question_checks
    label = models.CharField(max_length=60)
    threshold = models.FloatField()
    labelled_set = models.ForeignKey(LabelledSet, on_delete=models.PROTECT, related_name="+")
    measured = models.JSONField()  # precision and recall there
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    set_at = models.DateTimeField()

    class Meta:
        ordering = ("classifier", "-part")
        constraints = (models.UniqueConstraint(fields=["classifier", "part"], name="class_threshold_once"),)

    def __str__(self) -> str:
        return f"{self.label} from {self.threshold:g} on"


# --- How near two questions are by the vectors of an embedding model, at an endpoint or -----------
FOLDER = "folder:"  # before the name of a folder; no endpoint has a colon in its name


class Embedding(models.Model):
    """A model that turns questions into vectors. A similarity is called near only by its own threshold.

    Of a folder the endpoint is ``folder:NAME``, and the model the fingerprint of its files.
    """

    public_id = PublicIdField()
    endpoint = models.CharField(max_length=LONGEST_ENDPOINT)
    model = models.CharField(max_length=LONGEST_MODEL)
    dimension = models.PositiveIntegerField(null=True, blank=True)  # of all its vectors; null: none came yet
    threshold = models.FloatField(_("threshold"), null=True, blank=True)  # null: nothing is called a duplicate
    threshold_set_by = a_person_or_none()
    threshold_set_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("endpoint", "model")
        constraints = (models.UniqueConstraint(fields=["endpoint", "model"], name="embedding_once"),)

    def __str__(self) -> str:
        return f"{self.folder} ({self.model})" if self.folder else f"{self.model} at {self.endpoint}"

    @property
    def folder(self) -> str:
        """Its name; empty for a model at an endpoint."""
        return self.endpoint.removeprefix(FOLDER) if self.endpoint.startswith(FOLDER) else ""


class QuestionVector(models.Model):
    """Of stem and options of one wording: float32, little-endian, of length 1."""

    embedding = models.ForeignKey(Embedding, on_delete=models.PROTECT, related_name="+", db_index=False)
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+")
    text_sha256 = models.CharField(max_length=64)  # of the text that was sent: equal ones are asked about once
    vector = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["embedding", "revision"], name="vector_once"),)
        indexes = (models.Index(fields=["embedding", "text_sha256"], name="vector_of_text"),)

    def __str__(self) -> str:
        return f"vector of revision {self.revision_id}"


class PairTrial(models.Model):
    """Two people say of pairs over the range of similarity whether they are the same question, each for themselves."""

    public_id = PublicIdField()
    embedding = models.ForeignKey(Embedding, on_delete=models.PROTECT, related_name="trials")
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="pair_trials")
    seed = models.PositiveIntegerField(_("seed"))
    first_judge = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    second_judge = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)  # by a person, before both had judged all pairs
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"pairs of {self.embedding}"


class JudgedPair(models.Model):
    """One pair of a trial. Its similarity is shown to nobody before both have judged all pairs."""

    trial = models.ForeignKey(PairTrial, on_delete=models.PROTECT, related_name="pairs", db_index=False)
    number = models.PositiveSmallIntegerField()  # in which it is shown: drawn, so that it tells no similarity
    first = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+", db_index=False)
    second = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+", db_index=False)
    similarity = models.FloatField()

    class Meta:
        ordering = ("trial", "number")
        constraints = (models.UniqueConstraint(fields=["trial", "number"], name="pair_once"),)

    def __str__(self) -> str:
        return f"pair {self.number}"


class PairJudgement(models.Model):
    """What one of the two says of a pair; it stays."""

    pair = models.ForeignKey(JudgedPair, on_delete=models.PROTECT, related_name="judgements", db_index=False)
    judge = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    is_same = models.BooleanField()
    judged_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["pair", "judge"], name="judged_once"),)

    def __str__(self) -> str:
        return f"judgement of pair {self.pair_id}"
