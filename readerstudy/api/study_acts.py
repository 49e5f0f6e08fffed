"""What is done with a study: opened, more time given, closed, re-reviewed, copied, archived, brought back."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.acts import Act
from annotation.api.acting import ActedOn
from annotation.api.bodies import SentBody
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import Shown
from annotation.api.shown_fields import Moment
from annotation.people.kept_answers import MadeAnswer
from readerstudy.api.study_list import OfStudy, OneStudy
from readerstudy.design.creating import copy_study
from readerstudy.views.access import coordinated_study


class DeadlineSent(SentBody):
    deadline_at = Moment(help_text="later than the present one")


class MovesDeadline(ActedOn):
    def arguments(self, act: Act[Any]) -> dict[str, Any]:
        return {"deadline": self.sent(DeadlineSent)["deadline_at"]}


class SentRemindersShape(Shown):
    n_sent = serializers.IntegerField(help_text="e-mails")


class SendsReminders(ActedOn):
    makes = True
    shape = SentRemindersShape

    def answer(self, result: int) -> Any:
        return self.shown({"n_sent": result})


class CloseSent(SentBody):
    confirmed_open = serializers.IntegerField(
        default=0, min_value=0, max_value=100_000, help_text="how many readers without an end are left; 409 tells them"
    )


class RereviewSent(SentBody):
    threshold_percent = serializers.IntegerField(
        default=50, min_value=1, max_value=100, help_text="missed by so many of the readers who answered the case"
    )
    name = serializers.CharField(max_length=200, help_text="of the round")


class RereviewShape(Shown):
    round = serializers.SlugField(source="slug")
    name = serializers.CharField()


class RereviewStudy(OfStudy):
    """The draft of a blinded round of the cases that many readers missed, mixed with as many that few missed; which are
    which is told when the round has closed. Choosing them is a look at results: it unblinds the study.
    """

    shape, body = RereviewShape, RereviewSent
    makes, status = True, 201
    summary = "Send missed cases to a re-review"

    def post(self, request: Request, **named: Any) -> Response:

        from readerstudy.conducting.rereviewing import send_to_rereview  # computes with numpy

        study, sent = self.study, self.sent(RereviewSent)

        def make() -> MadeAnswer:
            made = send_to_rereview(study, sent["threshold_percent"], name=sent["name"], **self.by())
            return MadeAnswer(201, self.shown(made), reverse("api-round", args=[made.slug]))

        return self.once(make)


class CopySent(SentBody):
    name = serializers.CharField(max_length=200, required=False, default="", help_text="empty: the next free one")


class CopyStudy(OneStudy):
    """A draft of the same design."""

    http_method_names = ["post"]
    body = CopySent
    makes, status = True, 201
    summary = "Copy a study"

    def post(self, request: Request, **named: Any) -> Response:
        study = coordinated_study(self.person, named["slug"])
        bank_named(self.person, study.bank.slug)  # a token of the study alone does not reach its copy
        name = self.sent(CopySent)["name"]

        def make() -> MadeAnswer:
            made = copy_study(study, name=name, **self.by())
            return MadeAnswer(201, self.shown(made), reverse("api-study", args=[made.slug]))

        return self.once(make)
