"""Addresses, by room. Each room keeps its own block."""

from __future__ import annotations

from django.urls import URLPattern, path

from annotation.views.site.confirming import page_paths
from readerstudy.acts.leaderboards import (
    BENCHMARK_ACTS,
    BOARD_SUBMISSION_ACTS,
    EDITION_ACTS,
    HAND_IN_ACTS,
    STATEMENT_ACTS,
    TEAM_ACTS,
)
from readerstudy.acts.models import COMPARISON_ACTS, MODEL_RUN_ACTS, RUN_ACTS, SUBMISSION_ACTS
from readerstudy.acts.studies import LINK_ACTS, READER_ACTS, STUDY_ACTS, WATCHING_ACTS
from readerstudy.views import (
    conducting,
    enrolment,
    invitations,
    leaderboard,
    links,
    monitoring,
    predictions,
    reading,
    runs,
    studies,
)
from readerstudy.views.design import drafts, freezing
from readerstudy.views.results import overview, pairs

INVITATION = "studies/<slug:slug>/invitations/<int:pk>/"
BOARD_SUBMISSION = "leaderboards/<slug:slug>/submissions/<str:public_id>/"
STATEMENT = "leaderboards/<slug:slug>/statements/<str:public_id>/"
RESULTS = "studies/<slug:slug>/results/<str:public_id>/"

