"""What a round decided about each of its questions, by the rule or by an adjudicator."""

from __future__ import annotations

from django.db import models

from annotation.enums import BindingVerdict, QuestionState
from annotation.models.fields import PublicIdField, WordField


class Settlement(models.Model):
    """One question of a round: settled by the rule, or waiting for an adjudicator and decided by one."""

    public_id = PublicIdField()
    round = models.ForeignKey("annotation.ReviewRound", on_delete=models.PROTECT, related_name="settlements")
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="settlements")
    outcome = WordField(QuestionState)  # what the question came to be; disputed until an adjudicator decides
    rule = models.CharField(max_length=16)  # version of the settling rule
    reasons = models.JSONField(default=list)  # annotation.review.kernels.settling.Reason; empty: settled by the rule
    settled_at = models.DateTimeField()
    assignment = models.OneToOneField(
        "annotation.Assignment", on_delete=models.PROTECT, null=True, blank=True, related_name="settlement"
    )  # the adjudicator's own review; null: nobody has taken the question
    shown_at = models.DateTimeField(null=True, blank=True)  # when the adjudicator first saw the other reviews
    decision = WordField(BindingVerdict, max_length=8, blank=True, default="")
    reason = models.TextField(blank=True)
    against_all = models.BooleanField(default=False)  # no reviewer had this verdict
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("round", "pk")
        constraints = (models.UniqueConstraint(fields=["round", "revision"], name="settlement_once"),)

    def __str__(self) -> str:
        return f"settlement of revision {self.revision_id} in round {self.round_id}"
