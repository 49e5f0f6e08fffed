from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.fields import KEPT, Deletable, KeptManager, PublicIdField, WordField, named_once
from readerstudy.enums import Aid, Block, Information, StudyState


class ReaderStudy(Deletable):
    """A multi-reader multi-case experiment. Once frozen, nothing of its design changes: a change is a copy."""

    name = models.CharField(_("name"), max_length=200)
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
    instructions = models.TextField(_("instructions"), blank=True)
    consent = models.TextField(_("consent"), blank=True)
    consent_version = models.PositiveSmallIntegerField(default=1)
    contact = models.CharField(_("contact"), max_length=200, blank=True)
    deadline_at = models.DateTimeField(null=True, blank=True)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")  # in which the deadline is named
    protocol = models.TextField(blank=True)  # canonical JSON of what readers may see; keys behind a commitment
    protocol_sha256 = models.CharField(max_length=64, blank=True)
    keys_salt = models.CharField(max_length=64, blank=True)  # opens the commitment at closing
    simulated = models.BooleanField(default=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # null: made on the command line
    created_at = models.DateTimeField()
    frozen_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    unblinded_at = models.DateTimeField(null=True, blank=True)  # the first time that anybody sees a result
    archived_at = models.DateTimeField(null=True, blank=True)

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
    name = models.CharField(_("name"), max_length=60)

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
    accepted_because = models.TextField(blank=True)  # the coordinator's reason where reviews do not accept it
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
    reason = models.TextField()
    before_unblinding = models.BooleanField()
    declared = models.BooleanField(default=False)  # decided in an older study; stated with the import of its readings
    source = models.CharField(max_length=200, blank=True)  # the file that it was imported with
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"voiding of case {self.case_id}"


class StudyRole(models.Model):
    """A person who coordinates one study without coordinating the site."""

    study = models.ForeignKey(ReaderStudy, on_delete=models.CASCADE, related_name="coordinators")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    granted_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["study", "user"], name="study_role_once"),)

    def __str__(self) -> str:
        return f"{self.user} coordinates study {self.study_id}"
