from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.exports.review_report import write_review_report
from annotation.management.base import ActCommand
from annotation.models import ReviewRound
from annotation.site.sentences import the_one


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = (
        "Write the report of a review round as a folder: tables, figures, methods, reviews, and a script that checks."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--round", required=True, help="name or address of the round")
        parser.add_argument("--out", required=True, metavar="FOLDER", help="a new folder, or an empty one")
        parser.add_argument("--names", action="store_true", help="add a table that says whose each pseudonym is")

    def handle(self, *args: Any, **options: Any) -> None:
        rounds = ReviewRound.objects.select_related("plan__bank")
        review_round, folder = the_one(rounds, options["round"], "round"), Path(options["out"]).resolve()
        at, with_names = timezone.now(), options["names"]
        done = write_review_report(review_round, folder, actor=None, at=at, with_names=with_names)
        self.stdout.write(f"{len(done.files)} files about {done.n_reviews} reviews in {folder}")
