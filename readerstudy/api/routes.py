"""Addresses of the API about reader studies, models and their predictions, under /api/v1/."""

from __future__ import annotations

from django.urls import path

from annotation.api.acting import api_paths, resource_of
from annotation.api.questionbank.bank_list import OneBank
from annotation.api.questionbank.question_acts import ReasonSent
from readerstudy.acts.leaderboards import (
    BENCHMARK_ACTS,
    BOARD_SUBMISSION_ACTS,
    EDITION_ACTS,
    HAND_IN_ACTS,
    STATEMENT_ACTS,
    TEAM_ACTS,
)
from readerstudy.acts.models import COMPARISON_ACTS, MODEL_RUN_ACTS, RUN_ACTS, SUBMISSION_ACTS
from readerstudy.acts.studies import (
    DESIGN_ACTS,
    LINK_ACTS,
    READER_ACTS,
    STUDY_ACTS,
    WATCHING_ACTS,
    ExtendReader,
    ExtendStudy,
    RemindReader,
    RemindStudy,
)
from readerstudy.api import (
    analysis_list,
    invited_readers,
    leaderboard_list,
    model_list,
    model_run_list,
    study_list,
    study_tables,
)

STUDY = "studies/<slug:slug>/"
READER = f"{STUDY}readers/<str:public_id>/"
INVITATION = f"{STUDY}invitations/<int:pk>/"
RUN = "prediction-runs/<str:public_id>/"
MODEL = "models/<str:public_id>/"
MODEL_RUN = "model-runs/<str:public_id>/"
COMPARISON = "banks/<slug:slug>/model-comparison/"
SUBMISSIONS = "banks/<slug:slug>/submissions/"
ANALYSIS = f"{STUDY}analyses/<str:public_id>/"
BENCHMARK = "leaderboards/<slug:slug>/"
TEAM = f"{BENCHMARK}teams/<str:public_id>/"
BOARD_SUBMISSION = f"{BENCHMARK}submissions/<str:public_id>/"
STATEMENT = f"{BENCHMARK}statements/<str:public_id>/"
IMPORT = "prediction-imports/<str:public_id>/"
EDITION = f"{BENCHMARK}editions/<int:number>/"

