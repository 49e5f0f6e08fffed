"""How near two questions are by the vectors of an embedding model at an endpoint."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.endpoints import LONGEST_ENDPOINT, LONGEST_MODEL
from annotation.models.fields import PublicIdField


class Embedding(models.Model):
    """A model that turns questions into vectors. A similarity is called near only by its own threshold."""

    public_id = PublicIdField()
    endpoint = models.CharField(max_length=LONGEST_ENDPOINT)
    model = models.CharField(max_length=LONGEST_MODEL)
    dimension = models.PositiveIntegerField(null=True, blank=True)  # of all its vectors; null: none came yet
    threshold = models.FloatField(_("threshold"), null=True, blank=True)  # null: nothing is called a duplicate
    threshold_set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    threshold_set_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("endpoint", "model")
        constraints = (models.UniqueConstraint(fields=["endpoint", "model"], name="embedding_once"),)

    def __str__(self) -> str:
        return f"{self.model} at {self.endpoint}"


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
