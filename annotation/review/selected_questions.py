"""Tags of questions, and one act on many questions of a bank: tagged, withdrawn or brought back, and undone.

An act is known again by who did it and when: a second run changes nothing more, and it can be undone as a whole.
"""

from __future__ import annotations

import base64
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import JobQueue, QuestionState, Word
from annotation.enums import _ as marked
from annotation.jobs.queueing import JobKind, JobRefused, Progress, Result, enqueue
from annotation.models import AuditEvent, Job, Question, QuestionBank, QuestionTag, User
from annotation.models.question import LONGEST_TAG
from annotation.questionbank.filters import BankFilter, BankSearch, Rows
from annotation.questionbank.importing import ManyChanged, bring_back_questions, withdraw_questions, withdrawal_reason
from annotation.review.commenting import DiscussionRefused
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


TAGGED = BankFilter(
    name="tag",
    label=gettext_lazy("Tag"),
    choices=lambda search: [(word, word) for word in tags_in(search.bank, search.person)] if search.person else [],
    narrow=_narrow,
    seek=lambda search, value: ("question__in", _tagged(search, value).values("question")),
    of_coordinators=True,
)


class ChangeParams(TypedDict):
    bank: int
    act: str
    words: str
    numbers: str
    actor: int
    at: str


KIND: JobKind[ChangeParams] = JobKind("change_questions", JobQueue.IMPORTS)
BLOCK = 200  # questions in one transaction of a job: until it ends, nobody else writes to the audit log


class SelectedAct(Word):
    """What is done; the label names the job, which every coordinator reads: it says no tag."""

    TAG = "tag", marked("Tag questions of the bank “%(bank)s”")
    UNTAG = "untag", marked("Take a tag away from questions of the bank “%(bank)s”")
    WITHDRAW = "withdraw", marked("Withdraw questions of the bank “%(bank)s”")
    BRING_BACK = "bring_back", marked("Bring back questions of the bank “%(bank)s”")


UNDOES = {
    SelectedAct.TAG: SelectedAct.UNTAG,
    SelectedAct.UNTAG: SelectedAct.TAG,
    SelectedAct.WITHDRAW: SelectedAct.BRING_BACK,
}
_LOGGED = {SelectedAct.WITHDRAW: "question.withdrawn", SelectedAct.BRING_BACK: "question.brought_back"}


class QuestionsAct(Struct, frozen=True, kw_only=True):
    """One act of one person at one time. ``words``: the tag, or the reason of a withdrawal, as it is stored."""

    bank: QuestionBank
    act: SelectedAct
    words: str
    actor: User
    at: datetime

    @classmethod
    def of(cls, act: SelectedAct, words: str, *, bank: QuestionBank, actor: User, at: datetime) -> QuestionsAct:
        """Refused as ``tag_word`` and ``withdrawal_reason`` say."""
        if act == SelectedAct.WITHDRAW:
            words = withdrawal_reason(words)
        elif act in (SelectedAct.TAG, SelectedAct.UNTAG):
            words = tag_word(words)
        return cls(bank=bank, act=act, words=words, actor=actor, at=at)

    @classmethod
    def of_job(cls, params: ChangeParams) -> QuestionsAct:
        bank, actor = QuestionBank.objects.get(pk=params["bank"]), User.objects.get(pk=params["actor"])
        at = datetime.fromisoformat(params["at"])
        return cls(bank=bank, act=SelectedAct(params["act"]), words=params["words"], actor=actor, at=at)


def change_questions(one: QuestionsAct, numbers: Collection[int]) -> ManyChanged:
    """Do it to the questions with these numbers, in one transaction. Refused as the act itself."""
    questions = Question.objects.filter(bank=one.bank, number__in=numbers).order_by("number")
    if one.act == SelectedAct.TAG:
        return add_tag(questions, one.words, bank=one.bank, actor=one.actor, at=one.at)
    if one.act == SelectedAct.UNTAG:
        return remove_tag(questions, one.words, bank=one.bank, actor=one.actor, at=one.at)
    if one.act == SelectedAct.WITHDRAW:
        return withdraw_questions(questions, one.words, actor=one.actor, at=one.at)
    return bring_back_questions(questions, actor=one.actor, at=one.at)


