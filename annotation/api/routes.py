"""Addresses of the API under /api/v1/. Every name begins with ``api-``; what a resource is about stands with it."""

from __future__ import annotations

from django.urls import path

from annotation.api import banks, job_list, own_account, question_list

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
    path("banks/<slug:slug>/questions/", question_list.Questions.as_view(), name="api-questions"),
    path(QUESTION, question_list.OneQuestion.as_view(), name="api-question"),
    path(f"{QUESTION}key/", question_list.KeyOfQuestion.as_view(), name="api-question-key"),
    path(f"{QUESTION}revisions/", question_list.Revisions.as_view(), name="api-revisions"),
    path(f"{QUESTION}revisions/<int:revision>/", question_list.OneRevision.as_view(), name="api-revision"),
    path(f"{QUESTION}withdraw/", question_list.WithdrawQuestion.as_view(), name="api-question-withdraw"),
    path(f"{QUESTION}bring-back/", question_list.BringBackQuestion.as_view(), name="api-question-bring-back"),
]
