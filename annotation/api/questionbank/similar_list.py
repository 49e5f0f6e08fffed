"""Diversity of a bank: near-duplicates compared, vectors asked for."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import BodyRefused, SentBody
from annotation.api.job_list import JobShape
from annotation.api.model_calls.validator_list import OfJudgedBank
from annotation.api.resources import ListOf, OneOf, Shown
from annotation.api.shown_fields import Moment
from annotation.diversity import embedded_questions
from annotation.diversity.embedded_questions import (
    ask_for_comparison,
    ask_for_embedding,
    embeddings_of,
    plan_embedding,
    similar_found,
)
from annotation.models import Finding, Job
from annotation.models.endpoints import LONGEST_MODEL
from annotation.people.kept_answers import MadeAnswer
from annotation.quality.checking import COMPARISON
from annotation.quality.kernels.rules import BANKWIDE

JOBS = (COMPARISON, embedded_questions.KIND)


class BankJob(OfJudgedBank, OneOf[Job]):
    """A comparison or vectors that were asked for: how far it is."""

    shape = JobShape
    summary = "Read a job of a bank"

    def rows(self) -> QuerySet[Job]:
        return Job.objects.filter(kind__in=JOBS, params__bank=self.bank.pk).select_related("created_by")


class _Asking(OfJudgedBank):
    """202: a job does it, and the address says how far it is. One that waits or runs already is enough."""

    http_method_names = ["post"]
    shape = JobShape
    makes, status = True, 202

    def asked_for(self, job: Job) -> MadeAnswer:
        address = reverse("api-bank-job", args=[self.kwargs["slug"], job.public_id])
        return MadeAnswer(202, self.shown(job), address)


# --- near-duplicates --------------------------------------------------------------------------------
class SimilarShape(Shown):
    id = serializers.CharField(source="public_id", help_text="of the finding")
    rule = serializers.CharField()
    detail = serializers.CharField(help_text="how similar they are")
    question = serializers.IntegerField(source="revision.question.number")
    other_bank = serializers.SlugField(source="other.question.bank.slug", default=None, allow_null=True)
    other_question = serializers.IntegerField(source="other.question.number", default=None, allow_null=True)
    found_at = Moment()


class SimilarFilters(django_filters.FilterSet):
    rule = django_filters.ChoiceFilter(choices=[(code, code) for code in BANKWIDE])


class NearDuplicates(OfJudgedBank, ListOf[Finding]):
    """Pairs of questions that are nearly the same, within the bank and in public banks."""

    shape = SimilarShape
    filters = SimilarFilters
    newest_first = False
    summary = "List near-duplicates of a bank"

    def rows(self) -> QuerySet[Finding]:
        return similar_found(self.bank, self.person)


class CompareSent(SentBody):
    across = serializers.BooleanField(default=False, help_text="with public banks; else with each other")


class CompareBank(_Asking):
    """Compare the questions of a bank with each other, or with those of public banks."""

    body = CompareSent
    summary = "Look for near-duplicates"

    def post(self, request: Request, **named: Any) -> Response:
        bank, across = self.bank, self.sent(CompareSent)["across"]
        return self.once(lambda: self.asked_for(ask_for_comparison(bank, across=across, **self.by())))


class EmbeddingShape(Shown):
    id = serializers.CharField(source="embedding.public_id")
    endpoint = serializers.CharField(source="embedding.endpoint", help_text="or folder:NAME of the server")
    model = serializers.CharField(source="embedding.model")
    threshold = serializers.FloatField(source="embedding.threshold", allow_null=True, help_text="that a person set")
    n_vectors = serializers.IntegerField()
    n_questions = serializers.IntegerField()


class EmbeddingsShape(Shown):
    embeddings = EmbeddingShape(many=True)


class BankEmbeddings(OfJudgedBank, OneOf[Finding]):
    """Embeddings that know a question of the bank, and how many of them."""

    shape = EmbeddingsShape
    summary = "List embeddings of a bank"

    def get(self, request: Request, **named: Any) -> Response:
        return self.conditional(self.shown({"embeddings": embeddings_of(self.bank)}, self.only()))


class EmbedSent(SentBody):
    endpoint = serializers.CharField(max_length=200, help_text="its name, or folder:NAME of the server")
    model = serializers.CharField(max_length=LONGEST_MODEL, default="", allow_blank=True)
    confirmed_texts = serializers.IntegerField(
        min_value=0, max_value=999_999_999, default=0, help_text="how many texts are sent; 409 tells it"
    )


class EmbedBank(_Asking):
    """Ask a model for the vectors of questions that have none. Where texts are sent, their number must be confirmed."""

    body = EmbedSent
    summary = "Ask for vectors of questions"

    def post(self, request: Request, **named: Any) -> Response:
        bank, sent = self.bank, self.sent(EmbedSent)

        def ask() -> MadeAnswer:
            who = self.by()
            n = plan_embedding(bank, sent["endpoint"], sent["model"], at=who["at"]).n_to_send
            if n != sent["confirmed_texts"]:
                sentence = _("%(n)s texts are sent to the model. Nothing was sent: send this number to confirm.")
                raise BodyRefused("not_confirmed", sentence % {"n": n}, status=409, n=n)
            return self.asked_for(ask_for_embedding(bank, sent["endpoint"], sent["model"], **who))

        return self.once(ask)
