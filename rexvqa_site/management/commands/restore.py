from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from annotation.backup.database import DatabaseToolFailed
from annotation.backup.restoring import HomeNotEmpty, RestoreDiffers, restore_backup
from annotation.backup.unpacking import NotABackup
from annotation.site.privacy import NotPrivate, make_private
from rexvqa_site.serving import HomeInUse, home_lock

REFUSALS = (HomeInUse, HomeNotEmpty, NotABackup, RestoreDiffers, DatabaseToolFailed, NotPrivate)


class Command(BaseCommand):
    help = "Put a backup back into an empty home directory, or over a site that is set aside first (--replace)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("backup", type=str, help="file that manage.py backup wrote")
        parser.add_argument("--replace", action="store_true", help="set what is there aside and replace it")

    def handle(self, *args: Any, **options: Any) -> None:
        source = Path(options["backup"])
        if not options["backup"] or not source.is_file():
            raise CommandError("name the backup: make restore BACKUP=path/to/reading-room-....tar", returncode=2)
        try:
            make_private(settings.HOME)
            with home_lock(settings.HOME):
                manifest = restore_backup(
                    source, replace=options["replace"], at=timezone.now(), report=self.stdout.write
                )
        except REFUSALS as error:
            raise CommandError(str(error), returncode=2) from None
        n_rows = sum(manifest["rows"].values())
        self.stdout.write(f"restored {n_rows} rows and {manifest['n_files']} files of {manifest['taken_at']}")
