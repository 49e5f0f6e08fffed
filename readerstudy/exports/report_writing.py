"""The report of a stored analysis: its files, and how they are written. The same analyses give the same bytes."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from annotation import VERSION
from annotation.audit.recording import record
from annotation.exports.report_files import (
    Content,
    Tell,
    WrittenFile,
    begun_folder,
    codebook_content,
    csv_contents,
    lines_of_files,
    listed_files,
    script_content,
    table_contents,
    write_contents,
    zip_folder,
)
from annotation.models import User
from annotation.site import home_files
from annotation.site.sentences import WIDTH
from annotation.tables.kernels.forms import FigureForm, Width
from annotation.tables.kernels.printing import Printed, printed, tex, whole_document
from annotation.tables.kernels.style import rendered
from annotation.tables.kernels.table import TEXT, Column, Table, TableCell
from annotation.tables.office import document_of, workbook_of
from readerstudy.analysis.gathering import gather
from readerstudy.analysis.kernels.arrays import StudyArrays
from readerstudy.analysis.kernels.labels import headings
from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis
from readerstudy.analysis.kernels.scoring import Settings, read_settings
from readerstudy.analysis.storing import has_earlier_rule
from readerstudy.design.freezing import opening_of
from readerstudy.exports import checklists, exporting, ratings, responses
from readerstudy.exports.agreement_sheets import agreement_sheets, sensitivity_sheets
from readerstudy.exports.columns import response_columns
from readerstudy.exports.fact_finding import facts_of, flow_of
from readerstudy.exports.methods import StudyFacts, methods_text
from readerstudy.exports.ratings import N_FAKE
from readerstudy.exports.report_job import path_of
from readerstudy.exports.responses import response_rows
from readerstudy.exports.sheets import accuracy_sheets, other_sheets
from readerstudy.models import Analysis, AnalysisReport, ReaderStudy
from readerstudy.results.accuracy_tables import (
    accuracy_table,
    breakdown_tables,
    calibration_table,
    groups_table,
    mean_agreement_table,
    pair_tables,
    runs_table,
    time_table,
)
from readerstudy.results.difference_tables import (
    by_reader_table,
    late_table,
    margin_table,
    other_lines_table,
    pairs_of_plan_table,
    planned_table,
    variants_tables,
)
from readerstudy.results.kernels.flow_figures import flow_figure
from readerstudy.results.kernels.inferences import planned_rows, post_hoc_table
from readerstudy.results.kernels.legends import figure_legend
from readerstudy.results.kernels.rendering import figures_of
from readerstudy.results.kernels.stored import post_hoc_models
from readerstudy.results.looking import figure_file, sensitivity_beside, stored_result
from readerstudy.results.wording import came, plan_kind
from readerstudy.study.permissions import StudyRefused, lock_study

MIXED_MODELS = [Path(__file__).parent / "kernels" / name for name in ("mixed_model.R", "mixed_model.py")]


@dataclass(frozen=True)
class ReportSource:
    """Everything that the files are made of."""

    analysis: Analysis
    result: StoredAnalysis
    arrays: StudyArrays
    settings: Settings
    facts: StudyFacts
    beside: Mapping[str, StoredAnalysis]  # the sensitivity analyses of the same inputs, by their ids


def contents_of(source: ReportSource) -> list[Content]:
    """The README first; it says what all of them are."""
    study, result = source.analysis.study, source.result
    found = [*_texts(source), *_protocol(study), *_tables(source), *_figures(source), *_data(source), script_content()]
    text = readme_text(result, source.analysis.result_sha256, listed_files(found))
    return [Content("README.txt", "what each file is, and how to read it", text.encode), *found]


def _texts(source: ReportSource) -> Iterator[Content]:
    result, facts = source.result, source.facts
    yield Content("analysis.json", "the stored analysis, byte for byte", source.analysis.result.encode)
    yield Content(
        "methods.txt", "a methods section written from plan, settings and data", methods_text(result, facts).encode
    )
    rows = checklists.checklist_rows(result, facts)
    about = f"what {', '.join(dict.fromkeys(str(row[0]) for row in rows))} ask for, and what the program knows"
    yield from csv_contents(Table("checklists", about, checklists.COLUMNS, rows), "")


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


def _tables(source: ReportSource) -> Iterator[Content]:
    result = source.result
    tables = [*accuracy_sheets(result), *agreement_sheets(result), *other_sheets(result)]
    tables += sensitivity_sheets(source.beside)
    yield from table_contents(tables)
    if words := headings(result):
        head = Column("heading", TEXT, "What is true of every number of this analysis.")
        tables.insert(0, Table("headings", "what stands over all tables", (head,), [[one] for one in words]))
    yield Content("tables/tables.xlsx", "all of these tables in one workbook", partial(workbook_of, tables))
    found, title = printed_tables(result), f"Tables of the study {result['study']}"
    about = "the tables for print in one document"
    yield Content("tables/tables.docx", about, partial(document_of, found, title))
    yield Content("tables/all_tables.tex", about, whole_document(found, title).encode)
    for table in found:
        yield Content(f"tables/{table.name}.tex", "each table for print", tex(table).encode, "tables/*.tex")


def printed_tables(result: StoredAnalysis) -> list[Printed]:
    """By the names of their files; those that would be empty are left out."""
    planned, late = planned_rows(result), post_hoc_table(result)
    compared = [*planned, *(late.planned if late else [])]
    found: list[Sequence[Table | None]] = [
        [accuracy_table(result)],
        *[[one] for one in breakdown_tables(result) if one and one.rows],
        [
            *(planned_table(result), other_lines_table(result, planned)),
            *((late_table(result), other_lines_table(result, late.planned)) if late else ()),
        ],
        [margin_table(result)],
        [by_reader_table(result, compared)],
        [pairs_of_plan_table(result, {})],
        [mean_agreement_table(result)],
        *[[table] for table in pair_tables(result)],
        [groups_table(result, ALL_TASKS)],
        [time_table(result)],
        [calibration_table(result)],
        [runs_table(result)],
        [*variants_tables(result)[:2]],
    ]
    words = [*headings(result), f"Study: {result['study']}", *(["Simulated data"] if result["simulated"] else [])]
    ending = " ".join(f"{one}." for one in words)
    shown = ([table for table in of_one if table] for of_one in found)
    return [printed(of_one[0].name, of_one, ending) for of_one in shown if of_one]


def _figures(source: ReportSource) -> Iterator[Content]:
    result = source.result
    about = "the figures for one and two columns of a journal, as SVG, PDF and PNG, each with its legend as text"
    for name in figures_of(result):
        for width in Width:
            for form in FigureForm:
                make = partial(figure_file, source.analysis, name, form, width)
                yield Content(f"figures/{name}-{width}.{form}", about, make, "figures/")
        yield Content(f"figures/{name}.txt", about, (figure_legend(name, result) + "\n").encode, "figures/")
    flow = flow_of(result, source.facts)
    for form in FigureForm:
        make = partial(rendered, partial(flow_figure, flow, result, Width.TWO), form)
        yield Content(f"flow.{form}", "the flow of cases, readers and models into the analysis", make, "flow.*")


def _data(source: ReportSource) -> Iterator[Content]:
    study, arrays, settings = source.analysis.study, source.arrays, source.settings
    about = "a row per rater and case: what every number is computed from"
    yield Content("data/ratings.csv", about, lambda: ratings.ratings_csv(arrays, settings).encode())
    yield codebook_content("data/ratings", ratings.ratings_columns(arrays))
    if arrays.readers.any():
        about = "fit a mixed model to the ratings, which the analysis does not: see below"
        for script in MIXED_MODELS:
            yield Content(f"data/{script.name}", about, script.read_bytes, "data/mixed_model.*")
    if arrays.repeats is not None:
        what = "a row per case and further run of a model, as the ratings hold the main run"
        yield Content("data/runs.csv", what, lambda: ratings.runs_csv(arrays).encode())
        yield codebook_content("data/runs", ratings.RUN_COLUMNS)
    if arrays.experts is not None:
        what = "how many reviewers answered each case blind, and how many of them with the key"
        yield Content("data/experts.csv", what, lambda: ratings.experts_csv(arrays).encode())
        yield codebook_content("data/experts", ratings.EXPERT_COLUMNS)
    columns = response_columns(with_key=True)
    about = "a row per reader and case, with all that a mixed model needs"
    yield from csv_contents(Table("responses", about, columns, response_rows(study, with_key=True)))
    more: Mapping[str, tuple[str, Sequence[Column], Iterable[Sequence[TableCell]]]] = {
        "predictions": (
            "a row per run of a model and case",
            responses.PREDICTION_COLUMNS,
            responses.prediction_rows(study),
        ),
        "models": ("the runs and what is known of each model", responses.RUN_COLUMNS, responses.run_rows(study)),
        "readers": (
            "the readers: training, experience, display",
            exporting.READER_COLUMNS,
            exporting.reader_rows(study),
        ),
        "voidings": ("the voided cases with their reasons", exporting.VOIDING_COLUMNS, exporting.voiding_rows(study)),
    }
    for name, (what, of, cells) in more.items():
        yield from csv_contents(Table(name, what, of, cells))
    yield Content(
        "data/imrmc.csv", "right and wrong for iMRMC, as R reads it", ratings.imrmc_csv(arrays, settings).encode
    )
    yield Content("data/study.imrmc", "the same for the program of iMRMC", ratings.imrmc_input(arrays, settings).encode)
    keys = ratings.imrmc_key_rows(arrays)
    yield from csv_contents(Table("imrmc_key", "who is who in these two", ratings.IMRMC_KEY, keys))


RULES = """
Numbers in CSV files have full precision; shares are from 0 to 1. A missing value has its reason beside it. The tables
for LaTeX and DOCX are rounded: percent to one decimal, to two from n = 1,000 on, kappa and p to three.

