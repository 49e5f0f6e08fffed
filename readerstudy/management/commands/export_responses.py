"""manage.py export_responses: the tables of a reader study, each with its codebook."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.tables.writing import Format, whole_file, write_codebook
from readerstudy.exports.exporting import StudyTable, columns_of, export_table, may_take_source_ids
from readerstudy.management.arguments import add_before_closing, find_study
from readerstudy.models import ReaderStudy
from readerstudy.predictions.looks import SHORTEST_REASON
from readerstudy.study.permissions import StudyRefused


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = "Write a table of a reader study, or all tables into a folder, and a codebook beside each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, help="name or address of the study")
        parser.add_argument("--format", required=True, choices=Format.values())
        parser.add_argument(
            "--output", required=True, metavar="FILE", type=Path, help="an existing file is replaced; a folder: all"
        )
        parser.add_argument("--table", choices=StudyTable.values(), help="default: responses; into a folder: all")
        add_before_closing(parser, "answers")
        parser.add_argument(
            "--source-ids", action="store_true", help="a further column: the id of each question in the imported file"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study, path, at = find_study(options["study"]), options["output"], timezone.now()
        if options["source_ids"] and not may_take_source_ids(study):
            raise CommandError(f"--source-ids: {study.name} is not closed yet. Nothing was written.", returncode=2)
        if not path.is_dir() and not path.parent.is_dir():
            raise CommandError(
                f"{path} is in a folder that does not exist: name a file in one that does.", returncode=2
            )
        tables = [StudyTable(options["table"])] if options["table"] else [StudyTable.RESPONSES]
        if path.is_dir() and not options["table"]:
            tables = list(StudyTable)
        for table in tables:
            file = path / f"{table.value}.{options['format']}" if path.is_dir() else path
            asked = {"before_closing": options["before_closing"], "source_ids": options["source_ids"]}
            self._write(study, table, file, asked, form=Format(options["format"]), at=at)

    def _write(
        self, study: ReaderStudy, table: StudyTable, path: Path, asked: dict[str, Any], *, form: Format, at: datetime
    ) -> None:
        codebook = path.with_name(f"{path.stem}.codebook.csv")
        try:
            with whole_file(path) as file:
                written = export_table(study, table, form, file, actor=None, at=at, **asked)
            with whole_file(codebook) as file:
                write_codebook(file, columns_of(study, table, source_ids=asked["source_ids"]))
        except StudyRefused as refusal:
            if refusal.code != "answers_hidden":
                raise
            raise CommandError(
                f"The {table.label} of {study.name} are hidden until it is closed. Close it, take another table, or "
                f"give a reason of at least {SHORTEST_REASON} characters with --before-closing.",
                returncode=2,
            ) from None
        self.stdout.write(f"{written.n_rows} rows in {path}, what the columns mean in {codebook.name}")
