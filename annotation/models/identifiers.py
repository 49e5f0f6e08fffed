from __future__ import annotations

from django.db import models

from annotation.digests import identifier_digest as identifier_digest
from annotation.enums import IdentifierKind
from annotation.models.fields import WordField


class SourceIdentifier(models.Model):
    """What a thing is called at its source: paths, patient, accession and study numbers, question keys.

    Restricted: read by matching (import, ingest), and for coordinators only, who brought the file: the ids of
    questions (annotation/exports/source_ids.py) and the names of missing images (annotation/exports/missing.py).
    Looked up by ``digest`` (annotation/digests.py), then compared by ``value``.
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
            models.Index(
                fields=["question_id"], name="identifier_question", condition=models.Q(question_id__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} of the source"  # never the value: it could reach a log
