"""Addresses of the API about reader studies, models and their predictions, under /api/v1/."""

from __future__ import annotations

from django.urls import path

from readerstudy.api import study_acts, study_list

STUDY = "studies/<slug:slug>/"

urlpatterns = [
    path("studies/", study_list.Studies.as_view(), name="api-studies"),
    path(STUDY, study_list.OneStudy.as_view(), name="api-study"),
    path(f"{STUDY}plan/", study_list.StudyPlan.as_view(), name="api-study-plan"),
    path(f"{STUDY}protocol/", study_list.StudyProtocol.as_view(), name="api-study-protocol"),
    path(f"{STUDY}freeze/", study_acts.FreezeStudy.as_view(), name="api-study-freeze"),
    path(f"{STUDY}open/", study_acts.OpenStudy.as_view(), name="api-study-open"),
    path(f"{STUDY}close/", study_acts.CloseStudy.as_view(), name="api-study-close"),
    path(f"{STUDY}copy/", study_acts.CopyStudy.as_view(), name="api-study-copy"),
    path(f"{STUDY}archive/", study_acts.ArchiveStudy.as_view(), name="api-study-archive"),
    path(f"{STUDY}bring-back/", study_acts.BringBackStudy.as_view(), name="api-study-bring-back"),
]
