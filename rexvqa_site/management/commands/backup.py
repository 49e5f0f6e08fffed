from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from rich.progress import Progress

from annotation.backup.apart import keep_newest
from annotation.backup.taking import backup_name, take_backup
from annotation.management.base import ActCommand
from annotation.site.media import places


class Command(ActCommand):
    unchanged = ""
    help = "Write a backup of database, images and keys while people work. Keep it as safe as the site itself."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", type=Path, help="file to write (default: a dated file in the backups folder)")
        parser.add_argument(
            "--apart",
            action="store_true",
            help="images stand in the folder media beside the file, each once: a night copies what is new",
        )
        parser.add_argument("--keep", type=int, help="with --apart: delete all but so many of these backups")

    def handle(self, *args: Any, **options: Any) -> None:
        at = timezone.now()
        target: Path = options["output"] or settings.BACKUP_ROOT / backup_name(at)
        keep, apart = options["keep"], options["apart"]
        if keep is not None and (not apart or keep < 1):
            raise CommandError("--keep is at least 1, and goes with --apart; nothing was written", returncode=2)
        if target.exists():
            raise CommandError(f"{target} exists already; nothing was written", returncode=2)
        with Progress(transient=True) as bar:
            line = bar.add_task("backup", total=None)
            manifest = take_backup(
                target, at=at, report=lambda done, total: bar.update(line, completed=done, total=total), apart=apart
            )
        n_rows = sum(manifest["rows"].values())
        files = f"{manifest['n_files']} files of {places()[0]}"
        self.stdout.write(f"{target}: {n_rows} rows, {files}, {target.stat().st_size:,} bytes")
        if keep and (n := keep_newest(target.parent, keep)):
            self.stdout.write(f"deleted {n} older backup(s) with the images that no other names")
