"""One act on many questions of a bank: a tag is put on them or taken away, they are withdrawn or brought back.

An act is known again by who did it and when: a second run changes nothing more, and it can be undone as a whole.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.discussion.commenting import DiscussionRefused
from annotation.discussion.tagging import add_tag, remove_tag, tag_word
from annotation.enums import QuestionState, Word
from annotation.enums import _ as marked
from annotation.jobs.handlers import JobKind, JobRefused, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import AuditEvent, Job, Question, QuestionBank, QuestionTag, User
from annotation.questionbank.question_states import (
    ManyChanged,
    bring_back_questions,
    withdraw_questions,
    withdrawal_reason,
)
from annotation.site.permissions import is_coordinator


class ChangeParams(TypedDict):
    bank: int
    act: str
    words: str
    numbers: str
    actor: int
    at: str


KIND: JobKind[ChangeParams] = JobKind("change_questions")
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


@dataclass(frozen=True, kw_only=True)
class QuestionsAct:
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


@dataclass(frozen=True)
class Outcome:
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
            "%(n)s was changed by somebody after you had asked",
            "%(n)s were changed by somebody after you had asked",
            n,
        ),
        "judged": ngettext(
            "%(n)s was left out, since you judge it in a round under way",
            "%(n)s were left out, since you judge them in a round under way",
            n,
        ),
    }
    return sentences[why] % {"n": f"{n:,}"}
