"""What people say about a question beside reviewing it."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.fields import PublicIdField

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


class QuestionComment(models.Model):
    """What somebody says about a question, perhaps with something to do. Withdrawn by its author, it stays unread.

    It may tell the key: annotation.discussion.seeing says who may read it, and no related name leads to it.
    """

    public_id = PublicIdField()
    question = models.ForeignKey("annotation.Question", on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    text = models.TextField()
    at = models.DateTimeField()
    is_todo = models.BooleanField(default=False)
    done_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    done_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"comment on question {self.question_id}"

    @property
    def is_open(self) -> bool:
        """Something is still to be done."""
        return self.is_todo and self.done_at is None and self.withdrawn_at is None


class Mention(models.Model):
    """A person whom a comment mentions."""

    comment = models.ForeignKey(QuestionComment, on_delete=models.PROTECT, related_name="mentions")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    seen_at = models.DateTimeField(null=True, blank=True)  # when they first read it

    class Meta:
        ordering = ("person__name", "pk")
        constraints = (models.UniqueConstraint(fields=["comment", "person"], name="mention_once"),)

    def __str__(self) -> str:
        return f"mention of person {self.person_id} in comment {self.comment_id}"
