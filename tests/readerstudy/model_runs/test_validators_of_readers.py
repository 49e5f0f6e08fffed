"""Who reads questions of a bank in a study that is not over asks no validator about it, and reads no verdict."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.enums import Role
from annotation.models import CallBatch
from annotation.refusals import Refused
from annotation.validators.validator_plans import CheckWanted, plan_check
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from tests.annotation.model_calls.simulated_calls import NOON
from tests.conftest import make_person
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", [StudyState.OPEN, StudyState.CLOSED])
def test_until_the_study_is_over(client: Client, state: StudyState) -> None:
    study = make_study("Trial", state=StudyState.OPEN)
    rosa = make_person("Rosa", Role.COORDINATOR, Role.READER)
    enrol(study, rosa)
    ReaderStudy.objects.filter(pk=study.pk).update(state=state)
    client.force_login(rosa)
    pages = [reverse(f"bank-{name}", args=[study.bank.slug]) for name in ("validators", "difficulties")]
    pages.append(reverse("bank-validator", args=[study.bank.slug, "c3"]))
    expected = 403 if state == StudyState.OPEN else 200
    assert [client.get(page).status_code for page in pages] == [expected] * 3
    with pytest.raises(Refused) as found:
        plan_check(CheckWanted(bank=study.bank, validator="c1", endpoint="none", model="m"), actor=rosa, at=NOON)
    assert (found.value.code == "reads_them") == (state == StudyState.OPEN)
    assert not CallBatch.objects.exists()
