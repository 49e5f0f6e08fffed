"""manage.py export_report STUDY --output DIR: the report of a stored analysis as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from readerstudy.analysis.storing import check_may_see, see_analysis
from readerstudy.management.arguments import add_before_closing, check_output_folder, find_study, newest_analysis
from readerstudy.models import Analysis, ReaderStudy


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = "Write tables, figures, data, methods and checklists of a stored analysis into a folder; this unblinds."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="name or address of the study")
        parser.add_argument(
            "--output", required=True, metavar="DIR", type=Path, help="a new or an empty folder, in one that exists"
        )
        parser.add_argument("--analysis", metavar="ID", help="id of a stored analysis; default: the newest")
        add_before_closing(parser, "report")

    def handle(self, *args: Any, **options: Any) -> None:
        from readerstudy.exports.report_writing import fresh_inputs, write_report  # draws with matplotlib, slow to load

        study, folder = find_study(options["study"]), options["output"]
        check_output_folder(folder)
        if folder.is_dir() and any(folder.iterdir()):  # files of an older report would be taken for files of this one
            raise CommandError(f"{folder} is not empty: name a new folder.", returncode=2)
        analysis = _find_analysis(study, options["analysis"])
        check_may_see(study, options["before_closing"])
        fresh_inputs(analysis)
        see_analysis(analysis, actor=None, at=timezone.now(), before_closing=options["before_closing"])
        written = write_report(analysis, folder)
        self.stdout.write(f"{len(written)} files of analysis {analysis.public_id} of “{study.name}” in {folder}.")


def _find_analysis(study: ReaderStudy, wanted: str | None) -> Analysis:
    if wanted is None:
        return newest_analysis(study)
    found = study.analyses.select_related("study").filter(public_id=wanted).first()
    if found is None:
        ids = ", ".join(study.analyses.values_list("public_id", flat=True)[:10]) or "none so far"
        raise CommandError(f"{study.name} has no analysis {wanted!r}. Analyses: {ids}.", returncode=2)
    return found
