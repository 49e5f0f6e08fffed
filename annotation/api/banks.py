"""Banks: listed, read, archived and brought back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import django_filters
from django.db.models import QuerySet
from django.db.models.functions import Lower
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resources import ListOf, OneOf, Shown
from annotation.api.shown_fields import Moment
from annotation.bin.deleting import archive, bring_back
from annotation.enums import ImportKind, ImportState, Role
from annotation.models import QuestionBank
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


class BankFilters(django_filters.FilterSet):
    archived = django_filters.BooleanFilter(field_name="archived_at", lookup_expr="isnull", exclude=True)
    name = django_filters.CharFilter(lookup_expr="icontains")


class Banks(ListOf[QuestionBank]):
    """Question banks."""

    roles = (Role.COORDINATOR, Role.ADMINISTRATOR)
    reach = {"bank": "pk"}
    shape = BankShape
    sorted_by = {"name": Lower("name"), "created_at": "created_at"}
    filters = BankFilters
    summary = "List banks"

    def rows(self) -> QuerySet[QuestionBank]:
        return QuestionBank.objects.prefetch_related("imports")


class OneBank(OneOf[QuestionBank]):
    """One question bank."""

    roles = Banks.roles
    writers = (Role.COORDINATOR,)
    reach = Banks.reach
    lookup = "slug"
    shape = BankShape
    summary = "Read one bank"

    def rows(self) -> QuerySet[QuestionBank]:
        return QuestionBank.objects.prefetch_related("imports")


class _BankAct(OneBank):
    act: Callable[..., None]
    http_method_names = ["post"]

    def post(self, request: Request, **named: Any) -> Response:
        bank = self.one()
        self.check_unchanged(bank)
        type(self).act(bank, **self.by())
        return Response(self.shown(self.one()))


class ArchiveBank(_BankAct):
    """Off the lists; nothing is deleted."""

    act = archive
    summary = "Archive a bank"


class BringBackBank(_BankAct):
    """An archived bank is in use again."""

    act = bring_back
    summary = "Bring a bank back"
