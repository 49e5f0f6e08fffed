""""""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.enums import Difficulty, ImportKind, ImportState, KeySource, OptionLetter, QuestionState, Split, Task
from annotation.models.fields import (
    ComposedLine,
    ComposedText,
    Deletable,
    KeptManager,
    PublicIdField,
    WordField,
    a_person_or_none,
    named_once,
)


class QuestionBank(Deletable):
    name = ComposedLine(_("name"), max_length=200)
    slug = models.SlugField(max_length=80)
    simulated = models.BooleanField(default=False)
    terms = ComposedText(_("terms of use"), blank=True)  # under which its source gave the data
    holds_quarters = models.BooleanField(_("images hold a quarter of width and height"), default=False)
    is_public = models.BooleanField(_("its questions are public"), default=False)  # a model may have learned them
    created_by = a_person_or_none()  # null: made on the command line
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)
    compared_at = models.DateTimeField(null=True, blank=True)  # when its questions were last compared with each other
    twins_sought_at = models.DateTimeField(null=True, blank=True)  # the same with those of public banks
    releases_sought_at = models.DateTimeField(null=True, blank=True)  # the same with released ones
    near_releases = models.JSONField(default=dict, blank=True)  # of that: questionbank.duplicates.ReleasedResult

    objects: KeptManager[QuestionBank] = KeptManager()
    everywhere = models.Manager["QuestionBank"]()

    class Meta:
        ordering = ("name",)
        constraints = named_once("bank")

    def __str__(self) -> str:
        return self.name


class BankImport(models.Model):
    """One import of one file. Its rows are written in chunks and all become visible when it is published.

    What people edit belongs to one further row of the bank, of the kind ``edits``, published from the beginning.
    """

    public_id = PublicIdField()
    kind = WordField(ImportKind, max_length=10, default=ImportKind.FILE)
    bank = models.ForeignKey(QuestionBank, on_delete=models.PROTECT, related_name="imports")
    state = WordField(ImportState, max_length=10, default=ImportState.RUNNING)
    file_name = models.CharField(max_length=200)
    file_sha256 = models.CharField(max_length=64, blank=True)
    actor = a_person_or_none()
    job = models.ForeignKey("annotation.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()  # a running import that stopped beating is swept; of edits: the newest
    finished_at = models.DateTimeField(null=True, blank=True)
    result = models.JSONField(default=dict, blank=True)  # the JSON result, errors included

    class Meta:
        ordering = ("-started_at",)

    def __str__(self) -> str:
        return f"import of {self.started_at:%Y-%m-%d %H:%M}"


class ColumnMatching(models.Model):
    """Which columns of files of one kind hold which fields of a question. An import keeps a copy of what it read by."""

    name = ComposedLine(_("name"), max_length=200, unique=True)
    columns = models.JSONField()  # all of the file, in their order
    matching = models.JSONField()  # as questionbank/kernels/column_matching.py writes it
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ("-changed_at", "-pk")

    def __str__(self) -> str:
        return self.name


class Question(models.Model):
    """What stays the same over all revisions of a question. Its key at the source is in SourceIdentifier."""

    public_id = PublicIdField()
    bank = models.ForeignKey(
        QuestionBank, on_delete=models.PROTECT, related_name="questions", db_index=False, db_constraint=False
    )
    number = models.PositiveIntegerField()  # 1, 2, 3 in its bank: what people call it
    exam = models.ForeignKey("annotation.Exam", on_delete=models.PROTECT, related_name="questions")
    state = WordField(QuestionState, db_default=QuestionState.IMPORTED)  # an import writes no state
    split = WordField(Split, max_length=7, blank=True, db_default="")  # that its file said; empty: none

    class Meta:
        ordering = ("bank", "number")
        constraints = (models.UniqueConstraint(fields=["bank", "number"], name="question_number_in_bank"),)
        indexes = (
            models.Index(
                fields=["bank", "state", "number"],
                name="question_by_state",
                condition=~Q(state=QuestionState.IMPORTED.value),
            ),
            models.Index(fields=["bank", "split", "number"], name="question_by_split", condition=Q(split__gt="")),
        )  # most are as they were imported: they are found by their number

    def __str__(self) -> str:
        return f"question {self.number}"


class RevisionQuerySet(models.QuerySet["Revision"]):
    def current(self) -> RevisionQuerySet:
        """What people see: brought by a published import and not superseded by a published one."""
        published = BankImport.objects.filter(state=ImportState.PUBLISHED).values("pk")
        return self.filter(bank_import__in=published).exclude(superseded_by__isnull=False, superseded_by__in=published)

    def accepted(self) -> RevisionQuerySet:
        """Wordings that the round which judged them last settled so; none that another judges now."""
        return self.current().filter(question__state=QuestionState.ACCEPTED)

    def in_bank(self, bank: QuestionBank) -> RevisionQuerySet:
        return self.filter(bank=bank)


class Revision(models.Model):
    """The wording of a question. Never overwritten: a change is a new row, the old one points to what superseded it.

    Key, explanation and report are not here: see AnswerKey.
    """

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="revisions")
    number = models.PositiveSmallIntegerField(default=1)
    bank = models.ForeignKey(
        QuestionBank, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )  # that of the question
    bank_import = models.ForeignKey(
        BankImport, on_delete=models.PROTECT, related_name="revisions", db_constraint=False
    )  # all rows of an import name one bank and one import: checking each row would cost it much time for nothing
    superseded_by = models.ForeignKey(
        BankImport, on_delete=models.PROTECT, null=True, blank=True, related_name="superseded", db_index=False
    )
    stem = ComposedText(_("question"))
    options = models.JSONField(_("options"))  # list of 4 texts, without letters
    task = WordField(Task, max_length=12)
    category = ComposedLine(_("category"), max_length=200, blank=True)
    subcategory = ComposedLine(_("subcategory"), max_length=200, blank=True)
    question_class = ComposedLine(_("class"), max_length=200, blank=True)
    difficulty = WordField(Difficulty, max_length=6, blank=True, default=Difficulty.UNKNOWN)
    content_sha256 = models.CharField(max_length=64)  # over everything that an import brings for the question
    images_left_out = models.JSONField(null=True, blank=True)  # public ids of images of the exam; null: all count

    objects = RevisionQuerySet.as_manager()

    class Meta:
        ordering = ("bank", "question")
        indexes = (
            models.Index(fields=["bank", "task", "question"], name="revision_by_task"),
            models.Index(fields=["bank", "category", "question"], name="revision_by_category"),
            models.Index(
                fields=["superseded_by"], name="revision_superseded", condition=Q(superseded_by__isnull=False)
            ),
            models.Index(fields=["bank"], name="revision_left_out", condition=Q(images_left_out__isnull=False)),
        )

    def __str__(self) -> str:
        return f"revision {self.number} of question {self.question_id}"

    @property
    def left_out(self) -> frozenset[str]:
        """Public ids of the images of its exam that do not count: nobody who judges or reads the question sees them."""
        return frozenset(self.images_left_out or ())


