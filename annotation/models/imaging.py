"""Exams and their images, and what things are called at their source."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.enums import IdentifierKind, ImageState, RenditionKind, Sex, Turn, ViewPosition
from annotation.hashes import identifier_digest as identifier_digest
from annotation.models.fields import ComposedLine, Deletable, KeptWithBank, PublicIdField, WordField


class Exam(models.Model):
    """One imaging study of one patient (DICOM Study). Its numbers at the source are in SourceIdentifier.

    An exam without a bank came in as images only; the import of a bank that names its images takes it over.
    """

    public_id = PublicIdField()
    bank = models.ForeignKey(
        "annotation.QuestionBank", on_delete=models.PROTECT, null=True, blank=True, related_name="exams"
    )
    bank_import = models.ForeignKey(
        "annotation.BankImport", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # the import that brought it; null for an exam made by ingest
    pseudonym = models.CharField(max_length=16)  # keyed, stable stand-in for the exam
    patient_pseudonym = models.CharField(max_length=16, blank=True)  # empty: patient not known
    age_years = models.PositiveSmallIntegerField(_("age"), null=True, blank=True)  # 90 means 90 or older
    sex = WordField(Sex, max_length=1, blank=True, default=Sex.UNKNOWN)
    prior = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="later_exams", db_index=False
    )  # an earlier exam of the patient in the same bank, whose images are shown beside these

    class Meta:
        ordering = ("id",)
        indexes = (models.Index(fields=["prior"], name="exam_prior", condition=Q(prior__isnull=False)),)

    def __str__(self) -> str:
        return f"exam {self.pseudonym}"

    @property
    def shown_ids(self) -> tuple[int, ...]:
        """The exams whose images are shown with it: its own, and the prior."""
        return (self.pk,) if self.prior_id is None else (self.pk, self.prior_id)


class Image(models.Model):
    """One SOP instance. Pending until its pixels come in; seen by people only when available."""

    public_id = PublicIdField()
    exam = models.ForeignKey(Exam, on_delete=models.PROTECT, related_name="images")
    position = models.PositiveSmallIntegerField(default=0)  # order in the exam at the source
    state = WordField(ImageState, max_length=12, default=ImageState.PENDING)
    state_reason = ComposedLine(max_length=300, blank=True)  # why it is in quarantine or removed
    view_position = WordField(ViewPosition, max_length=8, default=ViewPosition.UNKNOWN)
    laterality = models.CharField(max_length=1, blank=True)
    modality = models.CharField(max_length=4, blank=True)
    rows = models.PositiveIntegerField(null=True, blank=True)
    columns = models.PositiveIntegerField(null=True, blank=True)
    bits_stored = models.PositiveSmallIntegerField(null=True, blank=True)
    photometric_interpretation = models.CharField(max_length=16, blank=True)
    display = models.JSONField(null=True, blank=True)  # annotation.imaging.kernels.rendering.Display, for the viewer
    warnings = models.JSONField(default=list, blank=True)  # list of {code, message}
    turn = WordField(Turn, blank=True, default=Turn.NONE)  # what Patient Orientation asks for; empty: it lies as usual
    is_turned = models.BooleanField(null=True)  # null: nobody decided, so it is held
    text_findings = models.JSONField(default=list, blank=True)  # boxes and sides of marks; no text
    source_sha256 = models.CharField(max_length=64, blank=True)  # of the bytes that came in
    pixels_sha256 = models.CharField(max_length=64, blank=True)
    object_name = models.CharField(max_length=64, blank=True)  # de-identified DICOM object in storage
    deidentification = models.CharField(max_length=32, blank=True)  # version of the procedure
    attribution = ComposedLine(max_length=300, blank=True)
    licence = ComposedLine(max_length=100, blank=True)
    simulated = models.BooleanField(default=False)
    ingested_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("exam", "position", "id")
        indexes = (
            models.Index(fields=["source_sha256"], name="image_source", condition=~Q(source_sha256="")),
            models.Index(fields=["state", "exam"], name="image_by_state"),
        )

    def __str__(self) -> str:
        return f"image {self.public_id}"

    @property
    def waits_for_turn(self) -> bool:
        return bool(self.turn) and self.is_turned is None


class Rendition(models.Model):
    """A copy of an image made for display, at one size and bit depth, under a random name."""

    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="renditions")
    kind = WordField(RenditionKind, max_length=10)
    name = PublicIdField()  # the name in addresses and in storage
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    bits = models.PositiveSmallIntegerField()
    n_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["image", "kind"], name="rendition_one_per_kind"),)

    def __str__(self) -> str:
        return f"{self.kind} of {self.image_id}"


class AllowedWords(models.Model):
    """One version of a site's words that are never names, all of them; rows stay, and the highest number counts."""

    number = models.PositiveIntegerField(unique=True)  # is in the audit event of each image that it judged
    words = models.JSONField(default=list)  # capitals
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("number",)

    def __str__(self) -> str:
        return f"version {self.number}"


class Upload(Deletable):
    """Files that a person sent through the browser, kept until their job has read them."""

    public_id = PublicIdField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    purpose = models.CharField(max_length=16)  # images, questions
    bank = models.ForeignKey(
        "annotation.QuestionBank", on_delete=models.PROTECT, null=True, blank=True, related_name="uploads"
    )
    n_files = models.PositiveIntegerField(default=0)
    n_bytes = models.PositiveBigIntegerField(default=0)
    asked = models.JSONField(default=dict, blank=True)  # the parameters of its job, once its columns are matched
    job = models.ForeignKey("annotation.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    archived_at = models.DateTimeField(null=True, blank=True)

    objects: KeptWithBank[Upload] = KeptWithBank()
    everywhere = models.Manager["Upload"]()

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"upload {self.public_id}"


class SourceIdentifier(models.Model):
    """What a thing is called at its source: paths, patient, accession and study numbers, question keys.

    Restricted: read by matching (import, ingest), and for coordinators only, who brought the file: the ids of
    questions (annotation/questionbank/source_names.py), the names of missing images and views that nobody understands.
    Looked up by ``digest`` (annotation/hashes.py), then compared by ``value``.
    """

    digest = models.BigIntegerField()
    kind = WordField(IdentifierKind, max_length=16)
    value = models.TextField()
    root = models.TextField(blank=True)  # image paths: the folder that no path may leave
    numbers = models.JSONField(null=True)  # of an exam key: patient and accession number, by which nothing is looked up
    bank = models.ForeignKey(
        "annotation.QuestionBank",
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )  # checking each row costs an import a quarter of its time in PostgreSQL
    question_id = models.BigIntegerField(null=True)  # plain numbers: no join leads here from a question
    exam_id = models.BigIntegerField(null=True)
    image_id = models.BigIntegerField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["digest"], name="identifier_digest"),
            models.Index(fields=["bank", "exam_id"], name="identifier_prior", condition=models.Q(kind="prior_exam")),
            models.Index(fields=["image_id"], name="identifier_view", condition=models.Q(kind="stated_view")),
            models.Index(fields=["image_id"], name="identifier_path", condition=models.Q(kind="image_path")),
            models.Index(
                fields=["question_id"], name="identifier_question", condition=models.Q(question_id__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} of the source"  # never the value: it could reach a log
