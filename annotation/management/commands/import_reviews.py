"""manage.py import_reviews FILE --round R: reviews that were made elsewhere, see docs/review-rounds.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.exports.review_import import ReviewsImported, import_reviews
from annotation.management.base import ActCommand
from annotation.models import ReviewRound
from annotation.site.sentences import the_one

SHOWN = 20
ROUNDS = ReviewRound.objects.select_related("plan__bank")


class Command(ActCommand):
    help = "Import reviews that were made elsewhere, in the columns of export_reviews. One refused row stores nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="CSV or JSON Lines, one row per review")
        parser.add_argument("--round", required=True, help="name or address of an open round")
        parser.add_argument("--dry-run", action="store_true", help="check, store nothing")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        result = import_reviews(
            the_one(ROUNDS.all(), options["round"], "round"),
            name=path.name.encode(errors="replace").decode(),
            content=path.read_bytes(),
            actor=None,
            at=timezone.now(),
            dry_run=options["dry_run"],
        )
        if options["json"]:
            self.stdout.write(json.dumps(result.as_json(), ensure_ascii=False, indent=1))
        if result.faults:
            self._refuse(result)
        if not options["json"] and options["verbosity"]:
            self._report(result)

    def _refuse(self, result: ReviewsImported) -> None:
        for fault in result.faults[:SHOWN]:
            where = f"row {fault.row}, {fault.column}" if fault.row else result.file
            self.stderr.write(f"{where}: {fault.message}")
        if len(result.faults) > SHOWN:
            self.stderr.write(_("%(more)d more; --json lists them.") % {"more": len(result.faults) - SHOWN})
        raise CommandError(_("The file is refused. Nothing was stored."), returncode=2)

    def _report(self, result: ReviewsImported) -> None:
        heading = _("What would happen to the round %(round)s:") if result.dry_run else _("Round %(round)s:")
        self.stdout.write(heading % {"round": result.review_round})
        for label, number in (
            (_("reviews"), result.n_reviews),
            (_("reviewers"), result.n_reviewers),
            (_("questions"), result.n_questions),
            (_("new assignments"), result.n_assignments),
            (_("taken over"), result.n_taken_over),
        ):
            self.stdout.write(f"  {label:<16}{number:>10,}")
