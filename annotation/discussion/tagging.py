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
from annotation.discussion.commenting import DiscussionRefused
from annotation.models import Question, QuestionBank, QuestionTag, User
from annotation.models.question import LONGEST_TAG
from annotation.questionbank.filters import BankFilter, BankSearch, Choices, Rows, Sought
from annotation.questionbank.question_states import ManyChanged
from annotation.review.kernels.visibility import DiscussionPart
from annotation.review.onlookers import questions_hidden_from, withheld_questions
from annotation.site.permissions import is_coordinator

BATCH = 2000
NO_TAG = gettext_lazy("Write a tag, of at most 40 characters.")


def tag_word(text: str) -> str:
    """The tag as it is stored. Refused: nothing, more than 40 characters, and what cannot be seen."""
    word = " ".join(unicodedata.normalize("NFC", text).lower().split())
    if not word:
        raise DiscussionRefused("no_tag", str(NO_TAG), status=422, field="tag")
    if len(word) > LONGEST_TAG:
        sentence = _("The tag has %(n)s characters: shorten it to 40.") % {"n": len(word)}
        raise DiscussionRefused("tag_too_long", sentence, status=422, field="tag")
    if not word.isprintable():
        sentence = _("The tag holds a character that cannot be seen: write it without.")
        raise DiscussionRefused("tag_unprintable", sentence, status=422, field="tag")
    return word


@transaction.atomic
def add_tag(
    questions: models.QuerySet[Question], tag: str, *, bank: QuestionBank, actor: User, at: datetime
) -> ManyChanged:
    """Put a tag on these questions of a bank. None that lacks it: nothing changes, nothing is logged.

    Left as they are: those that the actor judges in a round under way, and those that have the tag. The same person
    at the same time is the same act: what it did in a run that was stopped counts as done by it. Refused where all
    are judged by the actor, for anybody but a coordinator, and as ``tag_word``.
    """
    word = tag_word(tag)
    open_to, done = _sort_out(questions, bank, actor)
    standing = QuestionTag.objects.standing().filter(word=word, question__in=list(open_to))
    there = {question: act for question, *act in standing.order_by().values_list("question", "by", "at")}
    fresh = [pk for pk in open_to if pk not in there]
    rows = (QuestionTag(question_id=pk, word=word, by=actor, at=at) for pk in fresh)
    QuestionTag.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)  # another may add it meanwhile
    if fresh:
        _record("question.tagged", word, fresh, bank, actor, at)
    before = [pk for pk, act in there.items() if act != [actor.pk, at]]
    done.leave("tagged", (open_to[pk] for pk in before))
    done.n = len(open_to) - len(before)
    return done


@transaction.atomic
def remove_tag(
    questions: models.QuerySet[Question], tag: str, *, bank: QuestionBank, actor: User, at: datetime
) -> ManyChanged:
    """Take a tag from these questions; those without it are left. Run again, left out and refused as ``add_tag``."""
    word = tag_word(tag)
    open_to, done = _sort_out(questions, bank, actor)
    theirs = QuestionTag.objects.filter(word=word, question__in=list(open_to)).order_by()
    found = list(theirs.filter(removed_at=None).values_list("question", flat=True))
    theirs.filter(removed_at=None).update(removed_by=actor, removed_at=at)
    if found:
        _record("question.untagged", word, found, bank, actor, at)
    changed = set(theirs.filter(removed_by=actor, removed_at=at).values_list("question", flat=True))
    done.leave("not_tagged", (number for pk, number in open_to.items() if pk not in changed))
    done.n = len(changed)
    return done


def _sort_out(
    questions: models.QuerySet[Question], bank: QuestionBank, actor: User
) -> tuple[dict[int, int], ManyChanged]:
    """The numbers of those that the actor may change, by key, locked; the others are left already."""
    if not is_coordinator(actor):
        raise DiscussionRefused("not_coordinator", _("Tags are for coordinators."), status=403)
    locked = questions.select_for_update(no_key=True).filter(bank=bank).order_by("pk")
    found = dict(locked.values_list("pk", "number"))
    judged = set(withheld_questions(actor).filter(pk__in=list(found)).values_list("pk", flat=True))
    open_to = {pk: number for pk, number in found.items() if pk not in judged}
    if not open_to and (found or questions.exists()):
        sentence = _("You judge this question in a round under way: its tags are hidden until that is closed.")
        raise DiscussionRefused("withheld", sentence, status=403)
    done = ManyChanged()
    done.leave("judged", (number for pk, number in found.items() if pk in judged))
    return open_to, done


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
    """The tags of a question for a person who may know these parts of what was written about it."""
    if DiscussionPart.TAGS not in parts:
        return []
    return list(QuestionTag.objects.standing().filter(question=question).values_list("word", flat=True))


def tags_in(bank: QuestionBank, person: User) -> list[str]:
    """Every tag that is on a question of the bank that this coordinator may see: to choose from."""
    if not is_coordinator(person):
        return []
    rows = QuestionTag.objects.standing().filter(question__bank=bank).exclude(question__in=withheld_questions(person))
    return list(rows.order_by("word").values_list("word", flat=True).distinct())


def _tagged(search: BankSearch, value: str) -> models.QuerySet[QuestionTag]:
    """Never those that the person judges; without a person, none that anybody judges in a round under way."""
    hidden = questions_hidden_from(search.person)
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
