"""Analyses of a study, their figures and reports, and links by which they are looked at without an account. Nothing of
them is there while results are hidden.

The first look at a result unblinds the study: it is a POST, to the result of an analysis or to a table of answers.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import Moment, PersonName, SentBody, cleaned
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.api.site_lists import JobShape
from annotation.models import Job
from annotation.people.kept_answers import MadeAnswer
from annotation.site.home_files import is_there
from annotation.tables.kernels.forms import FIGURE_TYPES, FigureForm, Width
from readerstudy.acts.files import named_figure, report_file
from readerstudy.acts.studies import check_seen, seen_analysis
from readerstudy.analysis.storing import see_analysis
from readerstudy.api.study_list import FileOfStudy, OfStudy
from readerstudy.conducting import lifecycle
from readerstudy.exports import report_job
from readerstudy.forms.studies import SensitivityForm, ShareForm
from readerstudy.models import Analysis, AnalysisReport, ResultsLink
from readerstudy.predictions.looks import may_see_results
from readerstudy.results.looking import DAYS, IssuedLink, figures_in, links_of, share_results


class AnalysisShape(Shown):
    id = serializers.CharField(source="public_id")
    inputs_sha256 = serializers.CharField()
    result_sha256 = serializers.CharField()
    seed = serializers.IntegerField(help_text="of the bootstrap")
    settings = serializers.DictField(help_text="differs: those that are not the plan's")
    is_own = serializers.SerializerMethodField(help_text="by the plan's settings, and asked for last")
    software = serializers.DictField()
    created_by = PersonName(help_text="null: it ran when the study closed by itself")
    created_at = Moment()

    def get_is_own(self, analysis: Analysis) -> bool:
        return analysis.study.own_analysis_id == analysis.pk


class OfAnalyses(OfStudy):
    shape = AnalysisShape

    def rows(self) -> QuerySet[Analysis]:
        rows = self.study.analyses.select_related("created_by", "study").defer("result")
        return rows if may_see_results(self.study) else rows.none()


class AnalysisList(OfAnalyses, ListOf[Analysis]):
    """Stored analyses, the newest first, without their results; none while results are hidden."""

    summary = "List analyses of a study"


class OneAnalysis(OfAnalyses, OneOf[Analysis]):
    """One analysis: what it was computed from, and the hash of its result."""

    summary = "Read one analysis"
    locks = ("study",)


class AnalysisResult(FileOfStudy):
    """The stored JSON, byte by byte: ``result_sha256`` is its hash. A GET once somebody has seen a result of the study;
    the first look is a POST.
    """

    summary = "Read the result of an analysis"
    post_summary = "Look at the result of an analysis"

    def get(self, request: Request, **named: Any) -> HttpResponse:  # type: ignore[override]  # a file, not a document
        check_seen(self.study)
        analysis = self._analysis()
        return self.known(analysis.result_sha256) or self._seen(analysis)

    def post(self, request: Request, **named: Any) -> HttpResponse:
        return self._seen(self._analysis())

    def _analysis(self) -> Analysis:
        rows = Analysis.objects.select_related("study")
        return get_object_or_404(rows, study=self.study, public_id=self.kwargs["public_id"])

    def _seen(self, analysis: Analysis) -> HttpResponse:
        return self.file(see_analysis(analysis, **self.by()), analysis.result_sha256)


class AnalysisAsked(SentBody):
    failed_in_accuracy = serializers.ChoiceField(
        choices=["exclude"], required=False, help_text="failed extractions left out, not wrong: a sensitivity analysis"
    )
    failed_in_agreement = serializers.ChoiceField(
        choices=["own_category"],
        required=False,
        help_text="failed extractions an option of their own: a sensitivity analysis",
    )


class AskForAnalysis(OfStudy):
    """202: a job computes it, and the address says how far it is. One that waits or runs already is enough."""

    shape, body = JobShape, AnalysisAsked
    makes, status = True, 202
    summary = "Ask for an analysis"

    def post(self, request: Request, **named: Any) -> Response:
        study, form = self.study, SensitivityForm(self.sent(AnalysisAsked))
        others = form.others() if form.is_valid() else {}
        return self.once(lambda: _asked(self, lifecycle.ask_for_results(study, others=others, **self.by())))


def _asked(view: Resource, job: Job) -> MadeAnswer:
    return view.made(job, "api-study-job", view.kwargs["slug"], job.public_id)


class StudyJob(OfStudy, OneOf[Job]):
    """An analysis or a report that was asked for: how far it is. Its result names what it made, and tells no result."""

    shape = JobShape
    summary = "Read a job of a study"

    def rows(self) -> QuerySet[Job]:
        analyses = list(self.study.analyses.values_list("pk", flat=True))
        asked = Q(kind=lifecycle.KIND, params__study=self.study.pk)
        asked |= Q(kind=report_job.KIND, params__analysis__in=analyses)
        return Job.objects.filter(asked).select_related("created_by")


class FiguresShape(Shown):
    names = serializers.ListField(child=serializers.CharField())
    widths = serializers.ListField(child=serializers.CharField())
    forms = serializers.ListField(child=serializers.CharField())


class FigureList(OfStudy, OneOf[Analysis]):
    """The figures for which an analysis holds data, and the widths and forms in which each of them comes."""

    shape = FiguresShape
    summary = "List figures of an analysis"

    def get(self, request: Request, **named: Any) -> Response:
        analysis = seen_analysis(self.person, named["slug"], named["public_id"])
        found = {"names": figures_in(analysis), "widths": list(Width), "forms": list(FigureForm)}
        return self.conditional(self.shown(found, self.only()))


class FigureFile(OfStudy, OneOf[Analysis]):
    """One figure, the same file as on the page. ``width``: one column of a journal, or two."""

    content_types = tuple(str(kind) for kind in FIGURE_TYPES.values())
    summary = "Read a figure"

    def get(self, request: Request, **named: Any) -> HttpResponse:  # type: ignore[override]  # a file, not a document
        analysis = seen_analysis(self.person, named["slug"], named["public_id"])
        return named_figure(request._request, analysis, named["name"], named["width"], named["form"])


class StudyReportShape(Shown):
    id = serializers.CharField(source="public_id")
    sha256 = serializers.CharField()
    n_bytes = serializers.IntegerField()
    is_there = serializers.SerializerMethodField(help_text="its file; it can be made again")
    contents = serializers.SerializerMethodField()
    made_by = PersonName()
    made_at = Moment()

    def get_is_there(self, report: AnalysisReport) -> bool:
        return is_there(report_job.path_of(report))

    def get_contents(self, report: AnalysisReport) -> list[dict[str, Any]]:
        names = ("name", "n_bytes", "sha256", "about")
        return [dict(zip(names, one, strict=True)) for one in report.contents]


class StudyReports(OfStudy, ListOf[AnalysisReport]):
    """Reports of an analysis, the newest first."""

    shape = StudyReportShape
    summary = "List reports of an analysis"

    def rows(self) -> QuerySet[AnalysisReport]:
        analysis = seen_analysis(self.person, self.kwargs["slug"], self.kwargs["public_id"])
        return analysis.reports.select_related("made_by")


class MakeStudyReport(OfStudy):
    """202: a job makes it, and the address says how far it is. One that waits or runs already is enough."""

    shape = JobShape
    makes, status = True, 202
    summary = "Ask for a report"

    def post(self, request: Request, **named: Any) -> Response:
        analysis = seen_analysis(self.person, named["slug"], named["public_id"])
        return self.once(lambda: _asked(self, report_job.ask_for_report(analysis, **self.by())))


class StudyReportFile(OfStudy):
    """The ZIP file. Taking it is noted as a look at the results, and its reader as one who has seen the keys."""

    content_types = ("application/zip",)
    summary = "Read a report"

    def get(self, request: Request, **named: Any) -> FileResponse:
        response = report_file(self.person, named["slug"], named["public_id"], named["report_id"])
        response["Cache-Control"] = "private, no-store"
        return response

    post = get


class ResultsLinkShape(Shown):
    id = serializers.IntegerField(source="pk")
    analysis = serializers.CharField(source="analysis.public_id")
    note = serializers.CharField(help_text="for whom it is")
    created_by = PersonName()
    created_at = Moment()
    expires_at = Moment()
    revoked_at = Moment(allow_null=True)
    last_used_at = Moment(allow_null=True, help_text="to the minute")
    link = serializers.CharField(
        default=None, allow_null=True, help_text="in the answer that makes it, and never again"
    )


class ResultsLinks(OfStudy, ListOf[ResultsLink]):
    """All links to results of the study that were ever made, the newest first."""

    shape = ResultsLinkShape
    summary = "List links to the results of a study"

    def rows(self) -> QuerySet[ResultsLink]:
        return links_of(self.study)


class ShareSent(SentBody):
    days = serializers.ChoiceField(choices=DAYS, default=7, help_text="for which it works")
    note = serializers.CharField(max_length=200, default="", allow_blank=True, help_text="for whom it is")


class ShareResults(OfStudy):
    """A link by which anybody sees the pages of this analysis until it ends, without cases, keys and names. It stands
    in this answer, and is kept nowhere.
    """

    shape, body = ResultsLinkShape, ShareSent
    makes, status = True, 201
    summary = "Share an analysis by a link"

    def post(self, request: Request, **named: Any) -> Response:
        analysis = seen_analysis(self.person, named["slug"], named["public_id"])
        asked = cleaned(ShareForm(self.sent(ShareSent)))
        made: list[IssuedLink] = []

        def share() -> MadeAnswer:
            made.append(share_results(analysis, **asked, **self.by()))
            return MadeAnswer(201, self.shown(made[0].link))

        response = self.once(share)
        if made:
            response.data["link"] = f"{settings.PUBLIC_URL}{reverse('shared-analysed', args=[made[0].token])}"
        return response


class OneResultsLink(OnlyPost, OfStudy, OneOf[ResultsLink]):
    shape = ResultsLinkShape

    def one(self) -> ResultsLink:
        return get_object_or_404(links_of(self.study), pk=self.kwargs["pk"])
