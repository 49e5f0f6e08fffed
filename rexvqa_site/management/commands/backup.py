from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from rich.progress import Progress

from annotation.backup.taking import backup_name, take_backup
from annotation.management.base import ActCommand


class Command(ActCommand):
    unchanged = ""
    help = "Write one file with database, images and keys while people work. Keep it as safe as the site itself."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", type=Path, help="file to write (default: a dated file in the backups folder)")

    def handle(self, *args: Any, **options: Any) -> None:
        at = timezone.now()
        target: Path = options["output"] or settings.BACKUP_ROOT / backup_name(at)
        if target.exists():
            raise CommandError(f"{target} exists already; nothing was written", returncode=2)
        with Progress(transient=True) as bar:
            line = bar.add_task("backup", total=None)
            manifest = take_backup(
                target, at=at, report=lambda done, total: bar.update(line, completed=done, total=total)
            )
        n_rows = sum(manifest["rows"].values())
        self.stdout.write(f"{target}: {n_rows} rows, {manifest['n_files']} files, {target.stat().st_size:,} bytes")
