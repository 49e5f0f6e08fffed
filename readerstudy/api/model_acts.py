"""What becomes of models: edited, replaced, withdrawn; and banks for which submitters may send predictions."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody, cleaned
from annotation.api.questionbank.question_acts import ReasonSent
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import OneOf, Shown
from annotation.enums import Role
from annotation.models import QuestionBank
from annotation.people.kept_answers import MadeAnswer
from readerstudy.acts.models import changeable_entry
from readerstudy.api.model_list import OneModel
from readerstudy.forms.models import ModelForm
from readerstudy.models import ModelEntry, SubmissionCall
from readerstudy.predictions import listing
from readerstudy.predictions.entries import FIELDS, edit_model, replace_model, withdraw_model


class ModelChanged(SentBody):
    """What is not sent stays as it is."""

    name = serializers.CharField(required=False)
    version = serializers.CharField(required=False, allow_blank=True)
    dated_on = serializers.CharField(required=False, allow_blank=True, help_text="2026-11-30")
    prompt = serializers.CharField(required=False, allow_blank=True)
    decoding = serializers.CharField(required=False, allow_blank=True)
    link = serializers.CharField(required=False, allow_blank=True)


class _ModelAct(OneModel):
    http_method_names = ["post"]

    def one(self) -> ModelEntry:
        """Raises PermissionDenied where its runs stand in figures that the token does not reach."""
        entry = changeable_entry(self.person, self.kwargs["public_id"])
        if not listing.reaches_all_runs(self.person, entry):
            raise PermissionDenied(_("This model has runs in other places than that of the token."))
        return entry

    def fields_of(self, entry: ModelEntry) -> dict[str, Any]:
        """Those of the model with what was sent in their place. Raises ValidationError."""
        kept = {name: getattr(entry, name) for name in FIELDS}
        return cleaned(ModelForm({**kept, **self.sent(ModelChanged)}))


class EditModel(_ModelAct):
    """Correct the description of a model. What it was before stays in its history; another version of it is a
    replacement.
    """

    body = ModelChanged
    summary = "Edit a model"

    def post(self, request: Request, **named: Any) -> Response:
        entry = self.one()
        return Response(self.shown(edit_model(entry, self.fields_of(entry), **self.by())))


class ReplaceModel(_ModelAct):
    """Another entry in the place of this one, whose runs leave the figures. It begins without predictions; the answer
    is the new one.
    """

    body = ModelChanged
    makes, status = True, 201
    summary = "Replace a model"

    def post(self, request: Request, **named: Any) -> Response:
        entry = self.one()
        fields = self.fields_of(entry)

        def replace() -> MadeAnswer:
            made = replace_model(entry, fields, **self.by())
            return MadeAnswer(201, self.shown(made), reverse("api-model", args=[made.public_id]))

        return self.once(replace)


class WithdrawModel(_ModelAct):
    """The model and its runs leave the figures; nothing is deleted."""

    body = ReasonSent
    summary = "Withdraw a model"

    def post(self, request: Request, **named: Any) -> Response:
        entry = self.one()
        return Response(self.shown(withdraw_model(entry, self.sent(ReasonSent)["reason"], **self.by())))


# --- what submitters may send for -----------------------------------------------------------------
class SubmissionsShape(Shown):
    bank = serializers.SlugField(source="slug")
    is_open = serializers.SerializerMethodField(help_text="whether submitters of models may send predictions for it")

    def get_is_open(self, bank: QuestionBank) -> bool:
        return SubmissionCall.objects.filter(bank=bank).exists()


class Submissions(OneOf[QuestionBank]):
    """Whether submitters of models may send predictions for a bank."""

    roles = (Role.COORDINATOR,)
    shape = SubmissionsShape
    summary = "Read whether a bank is open to submitters"

    def one(self) -> QuestionBank:
        return bank_named(self.person, self.kwargs["slug"])
