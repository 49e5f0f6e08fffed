"""Readers of a study: who takes part and how far they are, who is invited, and who leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import SentBody
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.people.kept_answers import MadeAnswer
from annotation.people.mailing import try_to_send
from readerstudy.api.study_list import OfStudy
from readerstudy.enrolment.inviting import (
    IssuedInvitation,
    invite_reader,
    open_invitations,
    revoke_invitation,
)
from readerstudy.enrolment.kernels.steps import Step
from readerstudy.enrolment.mailing import send_study_invitation, study_link
from readerstudy.enrolment.reader_status import statuses_of
from readerstudy.models import CaseSet, Enrolment, StudyInvitation
from readerstudy.study.locking import StudyRefused


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


class StudyReaders(OfStudy, ListOf[Enrolment]):
    """Readers in the order in which they came, with their progress; never an answer."""

    is_overseen = True
    shape = ReaderShape
    newest_first = False
    summary = "List readers of a study"

    def rows(self) -> QuerySet[Enrolment]:
        return self.study.enrolments.select_related("study", "reader", "case_set")

    def listed(self, rows: Sequence[Any], cursor: str, only: Sequence[str] | None) -> Response:
        return super().listed(statuses_of(list(rows), timezone.now()), cursor, only)


class OneReader(OfStudy, OneOf[Enrolment]):
    """One reader of a study."""

    is_overseen = True
    shape = ReaderShape
    summary = "Read one reader of a study"
    locks = ("study",)

    def rows(self) -> QuerySet[Enrolment]:
        return self.study.enrolments.select_related("study", "reader", "case_set")

    def shown(self, row: Any, only: Sequence[str] | None = None) -> Any:
        [status] = statuses_of([row], timezone.now())
        return super().shown(status, only)


class ReaderInvitationShape(Shown):
    id = serializers.IntegerField(source="pk")
    email = serializers.CharField()
    name = serializers.CharField()
    case_set = serializers.IntegerField(source="case_set.number")
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


class LinkOnce(Resource):
    """What gives out the link of an invitation says it in that answer alone, and sends it where it has an address."""

    def once_with_link(self, issue: Callable[[], IssuedInvitation], *, status: int) -> Response:
        made: list[IssuedInvitation] = []

        def give_out() -> MadeAnswer:
            made.append(issue())
            return MadeAnswer(status, self.shown(made[0].invitation))

        response = self.once(give_out)
        if made:
            response.data["link"] = study_link(made[0].token)
            response.data["was_sent"] = try_to_send(lambda: send_study_invitation(made[0]))
        return response


class StudyInvitations(LinkOnce, OfStudy, ListOf[StudyInvitation]):
    """Links that can still be used. A POST invites a reader: the answer holds the link, which is kept nowhere. Sent
    again with the same Idempotency-Key, the answer says the same without the link.
    """

    shape, body = ReaderInvitationShape, ReaderSent
    makes, status = True, 201
    summary, post_summary = "List open invitations to a study", "Invite a reader"

    def rows(self) -> QuerySet[StudyInvitation]:
        return open_invitations(self.study, timezone.now())

    def post(self, request: Request, **named: Any) -> Response:
        study, sent = self.study, self.sent(ReaderSent)
        case_set = self._case_set(sent.pop("case_set", None))
        return self.once_with_link(lambda: invite_reader(study, case_set, **sent, **self.by()), status=201)

    def _case_set(self, number: int | None) -> CaseSet:
        """The only one of the study, or the one that was asked for. Raises StudyRefused."""
        sets = [one for one in self.study.sets.order_by("number") if number in (None, one.number)]
        if len(sets) != 1:
            sentence = _("Say which of the sets of cases of this study is meant.")
            raise StudyRefused("which_set", sentence, status=422, field="case_set")
        return sets[0]


class RevokeStudyInvitation(OfStudy, OneOf[StudyInvitation]):
    """The link does not work any more. One that was used or has expired stays as it is."""

    http_method_names = ["post"]
    shape = ReaderInvitationShape
    summary = "Revoke an invitation to a study"

    def post(self, request: Request, **named: Any) -> Response:
        rows = self.study.invitations.select_related("case_set", "created_by", "study")
        invitation = get_object_or_404(rows, pk=named["pk"])
        revoke_invitation(invitation, **self.by())
        return Response(self.shown(invitation))