class Edit(models.Model):
    """Who wrote a revision by hand, and why."""

    revision = models.OneToOneField(Revision, on_delete=models.PROTECT, primary_key=True, related_name="edit")
    before = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="+")  # what it was made from
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = ComposedText(_("reason"))
    settlement = models.ForeignKey(
        "annotation.Settlement", on_delete=models.PROTECT, null=True, blank=True, related_name="edits"
    )  # what prompted it; null: a coordinator on the page of the question
    undoes = models.ForeignKey(Revision, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"edit {self.revision_id}"


class Report(models.Model):
    """The radiology report of an exam. It gives answers away: only AnswerKey points to it."""

    exam = models.ForeignKey("annotation.Exam", on_delete=models.PROTECT, related_name="+")
    indication = models.TextField(blank=True)
    comparison = models.TextField(blank=True)
    findings = models.TextField(blank=True)
    impression = models.TextField(blank=True)
    content_sha256 = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"report of exam {self.exam_id}"


class AnswerKey(models.Model):
    """What a person must not see before their own final answer. No related name: no query can join it by accident."""

    revision = models.OneToOneField(Revision, on_delete=models.PROTECT, primary_key=True, related_name="+")
    key = WordField(OptionLetter, max_length=1)
    explanation = models.TextField(blank=True)
    report = models.ForeignKey(Report, on_delete=models.PROTECT, null=True, related_name="+")
    extra = models.TextField(default="{}", blank=True)  # JSON: further fields of the record, for the export of the bank

    def __str__(self) -> str:
        return f"key of revision {self.revision_id}"  # never the letter


class SeenKey(models.Model):
    """Somebody read the key of a question, or its wording in judged pairs: they cannot judge it blind any more."""

    person = models.ForeignKey("annotation.User", on_delete=models.PROTECT, related_name="+", db_index=False)
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="+")
    source = WordField(KeySource, max_length=16)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["person", "question"], name="seen_key_once"),)

    def __str__(self) -> str:
        return f"key of question {self.question_id}, seen by {self.person_id}"


# --- What people say about a question beside reviewing it -----------------------------------------
LONGEST_TAG = 40


class QuestionTagQuerySet(models.QuerySet["QuestionTag"]):
    def standing(self) -> Self:
        """Those that nobody has removed."""
        return self.filter(removed_at=None)


class QuestionTag(models.Model):
    """A word on a question. A removed one stays, for the history of the question.

    A tag may tell the key: annotation.review.commenting says who may read it, and no related name leads to it.
    """

    question = models.ForeignKey("annotation.Question", on_delete=models.PROTECT, related_name="+", db_index=False)
    word = ComposedLine(max_length=LONGEST_TAG)  # in lower case
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField()
    removed_by = a_person_or_none(db_index=False)
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

    It may tell the key: annotation.review.commenting says who may read it, and no related name leads to it.
    """

    public_id = PublicIdField()
    question = models.ForeignKey("annotation.Question", on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    text = ComposedText()
    at = models.DateTimeField()
    is_todo = models.BooleanField(default=False)
    done_by = a_person_or_none(db_index=False)
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
