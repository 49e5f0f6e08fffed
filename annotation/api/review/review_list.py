"""Reviews of a round: as the file of its page, page by page, and such as were made elsewhere taken in.

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

from annotation.acts.rounds import coordinated_round
from annotation.api.bodies import SentBody, cleaned, rows_refused
from annotation.api.resources import ListOf, Resource, Shown
from annotation.api.review.round_list import REACH
from annotation.api.table_rows import shape_of
from annotation.enums import Verdict
from annotation.exports.review_import import import_reviews
from annotation.exports.reviews import COLUMNS, read_reviews_of
from annotation.exports.tables import CONTENT_TYPES
from annotation.forms.reviews import ReviewFileForm
from annotation.models import Review, ReviewRound, User
from annotation.people.kept_answers import MadeAnswer
from annotation.review.outcomes import newest_reviews
from annotation.views.review.outcome_context import check_not_blinded
from annotation.views.review.rounds import reviews_file


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


class ImportReviews(Resource):
    """Reviews that were made elsewhere, into an open round: all rows of the file or none. Reviewers have accounts."""

    parser_classes = [MultiPartParser]
    http_method_names = ["post"]
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
            return MadeAnswer(201, self.shown(taken))

        return self.once(take)
