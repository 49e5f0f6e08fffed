"""Prompts by version: listed, read as they are sent, and written anew."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody
from annotation.api.model_calls.asked_models import OfNoPlace
from annotation.api.resources import ListOf, OneOf, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.audit.recording import lock_log
from annotation.call_enums import PromptPurpose, SentImages
from annotation.enums import Role
from annotation.models import PromptVersion
from annotation.people.kept_answers import MadeAnswer
from annotation.prompts.kernels.filling import LONGEST_SCHEMA
from annotation.prompts.versions import LONGEST_NAME, LONGEST_REASON, LONGEST_TEXT, PROMPT_IMAGES, make_version

READERS: tuple[Role, ...] = (Role.COORDINATOR, Role.ADMINISTRATOR)


class PromptLine(Shown):
    id = serializers.CharField(source="public_id")
    name = serializers.CharField()
    number = serializers.IntegerField(help_text="of this name")
    purpose = WordChoice(PromptPurpose)
    images = WordChoice(SentImages)
    sha256 = serializers.CharField(help_text="over everything that is sent")
    made_from = serializers.CharField(source="parent.public_id", default=None, allow_null=True)
    reason = serializers.CharField()
    author = PersonName(help_text="null: it came with the program")
    made_at = Moment()


class PromptShape(PromptLine):
    instruction = serializers.CharField()
    text = serializers.CharField()
    variables = serializers.ListField(child=serializers.CharField())
    schema = serializers.CharField(help_text="of the answer, as JSON; empty: plain text")


class PromptFilters(django_filters.FilterSet):
    name = django_filters.CharFilter()
    purpose = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in PromptPurpose])


class Prompts(OfNoPlace, ListOf[PromptVersion]):
    """Versions of prompts. Each never changes."""

    roles = READERS
    shape = PromptLine
    filters = PromptFilters
    summary = "List prompts"

    def rows(self) -> QuerySet[PromptVersion]:
        return PromptVersion.objects.select_related("author", "parent").defer("instruction", "text", "schema")


class OnePrompt(OfNoPlace, OneOf[PromptVersion]):
    """One version of a prompt, everything as it is sent."""

    roles = READERS
    writers = (Role.COORDINATOR,)
    shape = PromptShape
    summary = "Read one prompt"

    def rows(self) -> QuerySet[PromptVersion]:
        return PromptVersion.objects.select_related("author", "parent")

    def lock(self) -> None:
        lock_log()  # what makes the next version locks it first


class PromptSent(SentBody):
    """What is not sent is as in the version before."""

    reason = serializers.CharField(max_length=LONGEST_REASON, help_text="what is changed, and why")
    name = serializers.CharField(
        max_length=LONGEST_NAME, required=False, help_text="another one begins a prompt of its own"
    )
    instruction = serializers.CharField(
        max_length=LONGEST_TEXT, required=False, allow_blank=True, trim_whitespace=False
    )
    text = serializers.CharField(max_length=LONGEST_TEXT, required=False, trim_whitespace=False)
    variables = serializers.ListField(child=serializers.CharField(max_length=100), required=False, max_length=100)
    images = serializers.ChoiceField(choices=[(word.value, word.label) for word in PROMPT_IMAGES], required=False)
    schema = serializers.CharField(max_length=LONGEST_SCHEMA, required=False, allow_blank=True)


class NextPrompt(OnePrompt):
    """Store the next version of a prompt, of which nothing makes use before somebody names it."""

    http_method_names = ["post"]
    body = PromptSent
    makes, status = True, 201
    summary = "Write the next version of a prompt"

    def post(self, request: Request, **named: Any) -> Response:
        parent, sent = self.one(), self.sent(PromptSent)
        kept = ("name", "text", "instruction", "variables", "images", "schema")
        values = {name: getattr(parent, name) for name in kept} | sent
        name, text, images = values.pop("name"), values.pop("text"), SentImages(values.pop("images"))

        def make() -> MadeAnswer:
            purpose = PromptPurpose(parent.purpose)
            made = make_version(name, purpose, text, images=images, parent=parent, **values, **self.by())
            return MadeAnswer(201, self.shown(made), reverse("api-prompt", args=[made.public_id]))

        return self.once(make)
