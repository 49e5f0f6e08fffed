"""A question revised, and what speaks against it, dismissed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody
from annotation.api.questionbank.question_list import OfQuestion, OneQuestion, RevisionShape, bank_named, revisions_of
from annotation.api.resources import ActOn, ListOf, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.enums import Difficulty, FindingPlace, OptionLetter, Role, Task
from annotation.models import Finding, Revision
from annotation.people.kept_answers import MadeAnswer
from annotation.quality.checking import LONGEST_REASON, dismiss, findings_of
from annotation.quality.kernels.rules import RULES
from annotation.quality.kernels.validity_parts import ASKED
from annotation.questionbank.answers import read_truth
from annotation.questionbank.editing import REASON_LIMIT, revise, undo, wording_of
from annotation.review.onlookers import findings_shown_to


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


class _RevisionAct(OfQuestion):
    """Whoever revises reads the key: it is noted, and refused to whoever is still to answer the question blind."""

    writers = roles = (Role.COORDINATOR,)
    shape = RevisionShape
    http_method_names = ["post"]
    makes, status = True, 201

    def context(self) -> dict[str, Any]:
        return {"view": self}

    def post(self, request: Request, **named: Any) -> Response:
        current, sent = self.one(), self.sent(self.body)

        def make() -> MadeAnswer:
            read_truth(current, person=self.person, at=timezone.now())
            made = self.revised(current, dict(sent))
            rows = revisions_of(self.person, named["slug"], named["number"])
            address = reverse("api-revision", args=[named["slug"], named["number"], made.number])
            return MadeAnswer(201, self.shown(rows.get(pk=made.pk)), address)

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
