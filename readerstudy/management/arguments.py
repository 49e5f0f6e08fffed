"""What several commands are given: a study by its name, a file, a place to write to."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from annotation.files.kernels.strictjson import BOM, NO_CHARACTERS, FileRefused, read_value
from annotation.site.sentences import the_one
from readerstudy.design.kernels.documents import MAX_BYTES
from readerstudy.leaderboard.benchmarks import fewer_editions, planned_cells
from readerstudy.models import Analysis, Benchmark, ModelRun, ReaderStudy
from readerstudy.predictions.looks import SHORTEST_REASON
from readerstudy.results.looking import own_analysis


def add_before_closing(parser: CommandParser, what: str) -> None:
    """The option for a look at a study that is not closed yet."""
    sentence = f"{what} of a study that is not closed yet; {SHORTEST_REASON} characters, kept in the audit log"
    parser.add_argument("--before-closing", default="", metavar="REASON", help=sentence)


def find_study(wanted: str) -> ReaderStudy:
    """The study of this name or address. Raises CommandError where there is none, or two."""
    return the_one(ReaderStudy.objects.all(), wanted, "study")


def find_benchmark(wanted: str) -> Benchmark:
    """The leaderboard of this name or address. Raises CommandError where there is none, or two."""
    return the_one(Benchmark.objects.select_related("bank"), wanted, "leaderboard")


def newest_analysis(study: ReaderStudy) -> Analysis:
    """By the settings of the plan. Raises CommandError where nothing was analysed yet."""
    found = own_analysis(study)
    if found is None:
        raise CommandError(f"{study.name} has no analysis yet: run analyse_study {study.slug} first.", returncode=2)
    return found


def find_model_run(public_id: str) -> ModelRun:
    """By the id that its page shows. Raises CommandError where there is none."""
    runs = ModelRun.objects.select_related("batch__bank", "batch__price", "batch__prompt", "batch__permission")
    run = runs.select_related("entry", "study").filter(batch__public_id=public_id).first()
    if run is None:
        raise CommandError(f"There is no run {public_id!r}. Nothing was changed.", returncode=2)
    return run


def check_output_file(path: Path) -> None:
    """Raises CommandError unless a file can be written there."""
    if path.is_dir() or not path.parent.is_dir():
        reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise CommandError(f"{path} {reason}: name a file in an existing folder.", returncode=2)


def check_output_folder(folder: Path) -> None:
    """Raises CommandError for what is no folder, and for one whose own folder is not there."""
    if (folder.exists() and not folder.is_dir()) or not folder.parent.is_dir():
        raise CommandError(f"{folder} is no folder and cannot become one: name another.", returncode=2)


def read_file(path: Path) -> bytes:
    """The content, or a little more than may be read of it."""
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def read_json(path: Path) -> object:
    """Raises CommandError."""
    data = read_file(path)
    if len(data) > MAX_BYTES:
        raise CommandError(f"{path} is larger than 32 MB.", returncode=2)
    try:
        _name, found, faults = read_value(data.removeprefix(BOM))
    except FileRefused as refusal:
        raise CommandError(f"{path} is not a JSON file. {refusal}", returncode=2) from None
    if wrong := [fault.message for fault in faults if fault.code not in NO_CHARACTERS]:  # the others are named later
        raise CommandError(f"{path} is not a JSON file. {wrong[0]}", returncode=2)
    return found


def cell_lines(benchmark: Benchmark) -> list[str]:
    """What its planned editions tell, a line for each cell, and how many would tell all questions each time."""
    cells, n_editions = planned_cells(benchmark), benchmark.editions.count()
    lines = [f"{one.label} (n = {one.n}): {one.told}" for one in cells]
    if most := fewer_editions(cells, n_editions):
        lines.append(f"To have all questions told from the first on, plan at most this many editions: {most}.")
    return lines
