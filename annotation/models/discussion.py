"""What people say about a question beside reviewing it."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

LONGEST_TAG = 40


class QuestionTagQuerySet(models.QuerySet["QuestionTag"]):
    def standing(self) -> Self:
        """Those that nobody has removed."""
        return self.filter(removed_at=None)


class QuestionTag(models.Model):
    """A word on a question. A removed one stays, for the history of the question.

    A tag may tell the key: annotation.discussion.seeing says who may read it, and no related name leads to it.
    """

    question = models.ForeignKey("annotation.Question", on_delete=models.PROTECT, related_name="+", db_index=False)
    word = models.CharField(max_length=LONGEST_TAG)  # in lower case
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField()
    removed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    removed_at = models.DateTimeField(null=True, blank=True)

    objects = QuestionTagQuerySet.as_manager()

    class Meta:
        ordering = ("question", "word")
        constraints = (
            models.UniqueConstraint(fields=["question", "word"], condition=Q(removed_at=None), name="tag_once"),
        )
        indexes = (
            models.Index(fields=["question"], name="tag_of_question"),
            models.Index(fields=["word", "question"], name="tag_by_word", condition=Q(removed_at=None)),
        )

    def __str__(self) -> str:
        return f"{self.word} on question {self.question_id}"
