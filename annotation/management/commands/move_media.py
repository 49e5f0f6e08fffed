from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from rich.progress import MofNCompleteColumn

from annotation.ingest.storage import move_files
from annotation.management.base import ActCommand, progress_bar


class Command(ActCommand):
    unchanged = ""
    help = "Bring the files of images to another place while people read; a run that was stopped goes on where it was."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", required=True, metavar="PLACE", help="s3://bucket/prefix, or folder (in the home)")
        parser.add_argument("--delete", action="store_true", help="delete in the old place what is in both")

    def handle(self, *args: Any, **options: Any) -> None:
        to, deletes = options["to"].rstrip("/"), options["delete"]
        with progress_bar(_("Moving files"), MofNCompleteColumn, quiet=options["verbosity"] == 0) as watch:
            moved = move_files(to, deletes=deletes, at=timezone.now(), watch=watch)
        told = _("%(new)d files written, %(same)d were there and are the same.")
        if deletes:
            told += _(" They are deleted in the old place. Start the site without REXVQA_MEDIA_ALSO.")
        self.stdout.write(told % {"new": len(moved.written), "same": len(moved.same)})
