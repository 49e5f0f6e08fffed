"""A study that is read, and the coordinator who watches it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import User
from readerstudy.models import Enrolment, ReaderStudy
from tests.readerstudy.exports.read_study import read_study

WATCH = "/studies/trial/watch/"


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    study = read_study(rita, remo, time_zone="Europe/Berlin")
    study.deadline_at = timezone.now() + timedelta(days=30)
    study.save()
    return study


@pytest.fixture
def rita_reads(study: ReaderStudy, rita: User) -> Enrolment:
    return Enrolment.objects.get(reader=rita)


def said(client: Client, page: str = WATCH) -> str:
    return client.get(page).content.decode()
