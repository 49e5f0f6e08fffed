"""Tags of questions: one word or a few, by which coordinators find them again."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

from django.db import models, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.audit.recording import record
from annotation.discussion.seeing import DiscussionRefused
from annotation.models import Question, QuestionBank, QuestionTag, User
from annotation.models.discussion import LONGEST_TAG
from annotation.questionbank.filters import BankFilter, BankSearch, Choices, Rows, Sought
from annotation.review.kernels.visibility import DiscussionPart
from annotation.review.onlookers import judged_questions, withheld_questions
from annotation.site.permissions import is_coordinator

BATCH = 2000


def tag_word(text: str) -> str:
    """The tag as it is stored. Refused: nothing, more than 40 characters, and what cannot be seen."""
    word = " ".join(unicodedata.normalize("NFC", text).lower().split())
    if not word:
        raise DiscussionRefused("no_tag", _("Write a tag, of at most 40 characters."), status=422, field="tag")
    if len(word) > LONGEST_TAG:
        sentence = _("The tag has %(n)s characters: shorten it to 40.") % {"n": len(word)}
        raise DiscussionRefused("tag_too_long", sentence, status=422, field="tag")
    if not word.isprintable():
        sentence = _("The tag holds a character that cannot be seen: write it without.")
        raise DiscussionRefused("tag_unprintable", sentence, status=422, field="tag")
    return word


@transaction.atomic
def add_tag(questions: models.QuerySet[Question], tag: str, *, bank: QuestionBank, actor: User, at: datetime) -> int:
    """Put a tag on these questions of a bank; how many did not have it. None: nothing changes, nothing is logged.

    Those that the actor judges in a round under way are left out. Refused where that leaves none, for anybody but a
    coordinator, and as ``tag_word``.
    """
    word = tag_word(tag)
    there = QuestionTag.objects.standing().filter(word=word).values("question")
    fresh = list(_may_change(questions, bank, actor).exclude(pk__in=there).order_by().values_list("pk", flat=True))
    rows = (QuestionTag(question_id=pk, word=word, by=actor, at=at) for pk in fresh)
    QuestionTag.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)  # another may add it meanwhile
    if fresh:
        _record("question.tagged", word, fresh, bank, actor, at)
    return len(fresh)


@transaction.atomic
def remove_tag(questions: models.QuerySet[Question], tag: str, *, bank: QuestionBank, actor: User, at: datetime) -> int:
    """Take a tag from these questions; how many had it. Left out and refused as ``add_tag`` says."""
    word = tag_word(tag)
    tagged = QuestionTag.objects.standing().filter(word=word, question__in=_may_change(questions, bank, actor))
    found = list(tagged.order_by().values_list("question", flat=True))
    tagged.update(removed_by=actor, removed_at=at)
    if found:
        _record("question.untagged", word, found, bank, actor, at)
    return len(found)


def _may_change(questions: models.QuerySet[Question], bank: QuestionBank, actor: User) -> models.QuerySet[Question]:
    if not is_coordinator(actor):
        raise DiscussionRefused("not_coordinator", _("Tags are for coordinators."), status=403)
    rows = questions.filter(bank=bank).exclude(pk__in=withheld_questions(actor))
    if not rows.exists() and questions.exists():
        sentence = _("You judge this question in a round under way: its tags are hidden until that is closed.")
        raise DiscussionRefused("withheld", sentence, status=403)
    return rows


def _record(act: str, word: str, questions: list[int], bank: QuestionBank, actor: User, at: datetime) -> None:
    """One row in the log, about the question where it is one, about the bank where there are more."""
    subject = Question.objects.get(pk=questions[0]) if len(questions) == 1 else bank
    record(act, actor=actor, at=at, subject=subject, facts={"tag": word, "questions": len(questions)})


def tags_of(questions: Collection[int], person: User) -> dict[int, list[str]]:
    """The tags of these questions that this coordinator may see, each list in order; {} for others."""
    found = defaultdict[int, list[str]](list)
    if not questions or not is_coordinator(person):
        return {}
    rows = QuestionTag.objects.standing().filter(question__in=questions)
    rows = rows.exclude(question__in=withheld_questions(person))
    for question, word in rows.order_by("word").values_list("question", "word"):
        found[question].append(word)
    return dict(found)


def tags_at(question: Question, parts: frozenset[DiscussionPart]) -> list[str]:
    """The tags of a question for a person who may know these parts of what was said about it."""
    if DiscussionPart.TAGS not in parts:
        return []
    return list(QuestionTag.objects.standing().filter(question=question).values_list("word", flat=True))


def tags_in(bank: QuestionBank, person: User) -> list[str]:
    """Every tag that stands on a question of the bank that this coordinator may see: to choose from."""
    if not is_coordinator(person):
        return []
    rows = QuestionTag.objects.standing().filter(question__bank=bank).exclude(question__in=withheld_questions(person))
    return list(rows.order_by("word").values_list("word", flat=True).distinct())


def _tagged(search: BankSearch, value: str) -> models.QuerySet[QuestionTag]:
    """Never those that the person judges; without a person, none that anybody judges in a round under way."""
    hidden = withheld_questions(search.person) if search.person else judged_questions()
    found = QuestionTag.objects.standing().filter(word=value, question__bank=search.bank)
    return found.exclude(question__in=hidden).order_by()


def _narrow(rows: Rows, search: BankSearch, value: str) -> Rows:
    return rows.filter(models.Exists(_tagged(search, value).filter(question=models.OuterRef("question"))))


def _seek(search: BankSearch, value: str) -> Sought | None:
    return "question__in", _tagged(search, value).values("question")


def _choices(search: BankSearch) -> Choices:
    return [(word, word) for word in tags_in(search.bank, search.person)] if search.person else []


TAGGED = BankFilter(
    name="tag", label=gettext_lazy("Tag"), choices=_choices, narrow=_narrow, seek=_seek, of_coordinators=True
)
