"""Addresses of the API under /api/v1/. Every name begins with ``api-``; what a resource is about is defined with it."""

from __future__ import annotations

from django.urls import path

from annotation.acts.banks import BANK_ACTS, IMAGE_ACTS, JOB_ACTS, QUESTION_ACTS, RELEASE_ACTS, SAMPLE_ACTS, UPLOAD_ACTS
from annotation.acts.rounds import ROUND_ACTS, AssignRound, RemindReviewers
from annotation.api import site_lists
from annotation.api.acting import api_paths, resource_of
from annotation.api.model_calls import asked_endpoints, generation_list, validator_list
from annotation.api.questionbank import bank_list, incoming_files, question_acts, question_list, release_list
from annotation.api.review import review_list, round_drafts, round_list, round_people

IMPORT = "banks/<slug:slug>/imports/<str:public_id>/"
ROUND = "rounds/<slug:slug>/"
REVIEWER = f"{ROUND}reviewers/<int:pk>/"
QUESTION = "banks/<slug:slug>/questions/<int:number>/"
COMMENT = f"{QUESTION}comments/<str:public_id>/"
GENERATION = "banks/<slug:slug>/generation-runs/"
VALIDATING = "banks/<slug:slug>/validator-runs/"
SIMILAR = "banks/<slug:slug>/near-duplicates/"
RELEASES = "banks/<slug:slug>/releases/"
CHANGE = "banks/<slug:slug>/changes/<str:public_id>/"

