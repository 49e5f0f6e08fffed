"""What a coordinator does with banks, samples and questions as a whole."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.acts import Act
from annotation.bin.deleting import archive, bring_back
from annotation.discussion.selected_questions import NO_TAG, add_tag, remove_tag
from annotation.enums import Role
from annotation.forms import PlainForm
from annotation.models import Question, QuestionBank, Revision, SamplingPlan, User
from annotation.questionbank.importing import ManyChanged, bring_back_question, withdraw_question
from annotation.site.permissions import within_reach

COORDINATORS: tuple[Role, ...] = (Role.COORDINATOR,)


class BankAct(Act[QuestionBank]):
    roles, rows, reach, then = COORDINATORS, QuestionBank.objects.all, {"bank": "pk"}, "bank"


class ArchiveBank(BankAct):
    """Off the lists; nothing is deleted."""

    name, route, summary = "bank-archive", "archive/", "Archive a bank"
    do, done = archive, gettext_lazy("The bank is archived.")


class BringBackBank(BankAct):
    """An archived bank is in use again."""

    name, route, summary = "bank-bring-back", "bring-back/", "Bring a bank back"
    do, done = bring_back, gettext_lazy("The bank is back in use.")


class SampleAct(Act[SamplingPlan]):
    roles, rows, reach, then = COORDINATORS, SamplingPlan.objects.all, {"bank": "bank"}, "sample"


class ArchiveSample(SampleAct):
    """Off the lists; nothing is deleted."""

    name, route, summary = "sample-archive", "archive/", "Archive a sample"
    do, done = archive, gettext_lazy("The sample is archived.")

    def page(self) -> str:
        return reverse("samples")


class BringBackSample(SampleAct):
    """An archived sample is in use again."""

    name, route, summary = "sample-bring-back", "bring-back/", "Bring a sample back"
    do, done = bring_back, gettext_lazy("The sample is back.")


# --- questions ------------------------------------------------------------------------------------
class QuestionAct(Act[Question]):
    roles, found_by = COORDINATORS, ("slug", "number")

    @classmethod
    def find(cls, person: User, **named: Any) -> Question:
        current = within_reach(person, Revision.objects.current().select_related("question__bank"), bank="bank")
        place = {"question__bank__slug": named["slug"], "question__number": named["number"]}
        return get_object_or_404(current, **place).question

    def page(self) -> str:
        return reverse("question", args=[self.thing.bank.slug, self.thing.number])


class WithdrawalForm(PlainForm):
    reason = forms.CharField(required=False)  # what a reason must be, the act says


class WithdrawQuestion(QuestionAct):
    """No sample draws it any more."""

    name, route, summary = "question-withdraw", "withdraw/", "Withdraw a question"
    do, form, done = withdraw_question, WithdrawalForm, gettext_lazy("The question is withdrawn.")


class BringBackQuestion(QuestionAct):
    """A withdrawn question can be drawn again."""

    name, route, summary = "question-bring-back", "bring-back/", "Bring a question back"
    do, done = bring_back_question, gettext_lazy("The question is back.")


class TagForm(PlainForm):
    tag = forms.CharField(max_length=200, help_text="at most 40 characters")


class _TagAct(QuestionAct):
    form, misread = TagForm, NO_TAG

    def run(self, arguments: dict[str, Any], at: datetime) -> ManyChanged:
        one = Question.objects.filter(pk=self.thing.pk)
        changed: ManyChanged = type(self).do(one, **arguments, bank=self.thing.bank, actor=self.person, at=at)
        return changed


class TagQuestion(_TagAct):
    """Put a tag on a question. One that is there stays as it is."""

    name, route, api_route, summary = "question-tag", "tags/add/", "tag/", "Tag a question"
    do = add_tag

    def says(self, arguments: dict[str, Any], result: ManyChanged) -> str:
        return _("The tag is added.") if result.n else _("The question has this tag already.")


class UntagQuestion(_TagAct):
    """Take a tag from a question."""

    name, route, api_route, summary = "question-untag", "tags/remove/", "untag/", "Take a tag from a question"
    do = remove_tag

    def says(self, arguments: dict[str, Any], result: ManyChanged) -> str:
        return _("The tag is removed.") if result.n else _("The question does not have this tag.")


BANK_ACTS: tuple[type[BankAct], ...] = (ArchiveBank, BringBackBank)
SAMPLE_ACTS: tuple[type[SampleAct], ...] = (ArchiveSample, BringBackSample)
QUESTION_ACTS: tuple[type[QuestionAct], ...] = (WithdrawQuestion, BringBackQuestion, TagQuestion, UntagQuestion)