Text in a CSV cell that a spreadsheet could take for a formula, or a program for a number, a moment, a truth value or
nothing, has one apostrophe in front: take one leading apostrophe away.

The LaTeX tables need the packages booktabs and longtable; tables/all_tables.tex shows all of them. Where names hold
letters outside Latin, compile with LuaLaTeX or XeLaTeX.

data/imrmc.csv is for the R package iMRMC: doIMRMC(read.csv("data/imrmc.csv")), tried with version 2.1.2;
data/study.imrmc is for the program. They hold the same rows but for readerID and modalityID of the truth rows: the word
truth as both in the first, -1 and 0 in the second. Score 1: right, 0: wrong, by the rule of the analysis; what does not
count for a rater has no row, and cases voided before unblinding are left out. iMRMC expects cases with and without
disease: as its documentation advises for binary outcomes, the cases of the study are entered as cases with disease, and
{n_fake} cases that nobody has read as cases without, with the score 0.5 throughout. What iMRMC calls AUC is then the
share that is right. Modality 1 are the readers themselves; in the modality of a model every reader has the answer of
that model, so that its difference from modality 1 is the model minus the mean of the readers. data/imrmc_key.csv says
who is who.
For functions that take plain successes, leave out the truth rows and the scores of 0.5. Where readers have different
cases or answers are missing, iMRMC gives every reader the same weight and the analysis here every question, so that the
two differ slightly; it knows no patients or exams with several questions.

