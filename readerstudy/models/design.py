"""What a study is, how it was changed, and what was analysed of it."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.conf import settings as site
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.fields import (
    KEPT,
    ComposedLine,
    ComposedText,
    Deletable,
    KeptManager,
    PublicIdField,
    WordField,
    a_person_or_none,
    named_once,
)
from readerstudy.enums import Aid, Block, Information, StudyState


class ReaderStudy(Deletable):
    """A multi-reader multi-case experiment. Once frozen, nothing of its design changes: a change is a copy."""

    name = ComposedLine(_("name"), max_length=200)
    slug = models.SlugField(max_length=80)
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="+")
    state = WordField(StudyState, max_length=8, default=StudyState.DRAFT)
    copy_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="copies")
    seed = models.BigIntegerField(_("seed"), default=1)  # of the draw of cases and of the orders
    draw = models.JSONField(default=dict, blank=True)  # how the main block was drawn; {} for a list of cases
    rules = models.JSONField(default=dict, blank=True)  # readerstudy.design.kernels.documents.Rules
    analysis = models.JSONField(default=dict, blank=True)  # readerstudy.design.kernels.analysis_plan.AnalysisPlan
    n_readers = models.PositiveSmallIntegerField(_("readers"), default=3)
    n_orders = models.PositiveSmallIntegerField(_("orders drawn"), default=0)
    instructions = ComposedText(_("instructions"), blank=True)
    consent = ComposedText(_("consent"), blank=True)
    consent_version = models.PositiveSmallIntegerField(default=1)
    contact = ComposedLine(_("contact"), max_length=200, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")  # in which the deadline is named
    protocol = models.TextField(blank=True)  # canonical JSON of what readers may see; keys behind a commitment
    protocol_sha256 = models.CharField(max_length=64, blank=True)
    keys_salt = models.CharField(max_length=64, blank=True)  # opens the commitment at closing
    simulated = models.BooleanField(default=False)
    created_by = a_person_or_none()  # null: made on the command line
    created_at = models.DateTimeField()
    frozen_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    unblinded_at = models.DateTimeField(null=True, blank=True)  # the first time that anybody sees a result
    archived_at = models.DateTimeField(null=True, blank=True)
    own_analysis = models.ForeignKey(
        "Analysis", on_delete=models.SET_NULL, null=True, blank=True, related_name="own_of"
    )  # the one that was asked for last by the plan's settings; those by others are sensitivity analyses

    objects: KeptManager[ReaderStudy] = KeptManager()
    everywhere = models.Manager["ReaderStudy"]()

    class Meta:
        ordering = ("-created_at",)
        verbose_name_plural = "reader studies"
        constraints = (
            *named_once("study"),
            models.CheckConstraint(condition=KEPT | Q(state=StudyState.DRAFT), name="study_in_bin_is_draft"),
        )

    def __str__(self) -> str:
        return self.name


class Arm(models.Model):
    """A reading condition. Studies of one arm have number 1."""

    study = models.ForeignKey(ReaderStudy, on_delete=models.CASCADE, related_name="arms")
    number = models.PositiveSmallIntegerField(default=1)
    information = WordField(Information, max_length=10, default=Information.NONE)
    aid = WordField(Aid, max_length=8, default=Aid.NONE)

    class Meta:
        ordering = ("study", "number")
        constraints = (models.UniqueConstraint(fields=["study", "number"], name="arm_number_once"),)

    def __str__(self) -> str:
        return f"arm {self.number} of study {self.study_id}"


class CaseSet(models.Model):
    """The cases that some readers read. Sets of a study may overlap."""

    study = models.ForeignKey(ReaderStudy, on_delete=models.CASCADE, related_name="sets")
    number = models.PositiveSmallIntegerField(default=1)
    name = ComposedLine(_("name"), max_length=60)

    class Meta:
        ordering = ("study", "number")
        constraints = (models.UniqueConstraint(fields=["study", "number"], name="case_set_number_once"),)

    def __str__(self) -> str:
        return self.name


class StudyCase(models.Model):
    """One question with its exam, in the wording that was current when the case was chosen."""

    public_id = PublicIdField()
    study = models.ForeignKey(ReaderStudy, on_delete=models.CASCADE, related_name="cases")
    number = models.PositiveIntegerField()  # 1, 2, 3 in its block; says nothing about any reader's order
    block = WordField(Block, max_length=8, default=Block.MAIN)
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+")
    sets = models.ManyToManyField(CaseSet, related_name="cases", blank=True)  # of the main block
    accepted_because = ComposedText(blank=True)  # the coordinator's reason where reviews do not accept it
    n_lost = models.PositiveSmallIntegerField(default=0)  # removed images of its exam when it was chosen with a reason
    information = models.JSONField(null=True, blank=True)  # at freeze: what the arm tells beside the images
    shown_sha256 = models.CharField(max_length=64, blank=True)  # at freeze: wording, images and information as shown

    class Meta:
        ordering = ("study", "block", "number")
        constraints = (
            models.UniqueConstraint(fields=["study", "block", "number"], name="study_case_number_once"),
            models.UniqueConstraint(fields=["study", "revision"], name="study_case_once"),
        )

    def __str__(self) -> str:
        return f"{self.block} case {self.number} of study {self.study_id}"


class ShownImage(models.Model):
    """An image of a frozen case as its readers see it. What changes at the image afterwards does not reach them."""

    case = models.ForeignKey(StudyCase, on_delete=models.CASCADE, related_name="shown_images")
    position = models.PositiveSmallIntegerField()
    image = models.ForeignKey("annotation.Image", on_delete=models.PROTECT, related_name="+")
    frozen = models.JSONField()  # see readerstudy.design.shown

    class Meta:
        ordering = ("case", "position")
        constraints = (models.UniqueConstraint(fields=["case", "position"], name="shown_image_position_once"),)

    def __str__(self) -> str:
        return f"image {self.position} of case {self.case_id}"


class Voiding(models.Model):
    """A case left out, with a reason: before unblinding of everything, after it only of a sensitivity analysis."""

    case = models.OneToOneField(StudyCase, on_delete=models.PROTECT, related_name="voiding")
    reason = ComposedText()
    before_unblinding = models.BooleanField()
    declared = models.BooleanField(default=False)  # decided in an older study; stated with the import of its readings
    source = models.CharField(max_length=200, blank=True)  # the file that it was imported with
    actor = a_person_or_none()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"voiding of case {self.case_id}"


class StudyRole(models.Model):
    """A person who coordinates one study without coordinating the site."""

    study = models.ForeignKey(ReaderStudy, on_delete=models.CASCADE, related_name="coordinators")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    granted_by = a_person_or_none()
    granted_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["study", "user"], name="study_role_once"),)

    def __str__(self) -> str:
        return f"{self.user} coordinates study {self.study_id}"


class Analysis(models.Model):
    """One computed analysis of a study. Never changed: another input or another setting makes another row.

    Whether it is stale is asked of readerstudy.analysis.storing, which compares ``inputs_sha256`` with what is
    in the tables now.
    """

    public_id = PublicIdField()
    study = models.ForeignKey(ReaderStudy, on_delete=models.PROTECT, related_name="analyses")
    inputs_sha256 = models.CharField(max_length=64)  # of answers, keys, voidings, raters and protocol
    seed = models.BigIntegerField()  # of the bootstrap
    settings = models.JSONField()  # readerstudy.analysis.kernels.scoring.Settings
    software = models.JSONField()  # versions of the program and of its numeric libraries
    result = models.TextField()  # canonical JSON, see docs/analysis.md; the same inputs give the same bytes
    result_sha256 = models.CharField(max_length=64)
    created_by = a_person_or_none()  # null: on the command line, or when the study closed by itself
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")
        verbose_name_plural = "analyses"
        constraints = (models.UniqueConstraint(fields=["study", "result_sha256"], name="analysis_once"),)

    def __str__(self) -> str:
        return f"analysis {self.public_id}"


class InputsMark(models.Model):
    """What the inputs of a study hashed to when its tables stood at this mark: spares reading them all again.

    Made from the tables and never an input of anything: a row that is deleted is made again.
    """

    study = models.OneToOneField(ReaderStudy, on_delete=models.CASCADE, related_name="+")
    mark_sha256 = models.CharField(max_length=64)  # readerstudy.analysis.gathering
    inputs_sha256 = models.CharField(max_length=64)  # readerstudy.analysis.kernels.arrays.StudyArrays.sha256

    def __str__(self) -> str:
        return f"mark of the inputs of study {self.study_id}"


class ModelComparison(models.Model):
    """The models on one bank, compared. Never changed: another input makes another row; the newest one is shown.

    Whether it is stale: ``inputs_sha256`` is not what readerstudy.analysis.comparing_models.inputs_now says.
    """

    public_id = PublicIdField()
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="+")
    inputs_sha256 = models.CharField(max_length=64)  # of the named runs and the published imports of the bank
    result = models.TextField()  # canonical JSON; the same inputs give the same bytes
    result_sha256 = models.CharField(max_length=64)
    created_by = a_person_or_none()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-pk")
        constraints = (models.UniqueConstraint(fields=["bank", "result_sha256"], name="comparison_once"),)

    def __str__(self) -> str:
        return f"comparison {self.public_id}"


class AnalysisReport(models.Model):
    """The report of one analysis as a ZIP file (readerstudy.exports.report_writing), which can be made again any time.

    The same analysis gives the same bytes and then no second row; another version of the program, or other words about
    a model, may make another file.
    """

    public_id = PublicIdField()  # also names the file
    analysis = models.ForeignKey(Analysis, on_delete=models.CASCADE, related_name="reports")
    sha256 = models.CharField(max_length=64)
    n_bytes = models.PositiveBigIntegerField()
    contents = models.JSONField()  # [[name, bytes, SHA-256, what it is]], by name
    made_by = a_person_or_none()  # null: on the command line
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("-made_at", "-pk")
        constraints = (models.UniqueConstraint(fields=["analysis", "sha256"], name="report_once"),)

    def __str__(self) -> str:
        return f"report {self.public_id}"


class ResultsLink(models.Model):
    """A link by which anybody sees the results of one analysis until it expires. Only the hash of its token is kept."""

    analysis = models.ForeignKey(Analysis, on_delete=models.PROTECT, related_name="links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    note = ComposedLine(max_length=200, blank=True)  # for whom it is; seen by coordinators only
    created_by = models.ForeignKey(site.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to the minute

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"link {self.pk} to results"

    def is_open(self, at: datetime) -> bool:
        return self.revoked_at is None and at < self.expires_at
