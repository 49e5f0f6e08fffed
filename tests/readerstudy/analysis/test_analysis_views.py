"""The section "Analyses" on the page with the data of a study."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.models import Job, User
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.models import Analysis, ReaderStudy
from tests.readerstudy.analysis.made import analyse_by
from tests.readerstudy.exports.read_study import read_study, void

QUICK = Settings(seed=1, draws=100)
PAGE = "/studies/trial/data/"


def test_the_button_asks_for_one_analysis(coordinator: Client, study: ReaderStudy) -> None:
    assert "No analysis so far" in coordinator.get(PAGE).content.decode()
    for _again in range(2):
        assert coordinator.post(reverse("study-analyse", args=["trial"])).status_code == 302
    job = Job.objects.get()
    page = coordinator.get(PAGE).content.decode()
    assert reverse("job", args=[job.public_id]) in page
    assert reverse("study-analyse", args=["trial"]) not in page


def test_the_list_says_which_one_is_stale(coordinator: Client, study: ReaderStudy, noon: datetime) -> None:
    analyse_by(QUICK, study, at=noon)
    assert "up to date" in coordinator.get(PAGE).content.decode()
    void(study.cases.get(block="main", number=1))
    page = coordinator.get(PAGE).content.decode()
    assert "out of date: an input or the rule has changed" in page
    assert "up to date" not in page


def test_taking_the_file_unblinds(coordinator: Client, study: ReaderStudy, noon: datetime) -> None:
    analysis = analyse_by(QUICK, study, at=noon)
    assert "unblinds the study" in coordinator.get(PAGE).content.decode()
    assert ReaderStudy.objects.get().unblinded_at is None
    address = reverse("study-analysis", args=["trial", analysis.public_id])
    response = coordinator.post(address)
    assert json.loads(response.content)["study"] == "Trial"
    assert f'filename="trial-analysis-{analysis.public_id}.json"' in response["Content-Disposition"]
    assert "no-store" in response["Cache-Control"]
    assert ReaderStudy.objects.get().unblinded_at is not None
    assert coordinator.post(reverse("study-analysis", args=["trial", "other"])).status_code == 404


def test_while_readers_read_there_is_nothing(coordinator: Client, rita: User, remo: User, noon: datetime) -> None:
    study = read_study(rita, remo)
    analysis = analyse_by(QUICK, study, at=noon)
    page = coordinator.get(PAGE).content.decode()
    assert "The analysis runs automatically when the study closes" in page
    assert analysis.public_id not in page
    assert coordinator.post(reverse("study-analysis", args=["trial", analysis.public_id])).status_code == 403
    coordinator.post(reverse("study-analyse", args=["trial"]))
    assert not Job.objects.exists()


@pytest.mark.parametrize("n", [1, 3])
def test_queries_do_not_grow_with_the_analyses(
    coordinator: Client, study: ReaderStudy, noon: datetime, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for seed in range(n):
        analyse_by(Settings(seed=seed, draws=100), study, at=noon)
    assert Analysis.objects.count() == n
    # 6 of the page, 1 for the list, 8 that tell whether an input has changed, 1 for the job
    with django_assert_num_queries(16):
        coordinator.get(PAGE)
