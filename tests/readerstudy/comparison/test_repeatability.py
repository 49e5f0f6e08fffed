"""How well a model repeats itself: the numbers, who sees them and when, and what the page costs."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from sklearn.metrics import cohen_kappa_score

from annotation.enums import JobState, Role
from annotation.models import Job, User
from readerstudy.analysis.kernels.bank_comparison import repeatability
from readerstudy.enums import StudyState
from readerstudy.models import ModelEntry, ReaderStudy, StudyRole, Voiding
from readerstudy.predictions.listing import Target
from readerstudy.predictions.runs import withdraw_run
from tests.conftest import NOON, make_person
from tests.jobs import work
from tests.readerstudy.comparison.test_computing import made
from tests.readerstudy.predictions.made import answers, entry_named, import_file, keyed_bank
from tests.readerstudy.studies import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


FIRST, SECOND = "BBBBAACCDBBB", "BBxBABCCDA.B"


def page_of(entry: ModelEntry) -> str:
    return f"/models/{entry.public_id}/repeatability/"


def look(client: Client, entry: ModelEntry, **asked: str) -> Any:
    """The page once what it asked for is computed."""
    begun = client.get(page_of(entry), asked)
    assert begun.context["computing"], begun.content
    work()
    return client.get(page_of(entry), asked)


def test_agreement_of_two_runs_is_that_of_two_raters() -> None:
    arrays = made({"1": FIRST, "2": SECOND})
    result = repeatability(arrays, seed=1, draws=100)
    both = [(one, other) for one, other in zip(FIRST, SECOND, strict=True) if other not in "x."]
    same = sum(one == other for one, other in both) / len(both)
    pair = result["pairs"][0]
    assert (pair["percent_agreement"]["value"], pair["percent_agreement"]["n"]) == (same, len(both))
    kappa = cohen_kappa_score(*zip(*both, strict=True), labels=list("ABCD"))
    assert pair["cohen_kappa"]["value"] == pytest.approx(kappa, abs=1e-12)
    low, high = pair["cohen_kappa"]["ci95"]
    assert low < kappa < high
    right = [sum(one == "B" for one in of) / len(both) for of in zip(*both, strict=True)]
    alone = right[0] * right[1] + (1 - right[0]) * (1 - right[1]) / 3
    assert pair["agreement_if_independent"]["value"] == pytest.approx(alone, abs=1e-12)
    assert pair["excess_agreement"]["value"] == pytest.approx(same - alone, abs=1e-12)
    assert pair["excess_agreement"]["ci95"] is None  # two questions that both had wrong
    assert pair["excess_agreement"]["flags"][-1] == "few_common_errors"
    assert (pair["n_failed_once"], pair["cohen_kappa"]["flags"]) == (1, ["few_disagreements", "small_n"])
    assert [(run["n_failed"], run["n_missing"], run["accuracy"]["n"]) for run in result["runs"]] == [
        (0, 0, 12),
        (1, 1, 12),
    ]
    assert repeatability(arrays, seed=1, draws=100) == result


def test_drawn_are_clusters_once_questions_share_one() -> None:
    arrays = made({"1": FIRST * 2, "2": SECOND * 2}, clusters=[place // 2 for place in range(24)])
    result = repeatability(arrays, seed=1, draws=100)
    assert result["pairs"][0]["cohen_kappa"]["method"] == "bootstrap_clusters"
    assert result["runs"][0]["accuracy_cluster"]["n"] == 24


@pytest.mark.django_db
def test_live_runs_on_a_bank(coordinator: Client, cora: User) -> None:
    bank, entry = keyed_bank(3), entry_named("Model")
    assert "No bank and no study" in coordinator.get(page_of(entry)).content.decode()
    import_file(entry, Target(bank), answers(Q1="B", Q2="B", Q3="A"))
    assert "How well it repeats itself" not in coordinator.get(f"/models/{entry.public_id}/").content.decode()
    for said in ("B", "C"):
        second = import_file(entry, Target(bank), answers(Q1="B", Q2=said, Q3="no idea")).run
    assert "How well it repeats itself" in coordinator.get(f"/models/{entry.public_id}/").content.decode()
    response = look(coordinator, entry)
    page = response.content.decode()
    assert "66.67" in page
    assert len(response.context["result"]["pairs"]) == 3
    assert second is not None
    withdraw_run(second, "wrong file", actor=cora, at=NOON)
    assert len(look(coordinator, entry).context["result"]["pairs"]) == 1
    assert coordinator.get(page_of(entry), {"on": "bank-bank"}).status_code == 200
    assert coordinator.get(page_of(entry), {"on": "bank-none"}).status_code == 404


@pytest.mark.django_db
def test_in_a_study_it_is_hidden_until_results_were_seen_and_voided_cases_are_left_out(
    coordinator: Client, cora: User
) -> None:
    study, entry = make_study("Trial", n_cases=3, state=StudyState.CLOSED), entry_named()
    for said in ("B", "C"):
        import_file(entry, Target.of_study(study), answers(**{"1": "B", "2": said, "3": said}))
    response = coordinator.get(page_of(entry))
    assert "after the results of the study have been opened" in response.content.decode()
    assert "result" not in response.context
    ReaderStudy.objects.update(unblinded_at=NOON)
    assert look(coordinator, entry).context["result"]["n"] == 3
    Voiding.objects.create(case=study.cases.get(number=3), reason="wrong", actor=cora, at=NOON, before_unblinding=True)
    assert look(coordinator, entry).context["result"]["n"] == 2


@pytest.mark.django_db
def test_who_sees_it(client: Client, cora: User, ada: User, rita: User) -> None:
    mona, mick = make_person("Mona", Role.MODEL_SUBMITTER), make_person("Mick", Role.MODEL_SUBMITTER)
    bank, entry = keyed_bank(2), entry_named(submitter=mona)
    study = make_study("Trial", n_cases=1, state=StudyState.CLOSED, unblinded_at=NOON)
    for said in ("B", "C"):
        import_file(entry, Target(bank), answers(Q1="B", Q2=said))
        import_file(entry, Target.of_study(study), answers(**{"1": said}))
    StudyRole.objects.create(study=study, user=mick, granted_at=NOON)
    found = {}
    for person in (cora, ada, mona, mick, rita):
        client.force_login(person)
        response = client.get(page_of(entry))
        found[person.name] = [one.name for one in response.context["targets"]] if response.status_code == 200 else 404
    both = ["study-trial", "bank-bank"]
    assert found == {"Cora": both, "Ada": both, "Mona": ["bank-bank"], "Mick": ["study-trial"], "Rita": 404}
    client.force_login(mona)
    result = look(client, entry).context["result"]
    assert {name for run in result["runs"] for name in run} == {
        *("number", "run", "n_failed", "n_missing", "n_not_asked", "n_earlier")
    }
    assert "If independent" not in client.get(page_of(entry)).content.decode()  # it would tell the accuracies
    client.force_login(cora)
    assert "If independent" in client.get(page_of(entry), {"on": "bank-bank"}).content.decode()
    client.logout()
    assert client.get(page_of(entry)).status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize("n", [2, 4])
def test_repeats_cost_few_queries(
    coordinator: Client, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    bank, entry = keyed_bank(3, name=f"Bank {n}"), entry_named()
    for number in range(n):
        import_file(entry, Target(bank), answers(Q1="B", Q2=f"no {number}"))
    # session, person, roles; entry; runs; imports; job; a benchmark; and at the first look the job with its savepoint
    with django_assert_num_queries(11):
        coordinator.get(page_of(entry))
    look(coordinator, entry)
    with django_assert_num_queries(8):
        assert coordinator.get(page_of(entry)).context["result"]["pairs"]


def test_it_is_computed_once_however_often_it_is_looked_at(coordinator: Client) -> None:
    bank, entry = keyed_bank(3), entry_named()
    for said in ("B", "C"):
        import_file(entry, Target(bank), answers(Q1="B", Q2=said))
    for _again in range(3):
        page = coordinator.get(page_of(entry))
        assert "every 1s" in page.content.decode()
    assert Job.objects.count() == 1
    fragment = coordinator.get(page_of(entry), headers={"HX-Request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<div id="repeatability"')
    Job.objects.update(state=JobState.FAILED, error="No space left.")
    assert "No space left." in coordinator.get(page_of(entry)).content.decode()