def changed_numbers(one: QuestionsAct) -> list[int]:
    """The questions that this act changed and that are still as it left them; none of an act that is not undone."""
    questions = Question.objects.filter(bank=one.bank)
    tags = QuestionTag.objects.filter(question__bank=one.bank, word=one.words)
    if one.act == SelectedAct.TAG:
        questions = questions.filter(pk__in=tags.standing().filter(by=one.actor, at=one.at).values("question"))
    elif one.act == SelectedAct.UNTAG:
        questions = questions.filter(pk__in=tags.filter(removed_by=one.actor, removed_at=one.at).values("question"))
        questions = questions.exclude(pk__in=tags.standing().values("question"))
    else:
        logged = AuditEvent.objects.filter(subject_type="question", act=_LOGGED[one.act])
        later = logged.filter(subject_id=OuterRef("subject_id"), pk__gt=OuterRef("pk"))
        own = logged.filter(~Exists(later), actor=one.actor, at=one.at).order_by().values("subject_id")
        is_so = Q(state=QuestionState.WITHDRAWN)
        questions = questions.filter(is_so if one.act == SelectedAct.WITHDRAW else ~is_so, public_id__in=own)
    return list(questions.order_by("number").values_list("number", flat=True))


# As a job


def ask_for_change(one: QuestionsAct, numbers: Sequence[int]) -> Job:
    """Do it in the background, to the questions that were found when the person asked."""
    params = ChangeParams(
        bank=one.bank.pk,
        act=one.act,
        words=one.words,
        numbers=_packed(numbers),
        actor=one.actor.pk,
        at=one.at.isoformat(),
    )
    title = _(one.act.label) % {"bank": one.bank.name[:120]}
    return enqueue(KIND, title, params, actor=one.actor, at=one.at)


def run_change(progress: Progress, params: ChangeParams) -> Result:
    """The job, block by block. Stopped and run again it goes on: what it changed before counts as changed by it."""
    one, numbers = QuestionsAct.of_job(params), _unpacked(params["numbers"])
    if not is_coordinator(one.actor):
        raise JobRefused("not_coordinator", _("Who asked for this is no coordinator any more."))
    if one.bank.archived_at is not None:
        raise JobRefused("bank_archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": one.bank.name})
    done = ManyChanged()
    for start in range(0, len(numbers), BLOCK):
        progress.report(start, len(numbers))
        done.add(_change_block(one, numbers[start : start + BLOCK]))
    progress.report(len(numbers), len(numbers))
    return done.as_json()


def _change_block(one: QuestionsAct, numbers: list[int]) -> ManyChanged:
    """What somebody changed after the person had asked, or undid between two runs, is left as it is."""
    changed_since = _changed_since(one, numbers)
    done = ManyChanged()
    done.leave("changed_since", [number for number in numbers if number in changed_since])
    rest = [number for number in numbers if number not in changed_since]
    try:
        if rest:
            done.add(change_questions(one, rest))
    except DiscussionRefused as refusal:
        if refusal.code != "withheld":
            raise
        done.leave("judged", rest)
    return done


def _changed_since(one: QuestionsAct, numbers: Collection[int]) -> set[int]:
    asked = Question.objects.filter(bank=one.bank, number__in=numbers)
    if one.act in _LOGGED:
        logged = AuditEvent.objects.filter(subject_type="question", act__in=_LOGGED.values(), at__gt=one.at)
        found = logged.filter(subject_id__in=list(asked.values_list("public_id", flat=True)))
        asked = asked.filter(public_id__in=found.order_by().values("subject_id"))
    else:
        tags = QuestionTag.objects.filter(Q(at__gt=one.at) | Q(removed_at__gt=one.at), word=one.words)
        asked = asked.filter(pk__in=tags.filter(question__in=asked).values("question"))
    return set(asked.values_list("number", flat=True))


