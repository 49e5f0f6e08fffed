"""Invitations of readers from a file, and what becomes of one: a new link for somebody who has not come, restored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import BodyRefused, SentBody, rows_refused
from annotation.api.resources import ActOn, OneOf, Shown
from annotation.api.shown_fields import Moment
from annotation.people.invitation_file import (
    MOST_BYTES,
    CheckedRow,
    InvitedLink,
    RowFault,
    check_all,
    issue_all,
    read_invited,
)
from annotation.people.kept_answers import MadeAnswer
from annotation.people.mailing import try_to_send
from readerstudy.api.reader_list import LinkOnce, ReaderInvitationShape
from readerstudy.api.study_list import OfStudy
from readerstudy.enrolment.inviting import remind_invited, restore_invitation
from readerstudy.enrolment.inviting_many import check_for_readers
from readerstudy.models import StudyInvitation


class InvitedReaderShape(Shown):
    row = serializers.IntegerField(source="row.number", help_text="as a spreadsheet counts it")
    name = serializers.CharField(source="row.name")
    email = serializers.CharField(source="row.email")
    gives = serializers.ListField(child=serializers.CharField())
    effects = serializers.ListField(child=serializers.CharField(), default=list, help_text="of a dry run: what it does")
    expires_at = Moment(source="until", default=None, allow_null=True)
    link = serializers.CharField(
        default=None, allow_null=True, help_text="in the answer that makes it, and never again"
    )
    was_sent = serializers.BooleanField(default=None, allow_null=True, help_text="by e-mail, in that answer")

    def to_representation(self, one: CheckedRow | InvitedLink) -> Any:
        """Without the link, which is kept nowhere."""
        shown = super().to_representation(one)
        return {**shown, "link": None} if "link" in shown else shown


class InvitedReadersShape(Shown):
    stored = serializers.BooleanField(help_text="false: it was a dry run")
    invitations = InvitedReaderShape(many=True)


class InvitedReadersSent(SentBody):
    file = serializers.FileField(allow_empty_file=True, help_text="CSV: name, email, roles; without roles a reader")
    dry_run = serializers.BooleanField(default=False, help_text="say what each row does and store nothing")


class _Fault(NamedTuple):
    row: int
    column: str
    message: str


class InviteReadersFromFile(OfStudy):
    """Invite all people of a file, or none: ``errors`` name row and column of what is wrong. The answer holds the
    links, which are kept nowhere; sent again with the same Idempotency-Key it says the same without them.
    """

    parser_classes = [MultiPartParser]
    shape, body = InvitedReadersShape, InvitedReadersSent
    makes, status = True, 201
    summary = "Invite readers from a file"

    def post(self, request: Request, **named: Any) -> Response:
        study, sent = self.study, self.sent(InvitedReadersSent)
        links: list[InvitedLink] = []

        def invite() -> MadeAnswer:
            check = check_for_readers(study, **self.by())
            rows, faults = read_invited(sent["file"].read(MOST_BYTES + 1))
            checked, refused = check_all(rows, check)
            _refuse([*faults, *refused])
            if not sent["dry_run"]:
                made, faults = issue_all(checked)
                _refuse(faults)
                links.extend(made)
            shown = {"stored": not sent["dry_run"], "invitations": links or checked}
            return MadeAnswer(201, self.shown(shown))

        response = self.once(invite)
        for row, link in zip(response.data["invitations"], links, strict=False):
            row["link"], row["was_sent"] = link.link, try_to_send(link.send)
        return response


def _refuse(faults: Sequence[RowFault]) -> None:
    if faults:
        raise rows_refused([_Fault(*one) for one in sorted(faults)])


class _OneInvitation(OfStudy, OneOf[StudyInvitation]):
    http_method_names = ["post"]
    shape = ReaderInvitationShape

    def one(self) -> StudyInvitation:
        rows = self.study.invitations.select_related("case_set", "created_by", "study")
        return get_object_or_404(rows, pk=self.kwargs["pk"])


class RemindInvitation(LinkOnce, _OneInvitation):
    """A new link for somebody who has not come yet; the old one ends. It stands in this answer, and is kept nowhere."""

    makes = True
    summary = "Give out a new link of an invitation"

    def post(self, request: Request, **named: Any) -> Response:
        invitation = self.one()
        return self.once_with_link(lambda: remind_invited(invitation, **self.by()), status=200)


class RestoreInvitation(ActOn[StudyInvitation], _OneInvitation):
    """A link that was revoked works again until its day."""

    summary = "Restore an invitation to a study"

    def act_on(self, invitation: StudyInvitation) -> None:
        if not restore_invitation(invitation, **self.by()):
            raise BodyRefused("link_ended", _("This link is used or has ended: it cannot be restored."))
