"""Who asks: the person, what they may do here, and the token by which a program acts for them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resources import Resource, Shown
from annotation.api.shown_fields import Moment, WordChoice
from annotation.enums import Role
from annotation.models import AccessToken
from annotation.models.people import TokenScope
from annotation.site.permissions import site_roles


class TokenShape(Shown):
    id = serializers.CharField(source="public_id")
    name = serializers.CharField()
    role = WordChoice(Role)
    scope = WordChoice(TokenScope)
    place = serializers.CharField(source="place_name", help_text="name of the bank, round or study; empty: the site")
    networks = serializers.ListField(child=serializers.CharField())
    expires_at = Moment()


class MeShape(Shown):
    email = serializers.EmailField()
    name = serializers.CharField()
    roles = serializers.ListField(
        child=WordChoice(Role), help_text="that count for this request: with a token the one that it carries"
    )
    token = TokenShape(allow_null=True, help_text="null: a session")


class Me(Resource):
    """The person and the token of this request."""

    shape = MeShape
    summary = "Who asks"

    def get(self, request: Request, **named: Any) -> Response:
        person = self.person
        token = AccessToken.objects.get(public_id=request.auth) if request.auth else None
        roles = [person.limits.role] if person.limits else sorted(site_roles(person))
        facts = {"email": person.email, "name": person.name, "roles": roles, "token": token}
        return Response(self.shown(facts, self.only()))
