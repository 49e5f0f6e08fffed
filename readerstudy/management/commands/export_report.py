"""manage.py export_report STUDY --output DIR: the report of a stored analysis as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from readerstudy.analysis.seeing import check_may_see, see_analysis
from readerstudy.management.arguments import find_study
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.looking import newest_analysis
from readerstudy.study.locking import StudyRefused
from readerstudy.unblinding.looks import SHORTEST_REASON


class Command(BaseCommand):
    help = "Write tables, figures, data, methods and checklists of a stored analysis into a folder; this unblinds."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="name or address of the study")
        parser.add_argument(
            "--output", required=True, metavar="DIR", type=Path, help="a new or an empty folder, in one that exists"
        )
        parser.add_argument("--analysis", metavar="ID", help="id of a stored analysis; default: the newest")
        parser.add_argument(
            "--before-closing",
            default="",
            metavar="REASON",
            help=f"report of a study that is not closed yet; {SHORTEST_REASON} characters, kept in the audit log",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from readerstudy.report.writing import fresh_inputs, write_report  # draws with matplotlib, slow to load

        study, folder = find_study(options["study"]), options["output"]
        _check_folder(folder)
        analysis = _find_analysis(study, options["analysis"])
        try:
            check_may_see(study, options["before_closing"])
            fresh_inputs(analysis)
            see_analysis(analysis, actor=None, at=timezone.now(), before_closing=options["before_closing"])
            written = write_report(analysis, folder)
        except StudyRefused as refusal:
            raise CommandError(f"{refusal} Nothing was written.", returncode=2) from refusal
        except OSError as failure:
            raise CommandError(f"{folder} could not be written: {failure.strerror}.", returncode=2) from failure
        self.stdout.write(f"{len(written)} files of analysis {analysis.public_id} of “{study.name}” in {folder}.")


def _check_folder(folder: Path) -> None:
    """Files of an older report would be taken for files of this one."""
    if (folder.exists() and not folder.is_dir()) or not folder.parent.is_dir():
        raise CommandError(f"{folder} is no folder and cannot become one: name another.", returncode=2)
    if folder.is_dir() and any(folder.iterdir()):
        raise CommandError(f"{folder} is not empty: name a new folder.", returncode=2)


def _find_analysis(study: ReaderStudy, wanted: str | None) -> Analysis:
    if wanted is None:
        newest = newest_analysis(study)
        if newest is None:
            raise CommandError(f"{study.name} has no analysis yet: run analyse_study {study.slug} first.", returncode=2)
        return newest
    found = study.analyses.select_related("study").filter(public_id=wanted).first()
    if found is None:
        ids = ", ".join(study.analyses.values_list("public_id", flat=True)[:10]) or "none so far"
        raise CommandError(f"{study.name} has no analysis {wanted!r}. Analyses: {ids}.", returncode=2)
    return found
