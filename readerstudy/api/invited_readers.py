"""Readers of a study: listed with their progress, invited, replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import BodyRefused, Moment, PersonName, SentBody, WordChoice, rows_refused
from annotation.api.resources import ActOn, ListOf, OneOf, OnlyPost, Shown
from annotation.api.review.round_people import LinkOnce
from annotation.models import Invitation
from annotation.people.invitation_file import (
    MOST_BYTES,
    CheckedRow,
    InvitedLink,
    RowFault,
    check_all,
    issue_all,
    read_invited,
)
from annotation.people.invitations import restore, revoke
from annotation.people.kept_answers import MadeAnswer
from annotation.people.mailing import try_to_send
from readerstudy.acts.studies import reader_of
from readerstudy.api.study_list import OfStudy
from readerstudy.enrolment.inviting import (
    check_for_readers,
    invitations_of,
    invite_reader,
    open_invitations,
    remind_invited,
)
from readerstudy.enrolment.kernels.steps import Step
from readerstudy.enrolment.participation import replace_reader
from readerstudy.enrolment.reader_status import statuses_of
from readerstudy.models import CaseSet, Enrolment
from readerstudy.study.permissions import StudyRefused


class ReaderInvitationShape(Shown):
    id = serializers.IntegerField(source="to_study.pk")
    email = serializers.CharField()
    name = serializers.CharField()
    case_set = serializers.IntegerField(source="to_study.case_set.number")
    created_by = PersonName()
    created_at = Moment()
    expires_at = Moment()
    reminded_at = Moment(allow_null=True)
    revoked_at = Moment(allow_null=True)
    link = serializers.CharField(
        default=None, allow_null=True, help_text="in the answer that makes it, and never again"
    )
    was_sent = serializers.BooleanField(default=None, allow_null=True, help_text="by e-mail, in that answer")


class ReaderSent(SentBody):
    email = serializers.EmailField(
        max_length=254, default="", allow_blank=True, help_text="empty: you hand the link over yourself"
    )
    name = serializers.CharField(max_length=200, default="", allow_blank=True)
    case_set = serializers.IntegerField(required=False, help_text="its number, where the study has several")


class StudyInvitations(LinkOnce, OfStudy, ListOf[Invitation]):
    """Links that can still be used. A POST invites a reader: the answer holds the link, which is kept nowhere. Sent
    again with the same Idempotency-Key, the answer says the same without the link.
    """

    shape, body = ReaderInvitationShape, ReaderSent
    makes, status = True, 201
    summary, post_summary = "List open invitations to a study", "Invite a reader"

    def rows(self) -> QuerySet[Invitation]:
        return open_invitations(self.study, timezone.now())

    def post(self, request: Request, **named: Any) -> Response:
        study, sent = self.study, self.sent(ReaderSent)
        case_set = self._case_set(sent.pop("case_set", None))
        return self.once_with_link(lambda: invite_reader(study, case_set, **sent, **self.by()))

    def _case_set(self, number: int | None) -> CaseSet:
        """The only one of the study, or the one that was asked for. Raises StudyRefused."""
        sets = [one for one in self.study.sets.order_by("number") if number in (None, one.number)]
        if len(sets) != 1:
            sentence = _("Say which of the sets of cases of this study is meant.")
            raise StudyRefused("which_set", sentence, status=422, field="case_set")
        return sets[0]


class _OneInvitation(OnlyPost, OfStudy, OneOf[Invitation]):
    shape = ReaderInvitationShape

    def one(self) -> Invitation:
        return get_object_or_404(invitations_of(self.study), to_study__pk=self.kwargs["pk"])


class RevokeStudyInvitation(ActOn[Invitation], _OneInvitation):
    """The link does not work any more. One that was used or has expired stays as it is."""

    summary = "Revoke an invitation to a study"

    def act_on(self, invitation: Invitation) -> None:
        revoke(invitation, **self.by())


class RemindInvitation(LinkOnce, _OneInvitation):
    """A new link for somebody who has not come yet; the old one ends. It stands in this answer, and is kept nowhere."""

    makes = True
    summary = "Give out a new link of an invitation"

    def post(self, request: Request, **named: Any) -> Response:
        invitation = self.one()
        return self.once_with_link(lambda: remind_invited(invitation, **self.by()), status=200)


class RestoreInvitation(ActOn[Invitation], _OneInvitation):
    """A link that was revoked works again until its day."""

    summary = "Restore an invitation to a study"

    def act_on(self, invitation: Invitation) -> None:
        if not restore(invitation, **self.by()):
            raise BodyRefused("link_ended", _("This link is used or has ended: it cannot be restored."))


class SuccessorSent(SentBody):
    reason = serializers.CharField(max_length=1000)
    email = serializers.EmailField(max_length=254, default="", allow_blank=True, help_text="of the successor")
    name = serializers.CharField(max_length=200, default="", allow_blank=True)


class ReplaceReader(LinkOnce, OfStudy):
    """Somebody else is invited and takes an order that is free; what the reader answered stays. The answer is the
    invitation with its link, which is kept nowhere.
    """

    shape, body = ReaderInvitationShape, SuccessorSent
    makes, status = True, 201
    summary = "Replace a reader"

    def post(self, request: Request, **named: Any) -> Response:
        enrolment, sent = reader_of(self.study, named["public_id"]), self.sent(SuccessorSent)
        return self.once_with_link(lambda: replace_reader(enrolment, **sent, **self.by()))


# --- from a file ----------------------------------------------------------------------------------
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


class ReaderShape(Shown):
    id = serializers.CharField(source="enrolment.public_id")
    pseudonym = serializers.CharField(source="enrolment.pseudonym", help_text="in every table of the study")
    name = PersonName(source="enrolment.reader", help_text="null: the readings were made elsewhere")
    case_set = serializers.IntegerField(source="enrolment.case_set.number")
    step = WordChoice(Step, help_text="what comes next for the reader")
    n_cases = serializers.IntegerField(source="n", help_text="of the main block")
    n_done = serializers.IntegerField()
    enrolled_at = Moment(source="enrolment.enrolled_at")
    consented_at = Moment(source="enrolment.consented_at", allow_null=True, help_text="null: not asked, or not yet")
    deadline_at = Moment(source="enrolment.deadline_at", allow_null=True, help_text="null: that of the study")
    finished_at = Moment(source="enrolment.finished_at", allow_null=True)
    withdrawn_at = Moment(source="enrolment.withdrawn_at", allow_null=True)
    replaced_at = Moment(source="enrolment.replaced_at", allow_null=True)


class OfReaders(OfStudy):
    is_overseen = True
    shape = ReaderShape

    def rows(self) -> QuerySet[Enrolment]:
        return self.study.enrolments.select_related("study", "reader", "case_set")


class StudyReaders(OfReaders, ListOf[Enrolment]):
    """Readers in the order in which they came, with their progress; never an answer."""

    newest_first = False
    summary = "List readers of a study"

    def listed(self, rows: Sequence[Any], cursor: str, only: Sequence[str] | None) -> Response:
        return super().listed(statuses_of(list(rows), timezone.now()), cursor, only)


class OneReader(OfReaders, OneOf[Enrolment]):
    """One reader of a study."""

    summary = "Read one reader of a study"
    locks = ("study",)

    def shown(self, row: Any, only: Sequence[str] | None = None) -> Any:
        [status] = statuses_of([row], timezone.now())
        return super().shown(status, only)
