"""manage.py render_figures STUDY --output DIR: every figure of the newest analysis as SVG, PDF and PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.tables.kernels.forms import FigureForm, Width
from annotation.tables.writing import whole_file
from readerstudy.analysis.storing import see_analysis
from readerstudy.management.arguments import add_before_closing, check_output_folder, find_study, newest_analysis
from readerstudy.results.kernels.legends import figure_legend
from readerstudy.results.looking import figure_file, named_result, reader_names, stored_result


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = "Write the figures of the newest stored analysis of a study, for one and two journal columns; this unblinds."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="name or address of the study")
        parser.add_argument(
            "--output", required=True, metavar="DIR", type=Path, help="made if it is not there; files are replaced"
        )
        add_before_closing(parser, "figures")
        parser.add_argument("--afresh", action="store_true", help="draw again what the site has kept")

    def handle(self, *args: Any, **options: Any) -> None:
        from readerstudy.results.kernels.rendering import figures_of  # with matplotlib, slow to load

        study, folder = find_study(options["study"]), options["output"]
        check_output_folder(folder)
        analysis = newest_analysis(study)
        see_analysis(analysis, actor=None, at=timezone.now(), before_closing=options["before_closing"])
        result, names = stored_result(analysis), reader_names(analysis)
        folder.mkdir(exist_ok=True)
        for name in figures_of(result):
            for width in Width:
                for form in FigureForm:
                    with whole_file(folder / f"{name}-{width.value}.{form.value}") as file:
                        afresh = options["afresh"]
                        file.write(figure_file(analysis, name, form, width, names=names, afresh=afresh))
            with whole_file(folder / f"{name}.txt") as file:
                file.write(f"{figure_legend(name, named_result(analysis, names))}\n".encode())
            self.stdout.write(f"{name}: one and two columns as SVG, PDF and PNG, and its legend")
        self.stdout.write(f"Figures of analysis {analysis.public_id} of “{study.name}” in {folder}.")