A mixed model is not fitted here. data/mixed_model.R (glmer and clmm of lme4 and ordinal) and data/mixed_model.py
(statsmodels) fit one to data/ratings.csv; data/responses.csv and data/predictions.csv hold more columns for it. Wald
tests of such a model have no degrees of freedom of readers, so that with few readers p is far too small (0.0009 where
the multi-reader analysis of the same answers gives 0.028), and readers and models need random case effects of their
own.

protocol.json is the frozen protocol, byte for byte: its SHA-256 is the hash that every page of the study shows.
protocol_opening.json opens the commitment that holds the keys. Neither is there for a study that was not frozen here.

Readers who came after somebody had seen a result count in one variant only, which is named for them: they have no row
in data/ratings.csv, nor have answers made elsewhere that came then. An analysis by other settings than those of the
plan is a sensitivity analysis: every table and figure of its report says so, and nothing of it is adjusted or claimed;
tables/sensitivity.csv has what those of the same answers found. Results over the same readings in another study are
found by what was answered to which wording; answers or times that somebody edited by hand are not.

A model that is post hoc came in, or was chosen, after somebody had seen a result: nobody can have planned it. Its
numbers carry the flag post_hoc, its comparisons are in no family, and no other model or group depends on it.

Readers appear under the pseudonym that they have in the study.
"""


def readme_text(result: StoredAnalysis, result_sha256: str, files: Mapping[str, str]) -> str:
    """``files``: what each file or folder is, by name, in the order to be listed."""
    title = f"Report of the reader study “{result['study']}”"
    head = [title, "=" * len(title), ""]
    head += [line for one in headings(result) for line in (one.upper(), "")]
    if result["simulated"]:
        head += ["SIMULATED DATA: readings and answers of this study were made up.", ""]
    version = ", ".join(f"{name} {one}" for name, one in result["software"].items()) if "software" in result else ""
    facts = {
        "Protocol SHA-256": result["protocol_sha256"],
        "Inputs SHA-256": result.get("inputs_sha256", ""),
        "Analysis SHA-256": result_sha256,
        "Comparison": plan_kind(result),
        "Post hoc": "; ".join(f"{one['name']}, {came(one)}" for one in post_hoc_models(result)),
        "Seed and draws": f"{result['settings']['seed']}, {result['settings']['draws']}",
        "Computed with": version,
    }
    lines = [*head, *(f"{name}: {fact}" for name, fact in facts.items() if fact), "", "Files", "-----"]
    lines += lines_of_files(files)
    lines += ["", "How to read them", "----------------"]
    for rule in RULES.format(n_fake=N_FAKE).strip().split("\n\n"):
        lines += [*textwrap.wrap(rule, WIDTH, break_long_words=False), ""]
    return "\n".join(lines).rstrip() + "\n"


def fresh_inputs(analysis: Analysis) -> StudyArrays:
    """What the analysis was computed from. Refused where it is stale: data beside an analysis must be those that
    made it, and the script beside it must know its rule."""
    if has_earlier_rule(analysis):
        sentence = _("The analysis is stale: it is by an earlier rule. Analyse again, then make the report.")
        raise StudyRefused("stale", sentence)
    arrays = gather(analysis.study)
    if arrays.sha256() != analysis.inputs_sha256:
        sentence = _("The analysis is stale: an input has changed. Analyse again, then make the report.")
        raise StudyRefused("stale", sentence)
    return arrays.without_raters(arrays.came_late)


def source_of(analysis: Analysis) -> ReportSource:
    """Refused for a stale analysis."""
    arrays, result = fresh_inputs(analysis), stored_result(analysis)
    beside = {
        one.public_id: stored_result(one) for one, _differs in sensitivity_beside(analysis) if not has_earlier_rule(one)
    }
    return ReportSource(analysis, result, arrays, read_settings(analysis.settings), facts_of(analysis, result), beside)


def write_report(analysis: Analysis, folder: Path, tell: Tell | None = None) -> list[WrittenFile]:
    """Write every file into ``folder``; files of the same name are replaced. Refused for a stale analysis."""
    with translation.override("en"):  # tables and captions say the same wherever they are made
        source = source_of(analysis)
        folder.mkdir(exist_ok=True)
        return write_contents(folder, contents_of(source), tell)


def make_report(analysis: Analysis, *, actor: User | None, at: datetime, tell: Tell | None = None) -> AnalysisReport:
    """Write, pack and store; nobody has seen a result by that. Made twice, the same bytes are stored once.

    Begun again after its worker was stopped, it goes on with what is not drawn yet. Refused for a stale analysis.
    """
    with translation.override("en"):
        source = source_of(analysis)
        follows_from = (VERSION, analysis.public_id, analysis.result_sha256, *source.beside, repr(source.facts))
        with begun_folder("report", *follows_from) as place:
            folder, draft = place / "report", place / "report.zip"
            written = write_contents(folder, contents_of(source), tell, goes_on=True)
            zip_folder(folder, draft, f"{analysis.study.slug}-report")
            report = _store(analysis, draft, written, actor=actor, at=at)
            home_files.hand_over(path_of(report))
            return report


@transaction.atomic
def _store(
    analysis: Analysis, draft: Path, written: Sequence[WrittenFile], *, actor: User | None, at: datetime
) -> AnalysisReport:
    lock_study(analysis.study)
    with draft.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    report, is_new = AnalysisReport.objects.get_or_create(
        analysis=analysis,
        sha256=sha256,
        defaults={
            "n_bytes": draft.stat().st_size,
            "contents": [[one.name, one.n_bytes, one.sha256, one.about] for one in written],
            "made_by": actor,
            "made_at": at,
        },
    )
    if is_new:
        facts = {"analysis": analysis.public_id, "report": report.public_id, "sha256": sha256, "n_files": len(written)}
        record("study.report_made", actor=actor, at=at, subject=analysis.study, facts=facts)
    path = path_of(report)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft.replace(path)
    return report
