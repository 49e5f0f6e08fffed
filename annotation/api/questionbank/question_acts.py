"""Acts on questions: one revised or a doubt about it dismissed; many tagged, withdrawn or brought back by a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec.structs import replace
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import BodyRefused, Moment, PersonName, SentBody, WordChoice
from annotation.api.questionbank.question_list import OfQuestion, OneQuestion, RevisionShape, bank_named, revisions_of
from annotation.api.resources import ActOn, ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.enums import Difficulty, FindingPlace, JobState, OptionLetter, Role, Task
from annotation.forms.bank import QuestionSearchForm
from annotation.models import Finding, Job, QuestionBank, Revision, User
from annotation.people.kept_answers import MadeAnswer
from annotation.questionbank.answers import read_truth
from annotation.questionbank.checking import LONGEST_REASON, dismiss, findings_of
from annotation.questionbank.editing import REASON_LIMIT, revise, undo, wording_of
from annotation.questionbank.filters import BankSearch
from annotation.questionbank.kernels.question_checks import ASKED
from annotation.questionbank.kernels.rules import RULES
from annotation.review.onlookers import findings_shown_to
from annotation.review.selected_questions import (
    KIND,
    UNDOES,
    QuestionsAct,
    SelectedAct,
    ask_for_change,
    changed_numbers,
    outcome_of_job,
)


class ReasonSent(SentBody):
    reason = serializers.CharField(max_length=REASON_LIMIT)


class QuestionOfAct(OneQuestion):
    roles = (Role.COORDINATOR,)


# --- wordings -------------------------------------------------------------------------------------
class BasedOnSent(SentBody):
    based_on = serializers.IntegerField(
        min_value=1, max_value=999_999_999, help_text="the number of the revision that was read"
    )


class RevisionSent(BasedOnSent):
    """Fields that are not sent stay as they are."""

    reason = serializers.CharField(max_length=REASON_LIMIT)
    stem = serializers.CharField(required=False, trim_whitespace=False)
    options = serializers.ListField(
        child=serializers.CharField(trim_whitespace=False),
        min_length=4,
        max_length=4,
        required=False,
        help_text="four texts without letters",
    )
    key = WordChoice(OptionLetter, required=False)
    explanation = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    task = WordChoice(Task, required=False)
    category = serializers.CharField(required=False, allow_blank=True)
    subcategory = serializers.CharField(required=False, allow_blank=True)
    question_class = serializers.CharField(required=False, allow_blank=True)
    difficulty = serializers.ChoiceField(
        choices=[(word.value, word.label) for word in Difficulty], required=False, allow_blank=True
    )
    images_left_out = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="ids of images of the exam that do not count"
    )


class _RevisionAct(OnlyPost, OfQuestion):
    """Whoever revises reads the key: it is noted, and refused to whoever is still to answer the question blind."""

    writers = roles = (Role.COORDINATOR,)
    shape = RevisionShape
    makes, status = True, 201

    def context(self) -> dict[str, Any]:
        return {"view": self}

    def post(self, request: Request, **named: Any) -> Response:
        current, sent = self.one(), self.sent(self.body)

        def make() -> MadeAnswer:
            read_truth(current, person=self.person, at=timezone.now())
            made = self.revised(current, dict(sent))
            rows = revisions_of(self.person, named["slug"], named["number"])
            return self.made(rows.get(pk=made.pk), "api-revision", named["slug"], named["number"], made.number)

        return self.once(make)

    body: ClassVar[type[SentBody]]

    def revised(self, current: Revision, sent: dict[str, Any]) -> Revision:
        raise NotImplementedError


class ReviseQuestion(_RevisionAct):
    """Store another wording as the current one, by the rules of the editor. Reviews, samples and studies keep the one
    that they had. 409 where somebody else revised the question since ``based_on``.
    """

    body = RevisionSent
    summary = "Revise a question"

    def revised(self, current: Revision, sent: dict[str, Any]) -> Revision:
        based_on, reason = sent.pop("based_on"), sent.pop("reason")
        if "options" in sent:
            sent["options"] = tuple(sent["options"])
        if "images_left_out" in sent:
            sent["left_out"] = frozenset(sent.pop("images_left_out"))
        wording = replace(wording_of(current), **sent)
        return revise(current.question, wording, reason, based_on=based_on, **self.by())


class UndoRevision(_RevisionAct):
    """The wording from before the current revision, as a new one."""

    body = BasedOnSent
    summary = "Undo a revision"

    def revised(self, current: Revision, sent: dict[str, Any]) -> Revision:
        return undo(current.question, based_on=sent["based_on"], **self.by())


# --- findings -------------------------------------------------------------------------------------
class FindingLine(Shown):
    id = serializers.CharField(source="public_id")
    question = serializers.IntegerField(source="revision.question.number")
    revision = serializers.IntegerField(source="revision.number")
    rule = serializers.CharField()
    rule_version = serializers.IntegerField()
    found_at = Moment()


class FindingShape(FindingLine):
    place = WordChoice(FindingPlace)
    detail = serializers.CharField(help_text="what was found, and what to do")
    dismissed_at = Moment(allow_null=True)
    dismissed_by = PersonName()
    dismiss_reason = serializers.CharField()


class FindingFilters(django_filters.FilterSet):
    rule = django_filters.ChoiceFilter(choices=[(code, code) for code in (*RULES, *ASKED)])


class BankFindings(ListOf[Finding]):
    """What speaks against questions of a bank in their current wording and was not dismissed; place and detail, which
    may tell the key, are given with each question.
    """

    roles = (Role.COORDINATOR,)
    reach = {"bank": "bank"}
    shape = FindingLine
    filters = FindingFilters
    summary = "List open findings of a bank"

    def rows(self) -> QuerySet[Finding]:
        bank = bank_named(self.person, self.kwargs["slug"])
        current = Revision.objects.current().filter(bank=bank)
        rows = Finding.objects.open().filter(bank=bank, revision__in=current.order_by().values("pk"))
        return findings_shown_to(self.person, rows).select_related("revision__question")


class QuestionFindings(ListOf[Finding]):
    """What speaks against a question in its current wording, also what was dismissed. They may tell the key: who reads
    them is noted as having read it.
    """

    roles = (Role.COORDINATOR,)
    reach = {"bank": "bank"}
    shape = FindingShape
    newest_first = False
    summary = "List findings of a question"

    def rows(self) -> QuerySet[Finding]:
        return shown_findings(self)


class DismissalSent(SentBody):
    reason = serializers.CharField(max_length=LONGEST_REASON)


class DismissFinding(ActOn[Finding]):
    """Say why a finding is none. Twice changes nothing: the first reason stays."""

    roles = writers = (Role.COORDINATOR,)
    reach = {"bank": "bank"}
    shape = FindingShape
    body = DismissalSent
    summary = "Dismiss a finding"

    def rows(self) -> QuerySet[Finding]:
        return shown_findings(self)

    def act_on(self, finding: Finding) -> None:
        dismiss(finding, reason=self.sent(DismissalSent)["reason"], **self.by())


def shown_findings(view: QuestionFindings | DismissFinding) -> QuerySet[Finding]:
    """Of the question of an address, for a person who has read its key with this."""
    bank = bank_named(view.person, view.kwargs["slug"])
    current = Revision.objects.current().select_related("question")
    revision = get_object_or_404(current, bank=bank, question__number=view.kwargs["number"])
    read_truth(revision, person=view.person, at=timezone.now())
    rows = findings_shown_to(view.person, findings_of([revision.pk]))
    return rows.select_related("revision__question", "dismissed_by").order_by("pk")


MOST_NAMED = 1000


class ChangeShape(Shown):
    id = serializers.CharField(source="public_id")
    act = WordChoice(SelectedAct, source="params.act")
    words = serializers.CharField(source="params.words", help_text="the tag, or the reason")
    state = WordChoice(JobState)
    error = serializers.CharField()
    done = serializers.IntegerField(source="progress_done")
    total = serializers.IntegerField(source="progress_total")
    created_at = Moment()
    finished_at = Moment(allow_null=True)
    n_changed = serializers.SerializerMethodField(help_text="null while it is under way")
    left = serializers.SerializerMethodField(help_text="which questions stayed as they were, and why")

    def get_n_changed(self, job: Job) -> int | None:
        outcome = outcome_of_job(job)
        return outcome.n if outcome else None

    def get_left(self, job: Job) -> list[dict[str, Any]]:
        outcome = outcome_of_job(job)
        return (
            [{"why": one.sentence, "numbers": one.numbers, "n_more": one.n_more} for one in outcome.left]
            if outcome
            else []
        )


class ChangeSent(SentBody):
    act = WordChoice(SelectedAct)
    tag = serializers.CharField(max_length=200, default="", allow_blank=True, help_text="to put on or take away")
    reason = serializers.CharField(max_length=REASON_LIMIT, default="", allow_blank=True, help_text="of a withdrawal")
    numbers = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=999_999_999),
        max_length=MOST_NAMED,
        required=False,
        help_text="of the questions",
    )
    filters = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="of the list of questions, in place of numbers"
    )
    n = serializers.IntegerField(
        min_value=1, required=False, help_text="with filters: how many questions are meant; 409 tells it"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("numbers" in attrs) == ("filters" in attrs):
            raise serializers.ValidationError({"numbers": [_("Send numbers or filters, one of them.")]})
        return attrs


def search_by(filters: Mapping[str, str], bank: QuestionBank, person: User) -> BankSearch:
    """What the page would find by these filters. Raises ValidationError for one that means nothing."""
    search = QuestionSearchForm(filters, bank, person, offers_all=False).search()
    if unknown := sorted(set(filters) - set(search.wanted)):
        raise serializers.ValidationError(
            {f"filters.{name}": [_("There is no such filter or value.")] for name in unknown}
        )
    return search


class _OfChanges(Resource):
    """Begins with the bank of the address, which a token reaches or not."""

    roles = (Role.COORDINATOR,)
    shape = ChangeShape
    reach = None

    @property
    def bank(self) -> QuestionBank:
        return bank_named(self.person, self.kwargs["slug"])

    def rows(self) -> QuerySet[Job]:
        """One's own: others may not know the tags of a question that they judge."""
        return Job.objects.filter(kind=KIND, params__bank=self.bank.pk, created_by=self.person)

    def ask_for(self, one: QuestionsAct, numbers: list[int]) -> MadeAnswer:
        job = ask_for_change(one, numbers)
        return self.made(job, "api-bank-change", one.bank.slug, job.public_id)


