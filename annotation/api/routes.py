"""Addresses of the API under /api/v1/. Every name begins with ``api-``; what a resource is about stands with it."""

from __future__ import annotations

from django.urls import path

from annotation.api import (
    banks,
    drawn_samples,
    image_list,
    incoming_files,
    job_list,
    own_account,
    question_list,
    review_list,
    round_list,
)

QUESTION = "banks/<slug:slug>/questions/<int:number>/"

urlpatterns = [
    path("me/", own_account.Me.as_view(), name="api-me"),
    path("jobs/", job_list.Jobs.as_view(), name="api-jobs"),
    path("jobs/<str:public_id>/", job_list.OneJob.as_view(), name="api-job"),
    path("jobs/<str:public_id>/cancel/", job_list.CancelJob.as_view(), name="api-job-cancel"),
    path("jobs/<str:public_id>/retry/", job_list.RetryJob.as_view(), name="api-job-retry"),
    path("banks/", banks.Banks.as_view(), name="api-banks"),
    path("banks/<slug:slug>/", banks.OneBank.as_view(), name="api-bank"),
    path("banks/<slug:slug>/archive/", banks.ArchiveBank.as_view(), name="api-bank-archive"),
    path("banks/<slug:slug>/bring-back/", banks.BringBackBank.as_view(), name="api-bank-bring-back"),
    path("banks/<slug:slug>/imports/", incoming_files.Imports.as_view(), name="api-imports"),
    path("banks/<slug:slug>/imports/<str:public_id>/", incoming_files.OneImport.as_view(), name="api-import"),
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
    path(f"{QUESTION}withdraw/", question_list.WithdrawQuestion.as_view(), name="api-question-withdraw"),
    path(f"{QUESTION}bring-back/", question_list.BringBackQuestion.as_view(), name="api-question-bring-back"),
    path("exams/", image_list.Exams.as_view(), name="api-exams"),
    path("exams/<str:public_id>/", image_list.OneExam.as_view(), name="api-exam"),
    path("images/", image_list.Images.as_view(), name="api-images"),
    path("images/<str:public_id>/", image_list.OneImage.as_view(), name="api-image"),
    path("renditions/<str:name>/", image_list.RenditionBytes.as_view(), name="api-rendition"),
    path("uploads/", incoming_files.Uploads.as_view(), name="api-uploads"),
    path("uploads/<str:public_id>/", incoming_files.OneUpload.as_view(), name="api-upload"),
    path("samples/", drawn_samples.Samples.as_view(), name="api-samples"),
    path("samples/<slug:slug>/", drawn_samples.OneSample.as_view(), name="api-sample"),
    path("samples/<slug:slug>/questions/", drawn_samples.SampledQuestions.as_view(), name="api-sample-questions"),
    path("samples/<slug:slug>/archive/", drawn_samples.ArchiveSample.as_view(), name="api-sample-archive"),
    path("rounds/", round_list.Rounds.as_view(), name="api-rounds"),
    path("rounds/<slug:slug>/", round_list.OneRound.as_view(), name="api-round"),
    path("rounds/<slug:slug>/assign/", round_list.AssignRound.as_view(), name="api-round-assign"),
    path("rounds/<slug:slug>/open/", round_list.OpenRound.as_view(), name="api-round-open"),
    path("rounds/<slug:slug>/complete/", round_list.CompleteRound.as_view(), name="api-round-complete"),
    path("rounds/<slug:slug>/close/", round_list.CloseRound.as_view(), name="api-round-close"),
    path("rounds/<slug:slug>/archive/", round_list.ArchiveRound.as_view(), name="api-round-archive"),
    path("rounds/<slug:slug>/bring-back/", round_list.BringBackRound.as_view(), name="api-round-bring-back"),
    path("rounds/<slug:slug>/assignments/", round_list.RoundAssignments.as_view(), name="api-round-assignments"),
    path("rounds/<slug:slug>/reviews/", review_list.ReviewsOfRound.as_view(), name="api-reviews"),
    path("rounds/<slug:slug>/reviews/<str:form>/", review_list.RoundReviews.as_view(), name="api-round-reviews"),
    path("rounds/<slug:slug>/import/", review_list.ImportReviews.as_view(), name="api-round-import"),
    path("samples/<slug:slug>/bring-back/", drawn_samples.BringBackSample.as_view(), name="api-sample-bring-back"),
]
