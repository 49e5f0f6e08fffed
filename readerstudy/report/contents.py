"""Which files a report has, and how each is made: nothing is written here."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from annotation.exports.tables import Cell, Column, Format, write_codebook, write_table
from annotation.figures.kernels.forms import FigureForm, Width
from annotation.figures.kernels.saving import rendered
from readerstudy.analysis.kernels.arrays import StudyArrays
from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.analysis.kernels.settings import Settings
from readerstudy.design.freezing import opening_of
from readerstudy.exports import predictions, readers, voidings
from readerstudy.exports.response_columns import response_columns
from readerstudy.exports.responses import response_rows
from readerstudy.figures.figure_files import figure_file
from readerstudy.figures.kernels.flow import flow_figure
from readerstudy.figures.kernels.legends import figure_legend
from readerstudy.figures.kernels.rendering import figures_of
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.report import checklists, imrmc, ratings
from readerstudy.report.accuracy_sheets import accuracy_sheets
from readerstudy.report.agreement_sheets import agreement_sheets
from readerstudy.report.flowing import flow_of
from readerstudy.report.kernels.facts import StudyFacts
from readerstudy.report.kernels.latex import escaped, plain, whole_document
from readerstudy.report.latex_tables import tex_tables
from readerstudy.report.methods import methods_text
from readerstudy.report.office import codebook_rows, document_of, workbook_of
from readerstudy.report.other_sheets import other_sheets
from readerstudy.report.readme import readme_text

SCRIPT = Path(__file__).parent / "kernels" / "recompute.py"
SUMS = "SHA256SUMS"
ABOUT_SUMS = f"SHA-256 of every other file: check with sha256sum -c {SUMS}"
Rows = Iterable[Sequence[Cell]]


@dataclass(frozen=True)
class ReportSource:
    """Everything that the files are made of."""

    analysis: Analysis
    result: StoredAnalysis
    arrays: StudyArrays
    settings: Settings
    facts: StudyFacts


@dataclass(frozen=True)
class Content:
    """One file: its bytes are made when it is written."""

    name: str  # with folders
    about: str
    make: Callable[[], bytes]
    listed: str = ""  # the name of its group in the README; empty: its own


def contents_of(source: ReportSource) -> list[Content]:
    """The README first; it says what all of them are."""
    study, result = source.analysis.study, source.result
    found = [*_texts(source), *_protocol(study), *_tables(result), *_figures(source), *_data(source), *_script()]
    about = {one.listed or one.name: one.about for one in found}
    about[SUMS] = ABOUT_SUMS
    text = readme_text(result, source.analysis.result_sha256, about)
    return [Content("README.txt", "what each file is, and how to read it", text.encode), *found]


def _texts(source: ReportSource) -> Iterator[Content]:
    result, facts = source.result, source.facts
    yield Content("analysis.json", "the stored analysis, byte for byte", source.analysis.result.encode)
    yield Content(
        "methods.txt", "a methods section written from plan, settings and data", methods_text(result, facts).encode
    )
    rows = checklists.checklist_rows(result, facts)
    yield from _csv(
        "checklists.csv", "what GRRAS, CLAIM and STARD-AI ask for, and what the program knows", checklists.COLUMNS, rows
    )


def _protocol(study: ReaderStudy) -> Iterator[Content]:
    """Studies that were never frozen here have no protocol."""
    if not study.protocol:
        return
    yield Content("protocol.json", "the frozen protocol, byte for byte", study.protocol.encode)
    sums = f"{study.protocol_sha256}  protocol.json\n"
    yield Content("protocol.sha256", "its hash: check with sha256sum -c protocol.sha256", sums.encode)
    opening = opening_of(study)
    if opening is not None:
        text = json.dumps(opening, ensure_ascii=False, indent=1) + "\n"
        yield Content("protocol_opening.json", "salt and sealed content of the commitment to the keys", text.encode)


def _tables(result: StoredAnalysis) -> Iterator[Content]:
    sheets = [*accuracy_sheets(result), *agreement_sheets(result), *other_sheets(result)]
    for sheet in sheets:
        yield from _csv(f"tables/{sheet.name}.csv", sheet.about, sheet.columns, sheet.rows, with_codebook=False)
    meanings = codebook_rows(sheets)
    head = [Column(name, ratings.TEXT, "") for name in ("table", "column", "kind", "meaning", "values")]
    yield from _csv("tables/codebook.csv", "what the columns of these tables mean", head, meanings, with_codebook=False)
    printed = tex_tables(result)
    about = "all of these tables in one workbook"
    yield Content("tables/tables.xlsx", about, partial(workbook_of, sheets, meanings))
    title = f"Tables of the study {result['study']}"
    yield Content(
        "tables/tables.docx",
        "the tables for print in one document",
        partial(document_of, printed, plain(escaped(title))),
    )
    document = whole_document(printed, f"Tables of the study {escaped(result['study'])}")
    yield Content("tables/all_tables.tex", "the tables for print in one document", document.encode)
    for table in printed:
        yield Content(f"tables/{table.name}.tex", "each table for print", table.tex().encode, "tables/*.tex")


def _figures(source: ReportSource) -> Iterator[Content]:
    result = source.result
    about = "the figures for one and two columns of a journal, as SVG, PDF and PNG, each with its legend as text"
    for name in figures_of(result):
        for width in Width:
            for form in FigureForm:
                make = partial(figure_file, source.analysis, name, form, width)
                yield Content(f"figures/{name}-{width}.{form}", about, make, "figures/")
        legend = figure_legend(name, result) + "\n"
        yield Content(f"figures/{name}.txt", about, legend.encode, "figures/")
    flow = flow_of(result, source.facts)
    for form in FigureForm:
        make = partial(rendered, partial(flow_figure, flow, result, Width.TWO), form)
        yield Content(f"flow.{form}", "the flow of cases, readers and models into the analysis", make, "flow.*")


def _data(source: ReportSource) -> Iterator[Content]:
    study, arrays, settings = source.analysis.study, source.arrays, source.settings
    about = "a row per rater and case: what every number is computed from"
    yield Content("data/ratings.csv", about, lambda: ratings.ratings_csv(arrays, settings).encode())
    yield _codebook("data/ratings.csv", ratings.ratings_columns(arrays))
    if arrays.repeats is not None:
        what = "a row per case and further run of a model, as the ratings hold the named one"
        yield Content("data/runs.csv", what, lambda: ratings.runs_csv(arrays).encode())
        yield _codebook("data/runs.csv", ratings.RUN_COLUMNS)
    if arrays.experts is not None:
        what = "how many reviewers answered each case blind, and how many of them with the key"
        yield Content("data/experts.csv", what, lambda: ratings.experts_csv(arrays).encode())
        yield _codebook("data/experts.csv", ratings.EXPERT_COLUMNS)
    columns = response_columns(with_key=True)
    rows = response_rows(study, with_key=True)
    yield from _csv("data/responses.csv", "a row per reader and case, with all that a mixed model needs", columns, rows)
    more: Mapping[str, tuple[str, Sequence[Column], Rows]] = {
        "predictions": ("a row per run of a model and case", predictions.COLUMNS, predictions.prediction_rows(study)),
        "models": ("the runs and what is known of each model", predictions.RUN_COLUMNS, predictions.run_rows(study)),
        "readers": ("the readers: training, experience, display", readers.COLUMNS, readers.reader_rows(study)),
        "voidings": ("the voided cases with their reasons", voidings.COLUMNS, voidings.voiding_rows(study)),
    }
    for name, (what, of, cells) in more.items():
        yield from _csv(f"data/{name}.csv", what, of, cells)
    yield Content(
        "data/imrmc.csv", "right and wrong for iMRMC, as R reads it", imrmc.imrmc_csv(arrays, settings).encode
    )
    yield Content("data/study.imrmc", "the same for the program of iMRMC", imrmc.imrmc_input(arrays, settings).encode)
    keys = imrmc.key_rows(arrays)
    yield from _csv("data/imrmc_key.csv", "who is who in these two", imrmc.KEY_COLUMNS, keys)


def _script() -> Iterator[Content]:
    """The script travels with the report where this version of the program has it."""
    if SCRIPT.is_file():
        about = f"computes every number again with numpy and scipy alone: python {SCRIPT.name}"
        yield Content(SCRIPT.name, about, SCRIPT.read_bytes)


# --- one file -------------------------------------------------------------------------------------
def _csv(
    name: str, about: str, columns: Sequence[Column], rows: Rows, *, with_codebook: bool = True
) -> Iterator[Content]:
    def content() -> bytes:
        file = io.BytesIO()
        write_table(file, columns, rows, Format.CSV)
        return file.getvalue()

    yield Content(name, about, content)
    if with_codebook:
        yield _codebook(name, columns)


def _codebook(name: str, columns: Sequence[Column]) -> Content:
    def content() -> bytes:
        file = io.BytesIO()
        write_codebook(file, columns)
        return file.getvalue()

    about = "what the columns of the table mean"
    return Content(f"{name.removesuffix('.csv')}.codebook.csv", about, content, "*.codebook.csv")
