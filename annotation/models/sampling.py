from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.deleting import Deletable, KeptManager, named_once


class SamplingPlan(Deletable):
    """How a sample was drawn: the frame, the strata, the allocation and the seed; enough to draw it again."""

    name = models.CharField(_("name"), max_length=200)
    slug = models.SlugField(max_length=80)
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="plans")
    rule = models.CharField(max_length=32)  # version of the drawing rule: old samples keep theirs
    stratify_by = models.CharField(max_length=16)  # difficulty, task, category, none
    per_thousand = models.PositiveIntegerField(_("questions per thousand"))
    seed = models.BigIntegerField(_("seed"))
    strata = models.JSONField()  # list of {stratum, n_frame, n_drawn}
    n_frame = models.PositiveIntegerField()
    frame_sha256 = models.CharField(max_length=64)  # over the ordered question numbers and strata of the frame
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)

    objects: KeptManager[SamplingPlan] = KeptManager()
    everywhere = models.Manager["SamplingPlan"]()

    class Meta:
        ordering = ("-created_at",)
        constraints = named_once("sample")

    def __str__(self) -> str:
        return self.name


class SampledQuestion(models.Model):
    """One drawn question, in the wording that was current when it was drawn."""

    plan = models.ForeignKey(SamplingPlan, on_delete=models.CASCADE, related_name="questions")
    position = models.PositiveIntegerField()
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+")
    stratum = models.CharField(max_length=200)

    class Meta:
        ordering = ("plan", "position")
        constraints = (
            models.UniqueConstraint(fields=["plan", "position"], name="sampled_position_once"),
            models.UniqueConstraint(fields=["plan", "revision"], name="sampled_revision_once"),
        )

    def __str__(self) -> str:
        return f"{self.position} of sample {self.plan_id}"
