"""What coordinators do for single readers: more time, a reminder, past the practice block, somebody in their place."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import SentBody
from readerstudy.acts.studies import reader_of
from readerstudy.api.reader_list import LinkOnce, ReaderInvitationShape
from readerstudy.api.study_list import OfStudy
from readerstudy.enrolment.participation import replace_reader


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
