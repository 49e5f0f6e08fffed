from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.audit.acts_in_words import act_in_words
from annotation.backup.restoring import restore_backup
from annotation.management.base import ActCommand
from annotation.site.home_files import make_private
from rexvqa_site.serving import home_lock


class Command(ActCommand):
    unchanged = ""
    help = "Put a backup back into an empty home directory, or over a site that is set aside first (--replace)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("backup", type=str, help="file that manage.py backup wrote")
        parser.add_argument("--identity", type=Path, help="file of age-keygen that opens an encrypted backup")
        parser.add_argument(
            "--files-only", action="store_true", help="images and keys alone: PostgreSQL has restored the database"
        )
        parser.add_argument("--replace", action="store_true", help="set what is there aside and replace it")

    def handle(self, *args: Any, **options: Any) -> None:
        source = Path(options["backup"])
        if not options["backup"]:
            raise CommandError("name the backup: make restore BACKUP=path/to/reading-room-....tar", returncode=2)
        if not source.is_file():
            raise CommandError(f"there is no file {source.absolute()}: name the backup by its whole path", returncode=2)
        make_private(settings.HOME)
        with home_lock(settings.HOME):
            now, replace = timezone.now(), options["replace"]
            how = {"identity": options["identity"], "files_only": options["files_only"]}
            manifest = restore_backup(source, replace=replace, at=now, report=self.stdout.write, **how)
        n_rows = sum(manifest["rows"].values())
        self.stdout.write(f"restored {n_rows} rows and {manifest['n_files']} files of {manifest['taken_at']}")
        self.stdout.write(f"ended {manifest['sessions']} session(s): everybody logs in again")
        for one in manifest["removals"]:
            words = " ".join(filter(None, (one["type"], one["id"])))
            self.stdout.write(f"undone: {one['at']:.19} {act_in_words(one['act'])} ({words})")
        self.stdout.write(
            "Tokens and links of the backup work again, also those that were revoked since. Look through them on the "
            f"page “Site”, or end them all{', with what is named above' * bool(manifest['removals'])}: "
            "manage.py end_restored"
        )
