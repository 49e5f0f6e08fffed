from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.fields import PublicIdField
from annotation.models.people import Invitation
from readerstudy.models.design import Arm, CaseSet, ReaderStudy, StudyCase


class StudyInvitation(models.Model):
    """The place in a study that an invitation gives: whoever opens its link becomes a reader."""

    invitation = models.OneToOneField(Invitation, on_delete=models.CASCADE, related_name="to_study")
    study = models.ForeignKey(ReaderStudy, on_delete=models.CASCADE, related_name="invitations")
    case_set = models.ForeignKey(CaseSet, on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"invitation {self.pk} to study {self.study_id}"


DECLINED = Q(withdrawn_at__isnull=False, consented_at__isnull=True, orders=None)  # the order went back to the study


class Enrolment(models.Model):
    """One reader in one study. How far the reader has come follows from the times: readerstudy.enrolment.kernels.steps.

    Withdrawing and being replaced are states, never deletions.
    """

    public_id = PublicIdField()
    study = models.ForeignKey(ReaderStudy, on_delete=models.PROTECT, related_name="enrolments")
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="enrolments"
    )  # null: the readings were made elsewhere and imported
    case_set = models.ForeignKey(CaseSet, on_delete=models.PROTECT, related_name="enrolments")
    invitation = models.OneToOneField(
        StudyInvitation, on_delete=models.PROTECT, null=True, blank=True, related_name="enrolment"
    )
    pseudonym = models.CharField(max_length=60)  # in every table that leaves the program
    source = models.CharField(max_length=200, blank=True)  # the file of an imported reader
    enrolled_at = models.DateTimeField()
    consented_at = models.DateTimeField(null=True, blank=True)
    consent_version = models.PositiveSmallIntegerField(null=True, blank=True)
    consent_sha256 = models.CharField(max_length=64, blank=True)  # of the text that was agreed to
    facts = models.JSONField(default=dict, blank=True)  # training, years, fellowship, films per week, display, exposure
    instructed_at = models.DateTimeField(null=True, blank=True)
    display = models.JSONField(default=dict, blank=True)  # steps seen, window size, pixel ratio
    display_checked_at = models.DateTimeField(null=True, blank=True)
    practised_at = models.DateTimeField(null=True, blank=True)  # the practice block is done, and passed if it must be
    deadline_at = models.DateTimeField(null=True, blank=True)  # extended for this reader; null: that of the study
    finished_at = models.DateTimeField(null=True, blank=True)  # the last case of the main block has its answer
    declared_at = models.DateTimeField(null=True, blank=True)  # "no other source was used"
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    replaced_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)  # a pause that goes on now
    reminded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("study", "enrolled_at", "pk")
        constraints = (
            models.UniqueConstraint(fields=["study", "pseudonym"], name="enrolment_pseudonym_once"),
            models.UniqueConstraint(
                fields=["study", "reader"], condition=Q(reader__isnull=False), name="enrolment_once_per_reader"
            ),
        )

    def __str__(self) -> str:
        return f"{self.pseudonym} in study {self.study_id}"

    @property
    def has_declined(self) -> bool:
        """As DECLINED: before the start, when asked to agree. A study that asks nobody to agree is withdrawn from."""
        return self.withdrawn_at is not None and self.consented_at is None and not self.orders.exists()


class PresentationOrder(models.Model):
    """The order of the cases for one reader and arm, drawn at freeze. More are drawn than readers are invited."""

    study = models.ForeignKey(ReaderStudy, on_delete=models.PROTECT, related_name="orders")
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="+")
    case_set = models.ForeignKey(CaseSet, on_delete=models.PROTECT, related_name="orders")
    number = models.PositiveSmallIntegerField()  # within the set; a reader takes the lowest that is free
    enrolment = models.ForeignKey(Enrolment, on_delete=models.PROTECT, null=True, blank=True, related_name="orders")
    rule = models.CharField(max_length=20)  # version of the rule that drew it

    class Meta:
        ordering = ("study", "case_set", "number")
        constraints = (
            models.UniqueConstraint(fields=["arm", "case_set", "number"], name="order_number_once"),
            models.UniqueConstraint(
                fields=["enrolment", "arm"], condition=Q(enrolment__isnull=False), name="order_once_per_reader"
            ),
        )

    def __str__(self) -> str:
        return f"order {self.number} of set {self.case_set_id}"


class PresentedCase(models.Model):
    """One place of an order: which case, with its options in which order. Its name tells nothing about either."""

    public_id = PublicIdField()
    order = models.ForeignKey(PresentationOrder, on_delete=models.PROTECT, related_name="places")
    block = models.CharField(max_length=8)  # practice comes first, in the same order for everybody
    position = models.PositiveIntegerField()  # 1, 2, 3 in its block
    case = models.ForeignKey(StudyCase, on_delete=models.PROTECT, related_name="+")
    options = models.CharField(max_length=4, default="ABCD")  # canonical options in the order shown

    class Meta:
        ordering = ("order", "-block", "position")
        constraints = (
            models.UniqueConstraint(fields=["order", "block", "position"], name="presented_position_once"),
            models.UniqueConstraint(fields=["order", "case"], name="presented_case_once"),
        )

    def __str__(self) -> str:
        return f"place {self.position} of order {self.order_id}"
