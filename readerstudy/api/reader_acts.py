"""What coordinators do for single readers: more time, a reminder, past the practice block, somebody in their place."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import SentBody
from annotation.api.questionbank.question_acts import ReasonSent
from annotation.api.resources import ActOn
from annotation.people.kept_answers import MadeAnswer
from readerstudy.api.reader_list import LinkOnce, OneReader, ReaderInvitationShape
from readerstudy.api.study_acts import DeadlineSent, SentRemindersShape
from readerstudy.api.study_list import OfStudy
from readerstudy.enrolment.participation import replace_reader
from readerstudy.models import Enrolment
from readerstudy.monitoring.unfinished import extend_reader, remind_reader
from readerstudy.reading.practice import let_pass
from readerstudy.views.monitoring.readers import reader_of


class ExtendReader(ActOn[Enrolment], OneReader):
    """More time for one reader. A deadline never moves earlier."""

    body = DeadlineSent
    summary = "Give a reader more time"

    def act_on(self, enrolment: Enrolment) -> None:
        extend_reader(enrolment, self.sent(DeadlineSent)["deadline_at"], **self.by())


class PassReader(ActOn[Enrolment], OneReader):
    """Let a reader go on who did not pass the practice block. Twice changes nothing."""

    body = ReasonSent
    summary = "Let a reader go on after the practice block"

    def act_on(self, enrolment: Enrolment) -> None:
        let_pass(enrolment, self.sent(ReasonSent)["reason"], **self.by())


class RemindReader(OfStudy):
    """An e-mail to the reader, unless they have finished."""

    shape = SentRemindersShape
    makes = True
    summary = "Remind a reader"

    def post(self, request: Request, **named: Any) -> Response:
        enrolment = reader_of(self.study, named["public_id"])
        return self.once(lambda: MadeAnswer(200, self.shown({"n_sent": remind_reader(enrolment, **self.by())})))


class SuccessorSent(SentBody):
    reason = serializers.CharField(max_length=1000)
    email = serializers.EmailField(max_length=254, default="", allow_blank=True, help_text="of the successor")
    name = serializers.CharField(max_length=200, default="", allow_blank=True)


class ReplaceReader(LinkOnce, OfStudy):
    """Somebody else is invited and takes the next order; what the reader answered stays. The answer is the invitation
    with its link, which is kept nowhere.
    """

    shape, body = ReaderInvitationShape, SuccessorSent
    makes, status = True, 201
    summary = "Replace a reader"

    def post(self, request: Request, **named: Any) -> Response:
        enrolment, sent = reader_of(self.study, named["public_id"]), self.sent(SuccessorSent)
        return self.once_with_link(lambda: replace_reader(enrolment, **sent, **self.by()), status=201)
