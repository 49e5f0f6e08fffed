"""The report of a round: asked for, waited for, taken."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.compared_etags import lock_rows
from annotation.api.resources import OneOf, Resource, Shown
from annotation.api.review.review_list import seen_by
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.enums import JobState
from annotation.exports.review_report_job import (
    ask_for_review_report,
    kept_report,
    newest_report_job,
    take_review_report,
)
from annotation.models import Job, ReviewRound
from annotation.people.kept_answers import MadeAnswer


class WrittenFileShape(Shown):
    name = serializers.CharField()
    n_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    about = serializers.CharField()


class RoundReportShape(Shown):
    """Of the newest job, and of the file that is kept, which an earlier job may have made."""

    state = WordChoice(JobState, source="job.state", default=None, allow_null=True, help_text="null: never asked for")
    message = serializers.CharField(source="job.message", default="")
    error = serializers.CharField(source="job.error", default="", help_text="why its job failed")
    done = serializers.IntegerField(source="job.progress_done", default=0)
    total = serializers.IntegerField(source="job.progress_total", default=0)
    made_by = PersonName(source="kept.job.created_by", default=None)
    made_at = Moment(source="kept.job.finished_at", default=None, allow_null=True)
    n_bytes = serializers.IntegerField(source="kept.n_bytes", default=None, allow_null=True)
    sha256 = serializers.CharField(source="kept.sha256", default=None, allow_null=True, help_text="of the ZIP file")
    n_reviews = serializers.IntegerField(source="kept.report.n_reviews", default=None, allow_null=True)
    files = WrittenFileShape(source="kept.report.files", many=True, default=list)
    is_there = serializers.BooleanField(source="kept.is_there", default=False, help_text="it can be made again")
    has_changed = serializers.BooleanField(help_text="the round, since the report was made")


class _OfReport(Resource):
    """For coordinators of the round who may see what it found."""

    shape = RoundReportShape

    def report_of(self, review_round: ReviewRound, job: Job | None) -> Any:
        from annotation.exports.review_report import state_of_report  # loads numpy: not at every start

        kept = kept_report(review_round)
        has_changed = kept is not None and kept.state != state_of_report(review_round)
        return self.shown({"job": job, "kept": kept, "has_changed": has_changed}, self.only())


class RoundReport(_OfReport, OneOf[ReviewRound]):
    """How far the report is, and what the one that is kept holds."""

    summary = "Read how far the report of a round is"

    def lock(self) -> None:
        lock_rows(seen_by(self.person, self.kwargs["slug"]))

    def get(self, request: Request, **named: Any) -> Response:
        review_round = seen_by(self.person, named["slug"])
        return self.conditional(self.report_of(review_round, newest_report_job(review_round)))


class MakeRoundReport(_OfReport):
    """202: a job makes it, and the address says how far it is. One that waits or runs already is enough."""

    http_method_names = ["post"]
    makes, status = True, 202
    summary = "Ask for the report of a round"

    def post(self, request: Request, **named: Any) -> Response:
        review_round = seen_by(self.person, named["slug"])

        def ask() -> MadeAnswer:
            job = ask_for_review_report(review_round, **self.by())
            address = reverse("api-round-report", args=[review_round.slug])
            return MadeAnswer(202, self.report_of(review_round, job), address)

        return self.once(ask)


class RoundReportFile(Resource):
    """The ZIP file. Taking it is noted, and its reader as one who has seen the keys."""

    content_types = ("application/zip",)
    may_conflict = True  # no file is there
    http_method_names = ["get", "head", "post"]
    summary = "Read the report of a round"

    def get(self, request: Request, **named: Any) -> FileResponse:
        review_round = seen_by(self.person, named["slug"])
        path = take_review_report(review_round, **self.by())
        name = f"{review_round.slug}-report.zip"
        response = FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/zip")
        response["Cache-Control"] = "private, no-store"
        return response

    post = get
