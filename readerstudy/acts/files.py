"""Files of studies and leaderboards, as their pages and the API give them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import IO

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_cache_control
from msgspec import Struct, field

from annotation.acts import By
from annotation.acts.files import drawn_response, package_response, resumable_response, table_response
from annotation.models import User
from annotation.site.home_files import here
from annotation.tables.kernels.forms import FigureForm, Width
from annotation.tables.writing import PACKAGE, Format, PackagedTable, formats_here
from readerstudy.acts.studies import seen_analysis
from readerstudy.exports.exporting import HIDDEN_BEFORE_RESULTS, StudyTable, columns_of, export_table
from readerstudy.exports.report_job import take_report
from readerstudy.leaderboard.versions import take_inputs
from readerstudy.models import Analysis, AnalysisReport, Benchmark, ReaderStudy
from readerstudy.predictions.looks import may_see_results
from readerstudy.results.looking import NOBODY, figure_file, figure_tag, reader_names

ALL = "all"
A_DAY = 86_400  # seconds; an analysis never changes, and its address names it


class Offer(Struct, frozen=True):
    """One table on the page of a study."""

    table: StudyTable
    hidden: bool
    warns: bool  # taking it unblinds the study
    formats: tuple[Format, ...] = field(default_factory=formats_here)


def export_offers(study: ReaderStudy) -> list[Offer]:
    """What templates/readerstudy/studies/_exports.html shows as ``exports``; the responses come first."""
    may_see, blind = may_see_results(study), study.unblinded_at is None
    return [
        Offer(
            table,
            hidden=table in HIDDEN_BEFORE_RESULTS and not may_see,
            warns=may_see and blind and table in HIDDEN_BEFORE_RESULTS,
        )
        for table in StudyTable
    ]


def table_file(study: ReaderStudy, table: str, form: str, who: By, *, source_ids: bool) -> FileResponse:
    """``ALL`` as a package: what is not hidden. Raises Http404 for a table or a format that there is none of, and what
    the export refuses.
    """
    if table == ALL and form == PACKAGE:
        shown = [StudyTable(offer.table) for offer in export_offers(study) if not offer.hidden]
        return package_response(study.slug, [_resource(study, one, who, source_ids=source_ids) for one in shown])
    if table not in StudyTable.values() or form not in formats_here():
        raise Http404
    write = partial(export_table, study, StudyTable(table), Format(form), **who, source_ids=source_ids)
    return table_response(f"{study.slug}-{table}", Format(form), write)


def _resource(study: ReaderStudy, table: StudyTable, who: By, *, source_ids: bool) -> PackagedTable:
    def write(file: IO[bytes], form: Format) -> object:
        return export_table(study, table, form, file, **who, source_ids=source_ids)

    return PackagedTable(table.value, columns_of(study, table, source_ids=source_ids), write)


def named_figure(request: HttpRequest, analysis: Analysis, name: str, width: str, form: str) -> HttpResponse:
    """For people inside: with the names of readers who agreed to that, where the study shows names."""
    names = reader_names(analysis)
    response = figure_response(request, analysis, name, width, form, names=names)
    if names:  # who withdraws is not named from then on
        patch_cache_control(response, private=True, no_cache=True)
    else:
        patch_cache_control(response, private=True, max_age=A_DAY, immutable=True)
    return response


def figure_response(
    request: HttpRequest, analysis: Analysis, name: str, width: str, form: str, *, names: Mapping[str, str] = NOBODY
) -> HttpResponse:
    """One figure, the same file as render_figures writes."""
    if width not in set(Width) or form not in set(FigureForm):
        raise Http404
    drawn = (analysis, name, FigureForm(form), Width(width))
    tag = figure_tag(*drawn, names=names)
    unchanged = get_conditional_response(request, etag=tag)
    if unchanged is not None:
        return unchanged
    response = drawn_response(
        figure_file(*drawn, names=names), analysis.study.slug, name, Width(width), FigureForm(form)
    )
    response["ETag"] = tag
    return response


def report_file(person: User, slug: str, public_id: str, report_id: str) -> FileResponse:
    """Refused as by ``take_report``."""
    analysis = seen_analysis(person, slug, public_id)
    reports = AnalysisReport.objects.select_related("analysis__study")
    report = get_object_or_404(reports, analysis=analysis, public_id=report_id)
    path = take_report(report, actor=person, at=timezone.now())
    name = f"{slug}-report-{report_id}.zip"
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/zip")


def inputs_response(request: HttpRequest, benchmark: Benchmark, person: User) -> HttpResponse | StreamingHttpResponse:
    found = take_inputs(benchmark, actor=person, at=timezone.now())
    name = f"{benchmark.slug}-{found.stem.partition('-')[0]}.zip"
    return resumable_response(request, here(found), etag=found.stem, name=name, content_type="application/zip")
