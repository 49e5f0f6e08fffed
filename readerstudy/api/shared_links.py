"""Links by which results are looked at without an account: made, listed, revoked and restored."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import Moment, PersonName, SentBody, cleaned
from annotation.api.resources import ListOf, OneOf, OnlyPost, Shown
from annotation.people.kept_answers import MadeAnswer
from readerstudy.api.study_list import OfStudy
from readerstudy.forms.studies import ShareForm
from readerstudy.models import ResultsLink
from readerstudy.results.looking import DAYS, IssuedLink, links_of, share_results
from readerstudy.views.access import seen_analysis


class ResultsLinkShape(Shown):
    id = serializers.IntegerField(source="pk")
    analysis = serializers.CharField(source="analysis.public_id")
    note = serializers.CharField(help_text="for whom it is")
    created_by = PersonName()
    created_at = Moment()
    expires_at = Moment()
    revoked_at = Moment(allow_null=True)
    last_used_at = Moment(allow_null=True, help_text="to the minute")
    link = serializers.CharField(
        default=None, allow_null=True, help_text="in the answer that makes it, and never again"
    )


class ResultsLinks(OfStudy, ListOf[ResultsLink]):
    """All links to results of the study that were ever made, the newest first."""

    shape = ResultsLinkShape
    summary = "List links to the results of a study"

    def rows(self) -> QuerySet[ResultsLink]:
        return links_of(self.study)


class ShareSent(SentBody):
    days = serializers.ChoiceField(choices=DAYS, default=7, help_text="for which it works")
    note = serializers.CharField(max_length=200, default="", allow_blank=True, help_text="for whom it is")


class ShareResults(OfStudy):
    """A link by which anybody sees the pages of this analysis until it ends, without cases, keys and names. It stands
    in this answer, and is kept nowhere.
    """

    shape, body = ResultsLinkShape, ShareSent
    makes, status = True, 201
    summary = "Share an analysis by a link"

    def post(self, request: Request, **named: Any) -> Response:
        analysis = seen_analysis(self.person, named["slug"], named["public_id"])
        asked = cleaned(ShareForm(self.sent(ShareSent)))
        made: list[IssuedLink] = []

        def share() -> MadeAnswer:
            made.append(share_results(analysis, **asked, **self.by()))
            return MadeAnswer(201, self.shown(made[0].link))

        response = self.once(share)
        if made:
            response.data["link"] = f"{settings.PUBLIC_URL}{reverse('shared-analysed', args=[made[0].token])}"
        return response


class OneResultsLink(OnlyPost, OfStudy, OneOf[ResultsLink]):
    shape = ResultsLinkShape

    def one(self) -> ResultsLink:
        return get_object_or_404(links_of(self.study), pk=self.kwargs["pk"])