urlpatterns = [
    path("studies/", study_list.Studies.as_view(), name="api-studies"),
    path(STUDY, study_list.OneStudy.as_view(), name="api-study"),
    path(f"{STUDY}plan/", study_list.StudyPlan.as_view(), name="api-study-plan"),
    path(f"{STUDY}protocol/", study_list.StudyProtocol.as_view(), name="api-study-protocol"),
    path(f"{STUDY}re-review/", study_list.RereviewStudy.as_view(), name="api-study-rereview"),
    path(f"{STUDY}copy/", study_list.CopyStudy.as_view(), name="api-study-copy"),
    *api_paths(
        STUDY,
        (*DESIGN_ACTS, *STUDY_ACTS, *WATCHING_ACTS),
        study_list.OneStudy,
        CloseStudy=study_list.CloseSent,
        ExtendStudy=resource_of(
            ExtendStudy, study_list.MovesDeadline, study_list.OneStudy, body=study_list.DeadlineSent
        ),
        RemindStudy=resource_of(RemindStudy, study_list.SendsReminders),
    ),
    path(f"{STUDY}readers/", invited_readers.StudyReaders.as_view(), name="api-study-readers"),
    path(READER, invited_readers.OneReader.as_view(), name="api-study-reader"),
    *api_paths(
        READER,
        READER_ACTS,
        invited_readers.OneReader,
        ExtendReader=resource_of(
            ExtendReader, study_list.MovesDeadline, invited_readers.OneReader, body=study_list.DeadlineSent
        ),
        RemindReader=resource_of(RemindReader, study_list.SendsReminders),
        WithdrawReader=ReasonSent,
        PassReader=ReasonSent,
    ),
    path(f"{READER}replace/", invited_readers.ReplaceReader.as_view(), name="api-study-reader-replace"),
    path(f"{STUDY}invitations/", invited_readers.StudyInvitations.as_view(), name="api-study-invitations"),
    path(f"{STUDY}invitations/file/", invited_readers.InviteReadersFromFile.as_view(), name="api-study-invite-file"),
    path(f"{INVITATION}revoke/", invited_readers.RevokeStudyInvitation.as_view(), name="api-study-invitation-revoke"),
    path(f"{INVITATION}remind/", invited_readers.RemindInvitation.as_view(), name="api-study-invitation-remind"),
    path(f"{INVITATION}restore/", invited_readers.RestoreInvitation.as_view(), name="api-study-invitation-restore"),
    path(f"{STUDY}responses/", study_tables.StudyResponses.as_view(), name="api-study-responses"),
    path(f"{STUDY}events/", study_tables.StudyEvents.as_view(), name="api-study-events"),
    path(f"{STUDY}voidings/", study_tables.Voidings.as_view(), name="api-study-voidings"),
    path(f"{STUDY}tables/<slug:table>/<slug:form>/", study_tables.ExportStudyTable.as_view(), name="api-study-export"),
    path(f"{STUDY}import/", study_tables.ImportReadings.as_view(), name="api-study-import"),
    path(f"{STUDY}analyse/", analysis_list.AskForAnalysis.as_view(), name="api-study-analyse"),
    path(f"{STUDY}jobs/<str:public_id>/", analysis_list.StudyJob.as_view(), name="api-study-job"),
    path(f"{STUDY}analyses/", analysis_list.AnalysisList.as_view(), name="api-study-analyses"),
    path(ANALYSIS, analysis_list.OneAnalysis.as_view(), name="api-study-analysis"),
    path(f"{ANALYSIS}result/", analysis_list.AnalysisResult.as_view(), name="api-study-analysis-result"),
    path(f"{ANALYSIS}share/", analysis_list.ShareResults.as_view(), name="api-study-share"),
    path(f"{STUDY}links/", analysis_list.ResultsLinks.as_view(), name="api-study-share-links"),
    *api_paths(f"{STUDY}links/<int:pk>/", LINK_ACTS, analysis_list.OneResultsLink),
    path(f"{ANALYSIS}figures/", analysis_list.FigureList.as_view(), name="api-study-figures"),
    path(
        f"{ANALYSIS}figures/<slug:name>/<slug:width>.<slug:form>",
        analysis_list.FigureFile.as_view(),
        name="api-study-figure",
    ),
    path(f"{ANALYSIS}reports/", analysis_list.StudyReports.as_view(), name="api-study-reports"),
    path(f"{ANALYSIS}reports/make/", analysis_list.MakeStudyReport.as_view(), name="api-study-report-make"),
    path(
        f"{ANALYSIS}reports/<str:report_id>.zip", analysis_list.StudyReportFile.as_view(), name="api-study-report-file"
    ),
    path("models/", model_list.Models.as_view(), name="api-models"),
    path(MODEL, model_list.OneModel.as_view(), name="api-model"),
    path(f"{MODEL}edit/", model_list.EditModel.as_view(), name="api-model-edit"),
    path(f"{MODEL}replace/", model_list.ReplaceModel.as_view(), name="api-model-replace"),
    path(f"{MODEL}withdraw/", model_list.WithdrawModel.as_view(), name="api-model-withdraw"),
    path(COMPARISON, model_list.BankComparison.as_view(), name="api-models-compare"),
    path(f"{COMPARISON}start/", model_list.StartComparison.as_view(), name="api-models-compare-start"),
    path(f"{COMPARISON}result/", model_list.ComparisonResult.as_view(), name="api-models-compare-result"),
    path(f"{COMPARISON}jobs/<str:public_id>/", model_list.ComparisonJob.as_view(), name="api-models-compare-job"),
    path(SUBMISSIONS, model_list.Submissions.as_view(), name="api-submissions"),
    *api_paths(SUBMISSIONS, SUBMISSION_ACTS, model_list.Submissions),
    *api_paths(COMPARISON, COMPARISON_ACTS, OneBank, DrawExplanations=model_list.ExplanationsSent),
    path("model-runs/", model_run_list.ModelRuns.as_view(), name="api-model-runs"),
    path(MODEL_RUN, model_run_list.OneModelRun.as_view(), name="api-model-run"),
    *api_paths(MODEL_RUN, MODEL_RUN_ACTS, model_run_list.OneModelRun),
    *api_paths(MODEL_RUN, HAND_IN_ACTS, model_run_list.OneModelRun, HandInModelRun=leaderboard_list.HandInSent),
    path("prediction-runs/", model_list.PredictionRuns.as_view(), name="api-prediction-runs"),
    path(RUN, model_list.OnePredictionRun.as_view(), name="api-prediction-run"),
    *api_paths(RUN, RUN_ACTS, model_list.OnePredictionRun, WithdrawPredictionRun=ReasonSent),
    path("prediction-imports/", model_run_list.PredictionFiles.as_view(), name="api-prediction-imports"),
    path(IMPORT, model_run_list.OnePredictionImport.as_view(), name="api-prediction-import"),
    path("leaderboards/", leaderboard_list.Benchmarks.as_view(), name="api-leaderboards"),
    path(BENCHMARK, leaderboard_list.OneBenchmark.as_view(), name="api-leaderboard"),
    path(f"{BENCHMARK}edit/", leaderboard_list.EditBenchmark.as_view(), name="api-leaderboard-edit"),
    path(f"{BENCHMARK}inputs/", leaderboard_list.Inputs.as_view(), name="api-leaderboard-inputs"),
    *api_paths(BENCHMARK, BENCHMARK_ACTS, leaderboard_list.OneBenchmark),
    path(TEAM, leaderboard_list.OneTeam.as_view(), name="api-leaderboard-team"),
    *api_paths(TEAM, TEAM_ACTS, leaderboard_list.OneTeam, RefuseTeam=ReasonSent),
    path(f"{BENCHMARK}submissions/", leaderboard_list.BoardSubmissions.as_view(), name="api-leaderboard-submissions"),
    path(BOARD_SUBMISSION, leaderboard_list.OneBoardSubmission.as_view(), name="api-leaderboard-submission"),
    *api_paths(
        *(BOARD_SUBMISSION, BOARD_SUBMISSION_ACTS, leaderboard_list.OneBoardSubmission), WithdrawSubmission=ReasonSent
    ),
    path(f"{BENCHMARK}statements/", leaderboard_list.TeamStatements.as_view(), name="api-leaderboard-statements"),
    path(STATEMENT, leaderboard_list.OneTeamStatement.as_view(), name="api-leaderboard-statement"),
    *api_paths(STATEMENT, STATEMENT_ACTS, leaderboard_list.OneTeamStatement, RefuseStatement=ReasonSent),
    path(f"{BENCHMARK}editions/", leaderboard_list.Editions.as_view(), name="api-leaderboard-editions"),
    path(EDITION, leaderboard_list.OneEdition.as_view(), name="api-leaderboard-edition"),
    path(
        *(f"{EDITION}results/<int:version>/", leaderboard_list.OneEditionResult.as_view()),
        name="api-leaderboard-edition-result",
    ),
    *api_paths(EDITION, EDITION_ACTS, leaderboard_list.OneEdition),
    path(f"{IMPORT}store/", model_run_list.StorePredictions.as_view(), name="api-prediction-import-store"),
]