class BankChanges(_OfChanges, ListOf[Job]):
    """Own acts on many questions of a bank. A POST asks for one, of the questions with these numbers or of all that the
    filters find; a job does it. Where filters are sent, their number must be confirmed: 409 tells it.
    """

    body = ChangeSent
    makes, status = True, 202
    summary, post_summary = "List own acts on many questions", "Change many questions"

    def post(self, request: Request, **named: Any) -> Response:
        bank, sent = self.bank, self.sent(ChangeSent)
        if bank.archived_at is not None:
            sentence = _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name}
            raise BodyRefused("bank_archived", sentence, status=409)
        act = SelectedAct(sent["act"])
        words = sent["reason"] if act == SelectedAct.WITHDRAW else sent["tag"]
        one = QuestionsAct.of(act, words, bank=bank, **self.by())
        return self.once(lambda: self.ask_for(one, self._numbers(bank, sent)))

    def _numbers(self, bank: QuestionBank, sent: Mapping[str, Any]) -> list[int]:
        """Raises BodyRefused where none is found, and where filters find another number than was confirmed."""
        if "filters" in sent:
            found = search_by(sent["filters"], bank, self.person).revisions()
        else:
            found = BankSearch(bank, {}).revisions().filter(question__number__in=sent["numbers"])
        numbers = list(found.order_by("question_id").values_list("question__number", flat=True))
        if "filters" in sent and sent.get("n") != len(numbers):
            sentence = _("%(n)s questions are meant. Send this number to confirm.") % {"n": len(numbers)}
            raise BodyRefused("list_changed", sentence, status=409, n=len(numbers))
        if not numbers:
            raise BodyRefused("none_found", _("This bank has no such question."), status=422, field="numbers")
        return numbers


class OneBankChange(_OfChanges, OneOf[Job]):
    """One own act on many questions: how far it is, and what it changed."""

    summary = "Read one act on many questions"


class UndoBankChange(OnlyPost, _OfChanges):
    """Another act that takes this one back, of the questions that are still as it left them."""

    makes, status = True, 202
    summary = "Undo an act on many questions"

    def post(self, request: Request, **named: Any) -> Response:
        job = get_object_or_404(self.rows(), public_id=named["public_id"])

        def undo() -> MadeAnswer:
            before = QuestionsAct.of_job(job.params)
            numbers = [] if job.is_unfinished or before.act not in UNDOES else changed_numbers(before)
            if not numbers:
                raise BodyRefused("nothing", _("There is nothing to undo."), status=409)
            one = QuestionsAct.of(UNDOES[before.act], before.words, bank=before.bank, **self.by())
            return self.ask_for(one, numbers)

        return self.once(undo)