urlpatterns: list[URLPattern] = [
    # readers come in
    path("studies/<slug:slug>/invite/", invitations.study_invite, name="study-invite"),
    path("studies/<slug:slug>/invite/file/", invitations.study_invite_file, name="study-invite-file"),
    path(f"{INVITATION}remind/", invitations.study_invitation_remind, name="study-invitation-remind"),
    path(f"{INVITATION}restore/", invitations.study_invitation_restore, name="study-invitation-restore"),
    path(f"{INVITATION}revoke/", invitations.study_invitation_revoke, name="study-invitation-revoke"),
    path("read/", enrolment.readings, name="readings"),
    path("read/join/<str:token>/", invitations.study_invitation, name="study-invitation"),
    path("read/<slug:slug>/", enrolment.reading, name="reading"),
    path("read/<slug:slug>/consent/", enrolment.reading_consent, name="reading-consent"),
    path("read/<slug:slug>/consent/copy/", enrolment.reading_consent_copy, name="reading-consent-copy"),
    path("read/<slug:slug>/facts/", enrolment.reading_facts, name="reading-facts"),
    path("read/<slug:slug>/instructions/", enrolment.reading_instructions, name="reading-instructions"),
    path("read/<slug:slug>/display/", enrolment.reading_display, name="reading-display"),
    path("read/<slug:slug>/done/", enrolment.reading_done, name="reading-done"),
    path("read/<slug:slug>/withdraw/", enrolment.reading_withdraw, name="reading-withdraw"),
    # design
    path("studies/", studies.studies, name="studies"),
    path("studies/new/", studies.study_new, name="study-new"),
    path("studies/<slug:slug>/", studies.study, name="study"),
    path("studies/<slug:slug>/models/", studies.study_models, name="study-models"),
    path("studies/<slug:slug>/cases/", drafts.study_cases, name="study-cases"),
    path("studies/<slug:slug>/arms/", drafts.study_arms, name="study-arms"),
    path("studies/<slug:slug>/rules/", drafts.study_rules, name="study-rules"),
    path("studies/<slug:slug>/readers/", drafts.study_readers, name="study-readers"),
    path("studies/<slug:slug>/forecast/", freezing.study_forecast, name="study-forecast"),
    path("studies/<slug:slug>/dry-run/", conducting.study_dry_run, name="study-dry-run"),
    path("studies/<slug:slug>/dry-run/room/", conducting.study_dry_room, name="study-dry-room"),
    path("studies/<slug:slug>/dry-run/session/", conducting.study_dry_session, name="study-dry-session"),
    path("studies/<slug:slug>/dry-run/state/", conducting.study_dry_state, name="study-dry-state"),
    path("studies/<slug:slug>/dry-run/pause/", conducting.study_dry_pause, name="study-dry-pause"),
    path("studies/<slug:slug>/dry-run/resume/", conducting.study_dry_resume, name="study-dry-resume"),
    path(
        "studies/<slug:slug>/dry-run/cases/<slug:place>/<slug:act>/", conducting.study_dry_case, name="study-dry-case"
    ),
    path("studies/<slug:slug>/freezing/", freezing.study_indications, name="study-indications"),
    path("studies/<slug:slug>/freeze/", freezing.study_freeze, name="study-freeze"),
    path("studies/<slug:slug>/protocol.json", freezing.study_protocol, name="study-protocol"),
    path("studies/<slug:slug>/copy/", conducting.study_copy, name="study-copy"),
    path("studies/<slug:slug>/delete/", conducting.study_delete, name="study-delete"),
    *page_paths("studies/<slug:slug>/", STUDY_ACTS),
    # watching
    *page_paths("studies/<slug:slug>/watch/", WATCHING_ACTS),
    *page_paths("studies/<slug:slug>/watch/<str:public_id>/", READER_ACTS),
    path("studies/<slug:slug>/watch/", monitoring.study_watch, name="study-watch"),
    path("studies/<slug:slug>/watch/interim/", monitoring.study_interim, name="study-interim"),
    path("studies/<slug:slug>/watch/<str:public_id>/", monitoring.study_reader, name="study-reader"),
    path("studies/<slug:slug>/watch/<str:public_id>/replace/", monitoring.reader_replace, name="study-reader-replace"),
    path("studies/<slug:slug>/void/", monitoring.study_void, name="study-void"),
    path("studies/<slug:slug>/re-review/", monitoring.study_rereview, name="study-rereview"),
    # analyses
    path("studies/<slug:slug>/analyse/", overview.study_analyse, name="study-analyse"),
    path("studies/<slug:slug>/analyses/<str:public_id>.json", overview.study_analysis, name="study-analysis"),
    # results
    path("studies/<slug:slug>/results/", overview.study_results, name="study-results"),
    path(RESULTS, overview.study_analysed, name="study-analysed"),
    path(f"{RESULTS}stands/", overview.study_analysed_stands, name="study-analysed-stands"),
    path(f"{RESULTS}agreement/", pairs.study_agreement, name="study-agreement"),
    path(f"{RESULTS}agreement/<int:first>/<int:second>/", pairs.study_pair, name="study-pair"),
    path(f"{RESULTS}categories/", pairs.study_categories, name="study-categories"),
    path(f"{RESULTS}cases/", pairs.study_items, name="study-items"),
    path(f"{RESULTS}times/", pairs.study_times, name="study-times"),
    path(f"{RESULTS}figures/<slug:name>/<slug:width>.<slug:form>", overview.study_figure, name="study-figure"),
    # results by a link
    path(f"{RESULTS}share/", links.study_share, name="study-share"),
    *page_paths("studies/<slug:slug>/links/<int:pk>/", LINK_ACTS),
    path("shared/<str:token>/", links.shared_analysed, name="shared-analysed"),
    path("shared/<str:token>/agreement/", links.shared_agreement, name="shared-agreement"),
    path("shared/<str:token>/categories/", links.shared_categories, name="shared-categories"),
    path("shared/<str:token>/times/", links.shared_times, name="shared-times"),
    path("shared/<str:token>/figures/<slug:name>/<slug:width>.<slug:form>", links.shared_figure, name="shared-figure"),
    path(f"{RESULTS}report/", overview.study_report, name="study-report"),
    path(f"{RESULTS}report/make/", overview.study_report_make, name="study-report-make"),
    path(f"{RESULTS}report/<str:report_id>.zip", overview.study_report_file, name="study-report-file"),
    # data of a study
    path("studies/<slug:slug>/import/", studies.study_import, name="study-import"),
    path("studies/<slug:slug>/data/", studies.study_data, name="study-data"),
    path("studies/<slug:slug>/export/<slug:table>/<slug:form>/", studies.study_export, name="study-export"),
    path("studies/<slug:slug>/codebook/<slug:table>/", studies.study_codebook, name="study-codebook"),
    # models and their predictions
    path("models/", predictions.models, name="models"),
    path("models/new/", predictions.model_new, name="model-new"),
    path("models/compare/", runs.models_compare, name="models-compare"),
    path("models/compare/<slug:slug>/start/", runs.models_compare_start, name="models-compare-start"),
    path("models/compare/<slug:slug>.<slug:form>", runs.models_compare_file, name="models-compare-file"),
    *page_paths("models/compare/<slug:slug>/", COMPARISON_ACTS),
    *page_paths("models/submissions/<slug:slug>/", SUBMISSION_ACTS),
    path("models/import/", predictions.predictions_import, name="predictions-import"),
    path("models/import/store/", predictions.predictions_import_store, name="predictions-import-store"),
    path("models/imports/<str:public_id>/", predictions.prediction_import, name="prediction-import"),
    path("models/imports/<str:public_id>/store/", predictions.prediction_import_store, name="prediction-import-store"),
    path(
        "models/imports/<str:public_id>/report.json",
        predictions.prediction_import_report,
        name="prediction-import-report",
    ),
    path("models/runs/<str:public_id>/", predictions.prediction_run, name="prediction-run"),
    *page_paths("models/runs/<str:public_id>/", RUN_ACTS),
    # what teams send to leaderboards
    path("leaderboards/<slug:slug>/submissions/", leaderboard.leaderboard_submissions, name="leaderboard-submissions"),
    path(BOARD_SUBMISSION, leaderboard.leaderboard_submission, name="leaderboard-submission"),
    path(f"{BOARD_SUBMISSION}report.json", leaderboard.leaderboard_report, name="leaderboard-report"),
    *page_paths(BOARD_SUBMISSION, BOARD_SUBMISSION_ACTS),
    path(
        "leaderboards/<slug:slug>/statements/new/",
        leaderboard.leaderboard_statement_new,
        name="leaderboard-statement-new",
    ),
    path(STATEMENT, leaderboard.leaderboard_statement, name="leaderboard-statement"),
    path(f"{STATEMENT}card.md", leaderboard.leaderboard_card, name="leaderboard-card"),
    *page_paths(STATEMENT, STATEMENT_ACTS),
    # models that the site runs itself
    path("models/at-work/", runs.model_runs, name="model-runs"),
    path("models/at-work/new/", runs.model_run_new, name="model-run-new"),
    path("models/at-work/<str:public_id>/", runs.model_run, name="model-run"),
    path("models/at-work/<str:public_id>/variants/", runs.model_run_variants, name="model-run-variants"),
    *page_paths("models/at-work/<str:public_id>/", (*MODEL_RUN_ACTS, *HAND_IN_ACTS)),
    path("models/at-work/<str:public_id>/calls/", runs.model_run_calls, name="model-run-calls"),
    path("models/at-work/<str:public_id>/calls/<int:number>/", runs.model_run_call, name="model-run-call"),
    path(
        "models/at-work/<str:public_id>/calls/<int:number>/<str:sha256>.png",
        runs.model_run_picture,
        name="model-run-picture",
    ),
    path("models/<str:public_id>/", predictions.model, name="model"),
    path("models/<str:public_id>/edit/", predictions.model_edit, name="model-edit"),
    path("models/<str:public_id>/replace/", predictions.model_replace, name="model-replace"),
    path("models/<str:public_id>/withdraw/", predictions.model_withdraw, name="model-withdraw"),
    path("models/<str:public_id>/repeatability/", predictions.model_repeatability, name="model-repeatability"),
    path("models/<str:public_id>/predictions/", predictions.prediction_import_new, name="prediction-import-new"),
    # leaderboards
    path("leaderboards/", leaderboard.leaderboards, name="leaderboards"),
    path("leaderboards/new/", leaderboard.leaderboard_new, name="leaderboard-new"),
    path("leaderboards/<slug:slug>/", leaderboard.leaderboard, name="leaderboard"),
    path("leaderboards/<slug:slug>/edit/", leaderboard.leaderboard_edit, name="leaderboard-edit"),
    path("leaderboards/<slug:slug>/team/", leaderboard.leaderboard_team, name="leaderboard-team"),
    path("leaderboards/<slug:slug>/inputs/", leaderboard.leaderboard_inputs, name="leaderboard-inputs"),
    *page_paths("leaderboards/<slug:slug>/", BENCHMARK_ACTS),
    *page_paths("leaderboards/<slug:slug>/teams/<str:public_id>/", TEAM_ACTS),
    path("leaderboards/<slug:slug>/editions/", leaderboard.leaderboard_editions, name="leaderboard-editions"),
    *page_paths("leaderboards/<slug:slug>/editions/<int:number>/", EDITION_ACTS),
    # reading
    path("read/<slug:slug>/room/", reading.reading_room, name="reading-room"),
    path("read/<slug:slug>/session/", reading.reading_session, name="reading-session"),
    path("read/<slug:slug>/state/", reading.reading_state, name="reading-state"),
    path("read/<slug:slug>/pause/", reading.reading_pause, name="reading-pause"),
    path("read/<slug:slug>/resume/", reading.reading_resume, name="reading-resume"),
    path("read/<slug:slug>/cases/<str:place>/open/", reading.reading_open, name="reading-open"),
    path("read/<slug:slug>/cases/<str:place>/choice/", reading.reading_choice, name="reading-choice"),
    path("read/<slug:slug>/cases/<str:place>/events/", reading.reading_events, name="reading-events"),
    path("read/<slug:slug>/cases/<str:place>/commit/", reading.reading_commit, name="reading-commit"),
    path("read/<slug:slug>/cases/<str:place>/remark/", reading.reading_remark, name="reading-remark"),
]
