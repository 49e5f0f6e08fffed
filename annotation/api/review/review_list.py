"""What a round brought: its reviews as a file and page by page, such as were made elsewhere, and its report.

Whoever reviews in the round themselves reads and imports none before it is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import FileResponse
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.acts.files import reviews_file
from annotation.acts.rounds import check_not_blinded, coordinated_round
from annotation.api.bodies import Moment, PersonName, SentBody, WordChoice, cleaned, rows_refused
from annotation.api.compared_etags import lock_rows
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.api.review.round_list import REACH
from annotation.api.site_lists import shape_of
from annotation.enums import JobState, Verdict
from annotation.exports.review_import import import_reviews
from annotation.exports.review_report_job import (
    ask_for_review_report,
    kept_report,
    newest_report_job,
    take_review_report,
)
from annotation.exports.reviews import COLUMNS, read_reviews_of
from annotation.forms.reviews import ReviewFileForm
from annotation.models import Job, Review, ReviewRound, User
from annotation.people.kept_answers import MadeAnswer
from annotation.review.outcomes import newest_reviews
from annotation.tables.writing import CONTENT_TYPES


def seen_by(person: User, slug: str) -> ReviewRound:
    """The round, for those of its coordinators who may see its reviews."""
    review_round = coordinated_round(person, slug)
    check_not_blinded(person, review_round)
    return review_round


class ReviewFilters(django_filters.FilterSet):
    question = django_filters.NumberFilter(field_name="assignment__revision__question__number")
    verdict = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in Verdict])


class ReviewsOfRound(ListOf[Review]):
    """Reviews in the version that counts, with the columns of the file, oldest first. One that is changed meanwhile
    comes again further on, with a higher ``version``. Every page that is read is noted in the audit log, and its keys
    as seen by the reader.
    """

    reach = {"bank": "assignment__round__plan__bank", "round": "assignment__round"}
    shape = shape_of("ReviewShape", COLUMNS)
    filters = ReviewFilters
    newest_first = False
    summary = "List reviews of a round"

    def rows(self) -> QuerySet[Review]:
        self.round = seen_by(self.person, self.kwargs["slug"])
        return newest_reviews(self.round)

    def listed(self, rows: Sequence[Any], cursor: str, only: Sequence[str] | None) -> Response:
        return super().listed(read_reviews_of(self.round, rows, **self.by()), cursor, only)


class RoundReviews(Resource):
    """All reviews as CSV, JSON Lines or Parquet, byte by byte as from the button of the page. ``source_ids`` adds the
    ids of the imported file. Whoever reviews in the round reads them once it is closed.
    """

    reach = REACH
    asked = ("source_ids",)
    content_types = tuple(kind.partition(";")[0] for kind in CONTENT_TYPES.values())
    http_method_names = ["get", "head"]
    summary = "Read the reviews of a round as a file"

    def get(self, request: Request, **named: Any) -> FileResponse:
        review_round = seen_by(self.person, named["slug"])
        response = reviews_file(review_round, named["form"], self.by(), source_ids="source_ids" in request.query_params)
        response["Cache-Control"] = "private, no-store"
        return response


class ReviewFileSent(SentBody):
    file = serializers.FileField(allow_empty_file=True, help_text="CSV or JSON Lines, in columns of the exported file")
    dry_run = serializers.BooleanField(default=False, help_text="check it and store nothing")


class TakenReviews(Shown):
    n_reviews = serializers.IntegerField()
    n_reviewers = serializers.IntegerField()
    n_questions = serializers.IntegerField()
    n_assignments = serializers.IntegerField(help_text="made for it, beside those that waited")
    n_taken_over = serializers.IntegerField(help_text="of these, in the place of one that somebody else had not begun")
    stored = serializers.BooleanField(help_text="false: it was a dry run")


class ImportReviews(OnlyPost):
    """Reviews that were made elsewhere, into an open round: all rows of the file or none. Reviewers have accounts."""

    parser_classes = [MultiPartParser]
    shape, body = TakenReviews, ReviewFileSent
    makes, status = True, 201
    summary = "Import reviews that were made elsewhere"

    def post(self, request: Request, **named: Any) -> Response:
        review_round, sent = seen_by(self.person, named["slug"]), self.sent(ReviewFileSent)
        file = cleaned(ReviewFileForm({}, MultiValueDict({"file": [sent["file"]]})))["file"]

        def take() -> MadeAnswer:
            taken = import_reviews(
                review_round, name=file.name, content=file.read(), dry_run=sent["dry_run"], **self.by()
            )
            if taken.faults:
                raise rows_refused(taken.faults)
            return self.made(taken)

        return self.once(take)


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


class MakeRoundReport(OnlyPost, _OfReport):
    """202: a job makes it, and the address says how far it is. One that waits or runs already is enough."""

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