urlpatterns = [
    path("me/", site_lists.Me.as_view(), name="api-me"),
    path("audit-events/", site_lists.Events.as_view(), name="api-audit-events"),
    path("audit-log/", site_lists.ExportLog.as_view(), name="api-audit-log"),
    path("audit-log/head/", site_lists.HeadOfLog.as_view(), name="api-audit-head"),
    path("jobs/", site_lists.Jobs.as_view(), name="api-jobs"),
    path("jobs/<str:public_id>/", site_lists.OneJob.as_view(), name="api-job"),
    *api_paths("jobs/<str:public_id>/", JOB_ACTS, site_lists.OneJob),
    path("banks/", bank_list.Banks.as_view(), name="api-banks"),
    path("banks/<slug:slug>/", bank_list.OneBank.as_view(), name="api-bank"),
    *api_paths("banks/<slug:slug>/", BANK_ACTS, bank_list.OneBank),
    path("banks/<slug:slug>/imports/", incoming_files.Imports.as_view(), name="api-imports"),
    path(IMPORT, incoming_files.OneImport.as_view(), name="api-import"),
    path(f"{IMPORT}columns/", incoming_files.ImportColumns.as_view(), name="api-import-columns"),
    path(f"{IMPORT}match/", incoming_files.MatchImportColumns.as_view(), name="api-import-match"),
    path("column-matchings/", incoming_files.KeptMatchings.as_view(), name="api-matchings"),
    path("column-matchings/<int:pk>/", incoming_files.OneKeptMatching.as_view(), name="api-matching"),
    path("column-matchings/<int:pk>/rename/", incoming_files.RenameMatching.as_view(), name="api-matching-rename"),
    path("column-matchings/<int:pk>/delete/", incoming_files.DeleteMatching.as_view(), name="api-matching-delete"),
    path(f"{IMPORT}store/", incoming_files.StoreImport.as_view(), name="api-import-store"),
    path("banks/<slug:slug>/questions/", question_list.Questions.as_view(), name="api-questions"),
    path(QUESTION, question_list.OneQuestion.as_view(), name="api-question"),
    path(f"{QUESTION}key/", question_list.KeyOfQuestion.as_view(), name="api-question-key"),
    path(f"{QUESTION}revisions/", question_list.Revisions.as_view(), name="api-revisions"),
    path(f"{QUESTION}revisions/<int:revision>/", question_list.OneRevision.as_view(), name="api-revision"),
    *api_paths(QUESTION, QUESTION_ACTS, question_acts.QuestionOfAct, WithdrawQuestion=question_acts.ReasonSent),
    path(f"{QUESTION}revise/", question_acts.ReviseQuestion.as_view(), name="api-question-revise"),
    path(f"{QUESTION}undo/", question_acts.UndoRevision.as_view(), name="api-question-undo"),
    path(f"{QUESTION}findings/", question_acts.QuestionFindings.as_view(), name="api-question-findings"),
    path(
        f"{QUESTION}findings/<str:public_id>/dismiss/",
        question_acts.DismissFinding.as_view(),
        name="api-finding-dismiss",
    ),
    path(f"{QUESTION}comments/", question_list.QuestionComments.as_view(), name="api-question-comments"),
    path(f"{COMMENT}withdraw/", question_list.WithdrawComment.as_view(), name="api-comment-withdraw"),
    path(f"{COMMENT}done/", question_list.FinishComment.as_view(), name="api-comment-done"),
    path("mentions/", question_list.Mentions.as_view(), name="api-mentions"),
    path("banks/<slug:slug>/changes/", question_acts.BankChanges.as_view(), name="api-bank-changes"),
    path(CHANGE, question_acts.OneBankChange.as_view(), name="api-bank-change"),
    path(f"{CHANGE}undo/", question_acts.UndoBankChange.as_view(), name="api-bank-change-undo"),
    path("banks/<slug:slug>/findings/", question_acts.BankFindings.as_view(), name="api-bank-findings"),
    path("exams/", bank_list.Exams.as_view(), name="api-exams"),
    path("exams/<str:public_id>/", bank_list.OneExam.as_view(), name="api-exam"),
    path("images/", bank_list.Images.as_view(), name="api-images"),
    path("images/<str:public_id>/", bank_list.OneImage.as_view(), name="api-image"),
    *api_paths(
        "images/<str:public_id>/",
        IMAGE_ACTS,
        bank_list.OneImage,
        CreditImage=bank_list.CreditsSent,
        CorrectView=bank_list.ViewSent,
        QuarantineImage=bank_list.QuarantineSent,
    ),
    path("renditions/<str:name>/", bank_list.RenditionBytes.as_view(), name="api-rendition"),
    path("uploads/", incoming_files.Uploads.as_view(), name="api-uploads"),
    path("uploads/<str:public_id>/", incoming_files.OneUpload.as_view(), name="api-upload"),
    *api_paths("uploads/<str:public_id>/", UPLOAD_ACTS, incoming_files.OneUpload),
    path("samples/", round_drafts.Samples.as_view(), name="api-samples"),
    path("samples/<slug:slug>/", round_drafts.OneSample.as_view(), name="api-sample"),
    path("samples/<slug:slug>/questions/", round_drafts.SampledQuestions.as_view(), name="api-sample-questions"),
    *api_paths("samples/<slug:slug>/", SAMPLE_ACTS, round_drafts.OneSample),
    path("rounds/", round_list.Rounds.as_view(), name="api-rounds"),
    path("rounds/<slug:slug>/", round_list.OneRound.as_view(), name="api-round"),
    *api_paths(
        ROUND,
        ROUND_ACTS,
        round_list.OneRound,
        AssignRound=resource_of(AssignRound, round_list.AssignByAddress, body=round_list.ReviewersSent),
        SetDue=round_drafts.DueSent,
        RemindReviewers=resource_of(RemindReviewers, round_people.Reminds),
    ),
    path("rounds/<slug:slug>/assignments/", round_list.RoundAssignments.as_view(), name="api-round-assignments"),
    path("rounds/<slug:slug>/reviews/", review_list.ReviewsOfRound.as_view(), name="api-round-review-rows"),
    path("rounds/<slug:slug>/reviews/<str:form>/", review_list.RoundReviews.as_view(), name="api-round-reviews"),
    path("rounds/<slug:slug>/import/", review_list.ImportReviews.as_view(), name="api-round-import"),
    path(f"{ROUND}edit/", round_drafts.EditRound.as_view(), name="api-round-edit"),
    path(f"{ROUND}fresh/", round_drafts.FreshRound.as_view(), name="api-round-fresh"),
    path(f"{ROUND}reviewers/", round_people.RoundReviewers.as_view(), name="api-round-reviewers"),
    path(REVIEWER, round_people.OneRoundReviewer.as_view(), name="api-round-reviewer"),
    path(f"{REVIEWER}let-in/", round_people.LetReviewerIn.as_view(), name="api-round-let-in"),
    path(f"{REVIEWER}remove/", round_people.RemoveReviewer.as_view(), name="api-round-reviewer-remove"),
    path(f"{REVIEWER}reassign/", round_people.ReassignQuestions.as_view(), name="api-round-reassign"),
    path(f"{ROUND}adjudicators/", round_people.Adjudicators.as_view(), name="api-round-adjudicators"),
    path(f"{ROUND}invitations/", round_people.RoundInvitations.as_view(), name="api-round-invitations"),
    path(
        f"{ROUND}invitations/<int:pk>/revoke/",
        round_people.RevokeRoundInvitation.as_view(),
        name="api-round-invitation-revoke",
    ),
    path(f"{ROUND}report/", review_list.RoundReport.as_view(), name="api-round-report"),
    path(f"{ROUND}report/make/", review_list.MakeRoundReport.as_view(), name="api-round-report-make"),
    path("rounds/<slug:slug>/report.zip", review_list.RoundReportFile.as_view(), name="api-round-report-file"),
    path("review-forms/", round_drafts.ReviewForms.as_view(), name="api-review-forms"),
    # models that are asked
    path("endpoints/", asked_endpoints.ModelEndpoints.as_view(), name="api-model-endpoints"),
    path("endpoints/<slug:name>/", asked_endpoints.OneModelEndpoint.as_view(), name="api-model-endpoint"),
    path("endpoints/<slug:name>/probe/", asked_endpoints.ProbeEndpoint.as_view(), name="api-model-endpoint-probe"),
    path("endpoints/<slug:name>/prices/", asked_endpoints.EndpointPrices.as_view(), name="api-model-endpoint-prices"),
    path("prompts/", generation_list.Prompts.as_view(), name="api-prompts"),
    path("prompts/<str:public_id>/", generation_list.OnePrompt.as_view(), name="api-prompt"),
    path("prompts/<str:public_id>/next/", generation_list.NextPrompt.as_view(), name="api-prompt-next"),
    path(GENERATION, generation_list.GenerationRuns.as_view(), name="api-generation-runs"),
    path(f"{GENERATION}plan/", generation_list.PlanGeneration.as_view(), name="api-generation-runs-plan"),
    path(f"{GENERATION}<str:public_id>/", generation_list.OneGenerationRun.as_view(), name="api-generation-run"),
    path(
        f"{GENERATION}<str:public_id>/<slug:act>/",
        generation_list.ActOnGenerationRun.as_view(),
        name="api-generation-run-act",
    ),
    path(VALIDATING, validator_list.ValidatorRuns.as_view(), name="api-validator-runs"),
    path(f"{VALIDATING}plan/", validator_list.PlanChecks.as_view(), name="api-validator-runs-plan"),
    path(f"{VALIDATING}begin/", validator_list.BeginChecks.as_view(), name="api-validator-runs-begin"),
    path(f"{VALIDATING}<str:public_id>/", validator_list.OneValidatorRun.as_view(), name="api-validator-run"),
    path(
        f"{VALIDATING}<str:public_id>/<slug:act>/",
        validator_list.ActOnValidatorRun.as_view(),
        name="api-validator-run-act",
    ),
    path("banks/<slug:slug>/validity/", validator_list.BankValidity.as_view(), name="api-bank-validity"),
    path("banks/<slug:slug>/validity/keeping-out/", validator_list.KeepOut.as_view(), name="api-bank-keeping-out"),
    path(SIMILAR, bank_list.NearDuplicates.as_view(), name="api-bank-near-duplicates"),
    path(f"{SIMILAR}compare/", bank_list.CompareBank.as_view(), name="api-bank-compare"),
    path(f"{SIMILAR}embed/", bank_list.EmbedBank.as_view(), name="api-bank-embed"),
    path("banks/<slug:slug>/embeddings/", bank_list.BankEmbeddings.as_view(), name="api-bank-embeddings"),
    path(RELEASES, release_list.Releases.as_view(), name="api-releases"),
    path(f"{RELEASES}plan/", release_list.PlanRelease.as_view(), name="api-releases-plan"),
    path(f"{RELEASES}<str:public_id>/", release_list.OneRelease.as_view(), name="api-release"),
    *api_paths(f"{RELEASES}<str:public_id>/", RELEASE_ACTS, release_list.OneRelease),
    path(f"{RELEASES}<str:public_id>/pack/", release_list.PackRelease.as_view(), name="api-release-pack"),
    path(f"{RELEASES}<str:public_id>/files/", release_list.ReleaseFiles.as_view(), name="api-release-files"),
    path(f"{RELEASES}<str:public_id>/keys/", release_list.ReleaseKeys.as_view(), name="api-release-keys"),
    path("banks/<slug:slug>/jobs/<str:public_id>/", bank_list.BankJob.as_view(), name="api-bank-job"),
    path("review-forms/<int:pk>/", round_drafts.OneReviewForm.as_view(), name="api-review-form"),
]
