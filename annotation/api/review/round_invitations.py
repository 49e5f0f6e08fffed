"""Who is invited to a round: open links listed, given out and revoked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import SentBody, cleaned
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.enums import Role
from annotation.forms.people import round_invitation_form
from annotation.models import Invitation, User
from annotation.people.invitations import Grant, IssuedInvitation, invite, open_invitations, revoke
from annotation.people.kept_answers import MadeAnswer
from annotation.people.mailing import send_invitation, try_to_send
from annotation.site.permissions import ROUND_ROLES, roles_given_in
from annotation.views.people.invitations import round_to_invite_to


class RoundInvitationShape(Shown):
    id = serializers.IntegerField(source="pk")
    role = WordChoice(Role)
    email = serializers.CharField()
    name = serializers.CharField()
    created_by = PersonName()
    created_at = Moment()
    expires_at = Moment()
    link = serializers.CharField(
        default=None, allow_null=True, help_text="in the answer that makes it, and never again"
    )
    was_sent = serializers.BooleanField(default=None, allow_null=True, help_text="by e-mail, in that answer")


class RoundInvitationSent(SentBody):
    email = serializers.EmailField(
        max_length=254, default="", allow_blank=True, help_text="empty: you hand the link over yourself"
    )
    name = serializers.CharField(max_length=200, default="", allow_blank=True)
    role = serializers.ChoiceField(choices=[(role.value, role.label) for role in ROUND_ROLES], default=Role.REVIEWER)


class LinkOnce(Resource):
    """What gives out the link of an invitation says it in that answer alone, and sends it where it has an address."""

    def once_with_link(self, issue: Callable[[], IssuedInvitation], *, status: int = 201) -> Response:
        made: list[IssuedInvitation] = []

        def give_out() -> MadeAnswer:
            made.append(issue())
            return MadeAnswer(status, self.shown(made[0].invitation))

        response = self.once(give_out)
        if made:
            response.data["link"] = made[0].link
            response.data["was_sent"] = try_to_send(lambda: send_invitation(made[0]))
        return response


class RoundInvitations(LinkOnce, ListOf[Invitation]):
    """Links into a round that can still be used, of the roles that the person gives. A POST invites: the answer holds
    the link, which is kept nowhere. Sent again with the same Idempotency-Key, the answer says the same without it.
    """

    shape, body = RoundInvitationShape, RoundInvitationSent
    makes, status = True, 201
    summary, post_summary = "List open invitations to a round", "Invite to a round"
    reach = None

    def rows(self) -> QuerySet[Invitation]:
        return _invitations_of(self.person, self.kwargs["slug"])

    def post(self, request: Request, **named: Any) -> Response:
        review_round = round_to_invite_to(self.person, named["slug"])
        sent = self.sent(RoundInvitationSent)
        form = round_invitation_form(self.person, review_round, {**sent, "roles": [sent["role"]]})
        data = cleaned(form)
        grants = [Grant(role, review_round) for role in data["roles"]]
        return self.once_with_link(lambda: invite(*grants, email=data["email"], name=data["name"], **self.by()))


def _invitations_of(person: User, slug: str) -> QuerySet[Invitation]:
    review_round = round_to_invite_to(person, slug)
    return open_invitations(timezone.now()).filter(round=review_round, role__in=roles_given_in(person, review_round))


class RevokeRoundInvitation(OneOf[Invitation]):
    """The link gives this role no more."""

    lookup = "pk"
    http_method_names = ["post"]
    shape = RoundInvitationShape
    summary = "Revoke an invitation to a round"
    reach = None

    def rows(self) -> QuerySet[Invitation]:
        return _invitations_of(self.person, self.kwargs["slug"])

    def post(self, request: Request, **named: Any) -> Response:
        invitation = self.one()
        revoke(invitation, **self.by())
        return Response(self.shown(invitation))
