"""What is done with a study: frozen, opened, closed, copied, archived and brought back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody
from annotation.api.question_list import bank_named
from annotation.people.kept_answers import MadeAnswer
from readerstudy.api.study_list import OneStudy
from readerstudy.conducting import lifecycle
from readerstudy.design.creating import copy_study
from readerstudy.design.freezing import freeze_study
from readerstudy.models import ReaderStudy
from readerstudy.views.study.access import coordinated_study


class _StudyAct(OneStudy):
    act: Callable[..., object]
    http_method_names = ["post"]

    def one(self) -> ReaderStudy:
        return coordinated_study(self.person, self.kwargs["slug"])

    def post(self, request: Request, **named: Any) -> Response:
        study = self.one()
        self.check_unchanged(study)
        type(self).act(study, **self.sent_to_act(), **self.by())
        return Response(self.shown(self.one()))

    def sent_to_act(self) -> dict[str, Any]:
        body: type[SentBody] | None = getattr(self, "body", None)
        return self.sent(body) if body else {}


class FreezeSent(SentBody):
    read_elsewhere = serializers.BooleanField(
        default=False, help_text="its readings are imported, so that nobody misses images that are not here"
    )


class FreezeStudy(_StudyAct):
    """From now on nothing of the design changes. Refused with everything that is in the way. Where readers see
    indications somebody has to read these first: such a study is frozen on its page.
    """

    act, body = freeze_study, FreezeSent
    summary = "Freeze a study"


class OpenStudy(_StudyAct):
    """Readers read from now on. Opening an open study changes nothing."""

    act = lifecycle.open_study
    summary = "Open a study"


class CloseSent(SentBody):
    confirmed_open = serializers.IntegerField(
        default=0, min_value=0, max_value=100_000, help_text="how many readers without an end are left; 409 tells them"
    )


class CloseStudy(_StudyAct):
    """Nothing is read from now on, and the analysis is asked for. Closing twice changes nothing."""

    act, body = lifecycle.close_study, CloseSent
    summary = "Close a study"


class ArchiveStudy(_StudyAct):
    """Off the lists; nothing is deleted."""

    act = lifecycle.archive
    summary = "Archive a study"


class BringBackStudy(_StudyAct):
    """An archived study stands in the lists again."""

    act = lifecycle.bring_back
    summary = "Bring a study back"


class CopySent(SentBody):
    name = serializers.CharField(max_length=200, required=False, default="", help_text="empty: the next free one")


class CopyStudy(_StudyAct):
    """A draft of the same design."""

    body = CopySent
    makes, status = True, 201
    summary = "Copy a study"

    def post(self, request: Request, **named: Any) -> Response:
        study = self.one()
        bank_named(self.person, study.bank.slug)  # a token of the study alone does not reach its copy
        name = self.sent(CopySent)["name"]

        def make() -> MadeAnswer:
            made = copy_study(study, name=name, **self.by())
            return MadeAnswer(201, self.shown(made), reverse("api-study", args=[made.slug]))

        return self.once(make)
