"""Addresses of the API under /api/v1/. Every name begins with ``api-``; what a resource is about is defined with it."""

from __future__ import annotations

from django.urls import path

from annotation.acts.banks import BANK_ACTS, QUESTION_ACTS, SAMPLE_ACTS
from annotation.acts.images import IMAGE_ACTS, JOB_ACTS, UPLOAD_ACTS
from annotation.acts.rounds import ROUND_ACTS, AssignRound, RemindReviewers
from annotation.api import event_list, job_list, own_account
from annotation.api.acting import api_paths, resource_of
from annotation.api.model_calls import asked_endpoints, generation_list, prompt_list, validator_list
from annotation.api.questionbank import (
    banks,
    chosen_questions,
    image_list,
    import_matching,
    incoming_files,
    question_acts,
    question_comments,
    question_list,
    similar_list,
)
from annotation.api.review import (
    drawn_samples,
    review_list,
    round_drafts,
    round_invitations,
    round_list,
    round_people,
    round_reports,
)

ROUND = "rounds/<slug:slug>/"
REVIEWER = f"{ROUND}reviewers/<int:pk>/"
QUESTION = "banks/<slug:slug>/questions/<int:number>/"
COMMENT = f"{QUESTION}comments/<str:public_id>/"
GENERATION = "banks/<slug:slug>/generation-runs/"
VALIDATING = "banks/<slug:slug>/validator-runs/"
SIMILAR = "banks/<slug:slug>/near-duplicates/"
CHANGE = "banks/<slug:slug>/changes/<str:public_id>/"

