"""Banks: listed, made, read, archived and brought back."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.api.shown_fields import Moment
from annotation.enums import ImportKind, ImportState, Role
from annotation.models import QuestionBank
from annotation.people.kept_answers import MadeAnswer
from annotation.questionbank.bank_life import LONGEST_NAME, make_bank
from annotation.questionbank.listing import n_questions


class BankShape(Shown):
    id = serializers.SlugField(source="slug", help_text="its readable address")
    name = serializers.CharField()
    n_questions = serializers.SerializerMethodField()
    is_public = serializers.BooleanField()
    simulated = serializers.BooleanField()
    terms = serializers.CharField()
    created_at = Moment()
    archived_at = Moment(allow_null=True)

    def get_n_questions(self, bank: QuestionBank) -> int:
        published = [one for one in bank.imports.all() if one.state == ImportState.PUBLISHED]
        return n_questions(one for one in published if one.kind != ImportKind.EDITS)


class BankSent(SentBody):
    name = serializers.CharField(max_length=LONGEST_NAME)
    simulated = serializers.BooleanField(default=False, help_text="all of its questions and images are made up")


class BankFilters(django_filters.FilterSet):
    archived = django_filters.BooleanFilter(field_name="archived_at", lookup_expr="isnull", exclude=True)
    name = django_filters.CharFilter(lookup_expr="icontains")


class _OfBanks(Resource):
    roles: ClassVar[tuple[Role, ...]] = (Role.COORDINATOR, Role.ADMINISTRATOR)
    writers: ClassVar[tuple[Role, ...] | None] = (Role.COORDINATOR,)
    reach = {"bank": "pk"}
    shape: ClassVar[type[Shown]] = BankShape

    def rows(self) -> QuerySet[QuestionBank]:
        return QuestionBank.objects.prefetch_related("imports")


class Banks(_OfBanks, ListOf[QuestionBank]):
    """Question banks. A POST makes an empty one; of sessions alone, since a token is good in a place that is there."""

    body = BankSent
    sorted_by = {"name": Lower("name"), "created_at": "created_at"}
    filters = BankFilters
    makes, status = True, 201
    summary, post_summary = "List banks", "Make a bank"

    def post(self, request: Request, **named: Any) -> Response:
        if self.person.limits is not None:
            raise PermissionDenied(
                _("A token is good in one place and makes no other. Make the bank first, then a token for it.")
            )
        sent = self.sent(BankSent)

        def make() -> MadeAnswer:
            bank = make_bank(**sent, **self.by())
            return MadeAnswer(201, self.shown(bank), reverse("api-bank", args=[bank.slug]))

        return self.once(make)


class OneBank(_OfBanks, OneOf[QuestionBank]):
    """One question bank."""

    lookup = "slug"
    summary = "Read one bank"
