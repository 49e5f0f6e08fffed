"""manage.py analyse_study STUDY: compute and store everything that its readers and models show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.statistics.kernels.bootstrap import DRAWS
from annotation.tables.writing import whole_file
from readerstudy.analysis.kernels.labels import sensitivity_words
from readerstudy.analysis.kernels.scoring import SWITCHES, Settings
from readerstudy.analysis.storing import analyse_study, check_may_see, see_analysis
from readerstudy.management.arguments import add_before_closing, check_output_file, find_study
from readerstudy.models import Analysis, ReaderStudy


class Command(ActCommand):
    help = (
        "Analyse a reader study and store the result. Printing it or writing it to a file unblinds the study. Settings "
        "other than the plan's make a sensitivity analysis beside the study's own, which stays what pages show."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="name or address of the study")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")
        parser.add_argument("--output", metavar="FILE", type=Path, help="write the JSON; an existing file is replaced")
        parser.add_argument("--seed", type=int, metavar="N", help="of the bootstrap; default: the seed of the study")
        parser.add_argument("--draws", type=int, metavar="N", default=DRAWS, help=f"of the bootstrap; default: {DRAWS}")
        for name, words in SWITCHES.items():
            switch = f"--{name.replace('_', '-')}"
            parser.add_argument(
                switch, choices=words, default=words[0], help=f"failed extractions; default: {words[0]}"
            )
        add_before_closing(parser, "results")

    def handle(self, *args: Any, **options: Any) -> None:
        study, path = find_study(options["study"]), options["output"]
        if path is not None:
            check_output_file(path)
        shows = options["json"] or path is not None
        if shows:
            check_may_see(study, options["before_closing"])
        analysis = analyse_study(study, actor=None, at=timezone.now(), settings=_settings(study, options))
        if not shows:
            self.stdout.write(f"Stored: {_kind(analysis)} {analysis.public_id} of “{study.name}”, {_hashes(analysis)}.")
            seen = "Results of the study were seen before; --json or --output FILE shows this one."
            blind = "Nobody has seen a result; --json or --output FILE shows it, which unblinds the study."
            self.stdout.write(seen if study.unblinded_at else blind)
            return
        result = see_analysis(analysis, actor=None, at=timezone.now(), before_closing=options["before_closing"])
        if path is not None:
            with whole_file(path) as file:
                file.write(result.encode() + b"\n")
        if options["json"]:
            self.stdout.write(result)
        else:
            words = _kind(analysis).capitalize()
            self.stdout.write(f"{words} {analysis.public_id} of “{study.name}” in {path}, {_hashes(analysis)}.")


def _settings(study: ReaderStudy, options: dict[str, Any]) -> Settings:
    switches = {name: options[name] for name in SWITCHES}
    seed = study.seed if options["seed"] is None else options["seed"]
    return Settings(seed=seed, draws=options["draws"], **switches)


def _kind(analysis: Analysis) -> str:
    words = sensitivity_words(analysis.settings)
    return f"sensitivity analysis ({words}, unlike the plan)" if words else "analysis"


def _hashes(analysis: Analysis) -> str:
    return f"inputs SHA-256 {analysis.inputs_sha256}, result SHA-256 {analysis.result_sha256}"