urlpatterns = [
    path("me/", own_account.Me.as_view(), name="api-me"),
    path("audit-events/", event_list.Events.as_view(), name="api-audit-events"),
    path("audit-log/", event_list.ExportLog.as_view(), name="api-audit-log"),
    path("audit-log/head/", event_list.HeadOfLog.as_view(), name="api-audit-head"),
    path("jobs/", job_list.Jobs.as_view(), name="api-jobs"),
    path("jobs/<str:public_id>/", job_list.OneJob.as_view(), name="api-job"),
    *api_paths("jobs/<str:public_id>/", JOB_ACTS, job_list.OneJob),
    path("banks/", banks.Banks.as_view(), name="api-banks"),
    path("banks/<slug:slug>/", banks.OneBank.as_view(), name="api-bank"),
    *api_paths("banks/<slug:slug>/", BANK_ACTS, banks.OneBank),
    path("banks/<slug:slug>/imports/", incoming_files.Imports.as_view(), name="api-imports"),
    path("banks/<slug:slug>/imports/<str:public_id>/", incoming_files.OneImport.as_view(), name="api-import"),
    path(
        "banks/<slug:slug>/imports/<str:public_id>/columns/",
        import_matching.ImportColumns.as_view(),
        name="api-import-columns",
    ),
    path(
        "banks/<slug:slug>/imports/<str:public_id>/match/",
        import_matching.MatchImportColumns.as_view(),
        name="api-import-match",
    ),
    path("column-matchings/", import_matching.KeptMatchings.as_view(), name="api-matchings"),
    path("column-matchings/<int:pk>/", import_matching.OneKeptMatching.as_view(), name="api-matching"),
    path("column-matchings/<int:pk>/rename/", import_matching.RenameMatching.as_view(), name="api-matching-rename"),
    path("column-matchings/<int:pk>/delete/", import_matching.DeleteMatching.as_view(), name="api-matching-delete"),
    path(
        "banks/<slug:slug>/imports/<str:public_id>/store/",
        incoming_files.StoreImport.as_view(),
        name="api-import-store",
    ),
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
    path(f"{QUESTION}comments/", question_comments.QuestionComments.as_view(), name="api-question-comments"),
    path(f"{COMMENT}withdraw/", question_comments.WithdrawComment.as_view(), name="api-comment-withdraw"),
    path(f"{COMMENT}done/", question_comments.FinishComment.as_view(), name="api-comment-done"),
    path("mentions/", question_comments.Mentions.as_view(), name="api-mentions"),
    path("banks/<slug:slug>/changes/", chosen_questions.BankChanges.as_view(), name="api-bank-changes"),
    path(CHANGE, chosen_questions.OneBankChange.as_view(), name="api-bank-change"),
    path(f"{CHANGE}undo/", chosen_questions.UndoBankChange.as_view(), name="api-bank-change-undo"),
    path("banks/<slug:slug>/findings/", question_acts.BankFindings.as_view(), name="api-bank-findings"),
    path("exams/", image_list.Exams.as_view(), name="api-exams"),
    path("exams/<str:public_id>/", image_list.OneExam.as_view(), name="api-exam"),
    path("images/", image_list.Images.as_view(), name="api-images"),
    path("images/<str:public_id>/", image_list.OneImage.as_view(), name="api-image"),
    *api_paths(
        "images/<str:public_id>/",
        IMAGE_ACTS,
        image_list.OneImage,
        CreditImage=image_list.CreditsSent,
        CorrectView=image_list.ViewSent,
        QuarantineImage=image_list.QuarantineSent,
    ),
    path("renditions/<str:name>/", image_list.RenditionBytes.as_view(), name="api-rendition"),
    path("uploads/", incoming_files.Uploads.as_view(), name="api-uploads"),
    path("uploads/<str:public_id>/", incoming_files.OneUpload.as_view(), name="api-upload"),
    *api_paths("uploads/<str:public_id>/", UPLOAD_ACTS, incoming_files.OneUpload),
    path("samples/", drawn_samples.Samples.as_view(), name="api-samples"),
    path("samples/<slug:slug>/", drawn_samples.OneSample.as_view(), name="api-sample"),
    path("samples/<slug:slug>/questions/", drawn_samples.SampledQuestions.as_view(), name="api-sample-questions"),
    *api_paths("samples/<slug:slug>/", SAMPLE_ACTS, drawn_samples.OneSample),
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
    path(f"{ROUND}invitations/", round_invitations.RoundInvitations.as_view(), name="api-round-invitations"),
    path(
        f"{ROUND}invitations/<int:pk>/revoke/",
        round_invitations.RevokeRoundInvitation.as_view(),
        name="api-round-invitation-revoke",
    ),
    path(f"{ROUND}report/", round_reports.RoundReport.as_view(), name="api-round-report"),
    path(f"{ROUND}report/make/", round_reports.MakeRoundReport.as_view(), name="api-round-report-make"),
    path("rounds/<slug:slug>/report.zip", round_reports.RoundReportFile.as_view(), name="api-round-report-file"),
    path("review-forms/", round_drafts.ReviewForms.as_view(), name="api-review-forms"),
    # models that are asked
    path("endpoints/", asked_endpoints.ModelEndpoints.as_view(), name="api-model-endpoints"),
    path("endpoints/<slug:name>/", asked_endpoints.OneModelEndpoint.as_view(), name="api-model-endpoint"),
    path("endpoints/<slug:name>/probe/", asked_endpoints.ProbeEndpoint.as_view(), name="api-model-endpoint-probe"),
    path("endpoints/<slug:name>/prices/", asked_endpoints.EndpointPrices.as_view(), name="api-model-endpoint-prices"),
    path("prompts/", prompt_list.Prompts.as_view(), name="api-prompts"),
    path("prompts/<str:public_id>/", prompt_list.OnePrompt.as_view(), name="api-prompt"),
    path("prompts/<str:public_id>/next/", prompt_list.NextPrompt.as_view(), name="api-prompt-next"),
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
    path(SIMILAR, similar_list.NearDuplicates.as_view(), name="api-bank-near-duplicates"),
    path(f"{SIMILAR}compare/", similar_list.CompareBank.as_view(), name="api-bank-compare"),
    path(f"{SIMILAR}embed/", similar_list.EmbedBank.as_view(), name="api-bank-embed"),
    path("banks/<slug:slug>/embeddings/", similar_list.BankEmbeddings.as_view(), name="api-bank-embeddings"),
    path("banks/<slug:slug>/jobs/<str:public_id>/", similar_list.BankJob.as_view(), name="api-bank-job"),
    path("review-forms/<int:pk>/", round_drafts.OneReviewForm.as_view(), name="api-review-form"),
]