def _packed(numbers: Sequence[int]) -> str:
    """One bit for each number up to the highest: at most 100 kB for a bank of 572,419 questions."""
    import numpy as np  # not at every start

    bits = np.zeros(max(numbers) + 1, dtype=np.uint8)
    bits[list(numbers)] = 1
    return base64.b64encode(zlib.compress(np.packbits(bits).tobytes())).decode()


def _unpacked(text: str) -> list[int]:
    import numpy as np

    packed = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    numbers: list[int] = np.flatnonzero(np.unpackbits(packed)).tolist()
    return numbers


# What is shown of it


class LeftQuestions(NamedTuple):
    """Questions that an act left as they were: why, the first numbers, and how many more there are."""

    sentence: str
    numbers: list[int]
    n_more: int


class Outcome(Struct, frozen=True):
    """What an act did, for who asked for it: others may not know the tags of a question that they judge."""

    bank: QuestionBank
    act: SelectedAct
    words: str
    at: str
    n: int
    left: list[LeftQuestions]

    @classmethod
    def of(cls, bank: QuestionBank, asked: Mapping[str, Any], result: Mapping[str, Any]) -> Outcome:
        """``asked``: with act, words and time, as the parameters of a job. ``result``: as ``ManyChanged`` gives it."""
        left = [
            LeftQuestions(_why_left(why, group["n"]), group["numbers"], group["n"] - len(group["numbers"]))
            for why, group in result["left"].items()
        ]
        return cls(bank, SelectedAct(asked["act"]), asked["words"], asked["at"], result["changed"], left)

    @property
    def may_undo(self) -> bool:
        return self.n > 0 and self.act in UNDOES

    @property
    def sentence(self) -> str:
        n = self.n
        sentences = {
            SelectedAct.TAG: ngettext("%(n)s question is tagged.", "%(n)s questions are tagged.", n),
            SelectedAct.UNTAG: ngettext(
                "The tag is taken away from %(n)s question.", "The tag is taken away from %(n)s questions.", n
            ),
            SelectedAct.WITHDRAW: ngettext("%(n)s question is withdrawn.", "%(n)s questions are withdrawn.", n),
            SelectedAct.BRING_BACK: ngettext("%(n)s question is back.", "%(n)s questions are back.", n),
        }
        return sentences[self.act] % {"n": f"{n:,}"}


def outcome_of_job(job: Job) -> Outcome | None:
    """Of a job that is over, while its bank is there; of one that was stopped, what it has changed so far."""
    if job.kind != KIND or job.is_unfinished:
        return None
    bank = QuestionBank.objects.filter(pk=job.params["bank"]).first()
    if bank is None:
        return None
    result = job.result or {"changed": len(changed_numbers(QuestionsAct.of_job(job.params))), "left": {}}
    return Outcome.of(bank, job.params, result)


def _why_left(why: str, n: int) -> str:
    sentences = {
        "withdrawn": ngettext("%(n)s was withdrawn before", "%(n)s were withdrawn before", n),
        "not_withdrawn": ngettext("%(n)s was not withdrawn", "%(n)s were not withdrawn", n),
        "tagged": ngettext("%(n)s had the tag before", "%(n)s had the tag before", n),
        "not_tagged": ngettext("%(n)s did not have the tag", "%(n)s did not have the tag", n),
        "changed_since": ngettext(
            "%(n)s was changed by somebody after you had asked", "%(n)s were changed by somebody after you had asked", n
        ),
        "judged": ngettext(
            "%(n)s was left out, since you judge it in a round under way",
            "%(n)s were left out, since you judge them in a round under way",
            n,
        ),
    }
    return sentences[why] % {"n": f"{n:,}"}
