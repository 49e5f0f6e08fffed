from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q
from django.utils import timezone

from annotation.exports.files import whole_file
from annotation.exports.reviews import COLUMNS, export_reviews
from annotation.exports.tables import Format, write_codebook
from annotation.models import ReviewRound


class Command(BaseCommand):
    help = "Write the reviews of a round, one row per reviewer and question, and a codebook beside them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--round", required=True, help="name or address of the round")
        parser.add_argument("--format", required=True, choices=Format.values())
        parser.add_argument("--output", required=True, metavar="FILE", help="an existing file is replaced")

    def handle(self, *args: Any, **options: Any) -> None:
        review_round = find_round(options["round"])
        path = Path(options["output"])
        if path.is_dir() or not path.parent.is_dir():
            reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise CommandError(f"{path} {reason}: name a file in an existing folder.", returncode=2)
        codebook = path.with_name(f"{path.stem}.codebook.csv")
        try:
            with whole_file(path) as file:
                written = export_reviews(review_round, Format(options["format"]), file, actor=None, at=timezone.now())
            with whole_file(codebook) as file:
                write_codebook(file, COLUMNS)
        except OSError as failure:
            raise CommandError(f"{path} could not be written: {failure.strerror}.", returncode=2) from failure
        self.stdout.write(f"{written.n_rows} reviews in {path}, what the columns mean in {codebook.name}")


def find_round(wanted: str) -> ReviewRound:
    found = ReviewRound.objects.select_related("plan__bank").filter(Q(name=wanted) | Q(slug=wanted)).first()
    if found is None:
        names = ", ".join(ReviewRound.objects.values_list("slug", flat=True)[:20]) or "none so far"
        raise CommandError(f"There is no round named {wanted!r}. Rounds: {names}.", returncode=2)
    return found
