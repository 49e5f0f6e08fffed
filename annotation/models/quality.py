"""What checks found in the wording of a question, before a radiologist reads it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.enums import FindingPlace
from annotation.models.fields import PublicIdField, WordField


class Finding(models.Model):
    """One rule that fired at one place of one wording. It is shown, never acted on: a person decides.

    Place and detail may tell the key: only coordinators see a finding, and no related name leads to it.
    """

    public_id = PublicIdField()
    bank = models.ForeignKey(
        "annotation.QuestionBank", on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )  # that of the revision
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+", db_index=False)
    rule = models.CharField(max_length=32)  # a code of annotation.quality.kernels.rules.RULES
    rule_version = models.PositiveSmallIntegerField()
    place = WordField(FindingPlace, max_length=11)
    detail = models.TextField()  # what was found, and what to do
    other = models.ForeignKey(
        "annotation.Revision", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # of a near-duplicate: the most similar one
    found_at = models.DateTimeField()
    dismissed_at = models.DateTimeField(null=True, blank=True)
    dismissed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    dismiss_reason = models.CharField(_("reason"), max_length=500, blank=True)

    class Meta:
        ordering = ("revision", "rule", "place")
        constraints = (
            models.UniqueConstraint(fields=["revision", "rule", "rule_version", "place"], name="finding_once"),
        )
        indexes = (
            models.Index(
                fields=["bank", "rule", "revision"],
                name="finding_of_bank",
                condition=models.Q(dismissed_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.rule} in revision {self.revision_id}"
