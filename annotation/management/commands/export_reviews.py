from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.exports.reviews import columns_of_reviews, export_reviews, may_take_source_ids
from annotation.management.base import ActCommand
from annotation.models import ReviewRound
from annotation.site.sentences import the_one
from annotation.tables.writing import Format, whole_file, write_codebook

ROUNDS = ReviewRound.objects.select_related("plan__bank")


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = "Write the reviews of a round, one row per reviewer and question, and a codebook beside them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--round", required=True, help="name or address of the round")
        parser.add_argument("--format", required=True, choices=Format.values())
        parser.add_argument("--output", required=True, metavar="FILE", help="an existing file is replaced")

        parser.add_argument(
            "--source-ids", action="store_true", help="a further column: the id of each question in the imported file"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        review_round, source_ids = the_one(ROUNDS.all(), options["round"], "round"), options["source_ids"]
        if source_ids and not may_take_source_ids(review_round):
            raise CommandError(f"--source-ids: {review_round.name} is not closed yet. {self.unchanged}", returncode=2)
        path = Path(options["output"])
        if path.is_dir() or not path.parent.is_dir():
            reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise CommandError(f"{path} {reason}: name a file in an existing folder.", returncode=2)
        codebook = path.with_name(f"{path.stem}.codebook.csv")
        form, now = Format(options["format"]), timezone.now()
        with whole_file(path) as file:
            written = export_reviews(review_round, form, file, actor=None, at=now, source_ids=source_ids)
        with whole_file(codebook) as file:
            write_codebook(file, columns_of_reviews(review_round, source_ids=source_ids))
        self.stdout.write(f"{written.n_rows} reviews in {path}, what the columns mean in {codebook.name}")
