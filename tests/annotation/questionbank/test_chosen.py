"""What is done with questions that were selected in the list of a bank."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from annotation.enums import QuestionState
from annotation.models import AuditEvent, Question, QuestionBank, SamplingPlan, User
from annotation.views.questionbank import chosen
from tests.annotation.questionbank.files import make_record, run_import, write_file

pytestmark = pytest.mark.django_db
ADDRESS = "/banks/chest/chosen/"


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    records = {f"q{n}": make_record(n, exam=n, category="Heart" if n % 3 == 0 else "Lung") for n in range(1, 13)}
    run_import(write_file(tmp_path, records), bank="Chest")
    return QuestionBank.objects.get()


def drawn(plan: SamplingPlan) -> list[int]:
    return sorted(plan.questions.values_list("revision__question__number", flat=True))


def test_chosen_questions_become_a_sample(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    asked = client.get(f"{ADDRESS}?act=sample&number=2&number=5")
    assert "2 questions are selected" in asked.content.decode()
    assert not SamplingPlan.objects.exists()
    Question.objects.filter(number=5).update(state=QuestionState.WITHDRAWN)
    client.post(ADDRESS, {"act": "sample", "number": [2, 5, 7], "name": "Mine"})
    plan = SamplingPlan.objects.get()
    assert (plan.name, drawn(plan), plan.frame) == ("Mine", [2, 7], {"chosen": 2})


def test_all_that_match_become_a_round_and_the_sample_says_what_it_was_drawn_from(
    client: Client, cora: User, bank: QuestionBank
) -> None:
    client.force_login(cora)
    answer = client.post(ADDRESS, {"act": "round", "every": "yes", "category": "Heart", "name": "Hearts"})
    plan = SamplingPlan.objects.get()
    assert answer["Location"] == f"/rounds/new/?sample={plan.slug}"
    assert (drawn(plan), plan.frame) == ([3, 6, 9, 12], {"filters": {"category": "Heart"}})
    assert "Category: Heart" in client.get(f"/samples/{plan.slug}/").content.decode()


def test_a_sample_is_drawn_from_a_filter(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    asked: dict[str, str | int] = {"bank": "chest", "by": "none", "per_thousand": 500, "seed": 1, "category": "Heart"}
    page = client.get("/samples/new/", asked)
    assert page.context["found"].n_frame == 4
    sha256 = page.context["found"].frame_sha256
    client.post("/samples/new/", {**asked, "name": "Half", "frame_sha256": sha256})
    assert SamplingPlan.objects.get().frame == {"filters": {"category": "Heart"}}
    assert set(drawn(SamplingPlan.objects.get())) < {3, 6, 9, 12}


def test_many_are_withdrawn_with_a_reason_and_brought_back(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    sent = {"act": "withdraw", "every": "yes", "category": "Heart"}
    assert client.post(ADDRESS, sent).status_code == 422
    assert not Question.objects.filter(state=QuestionState.WITHDRAWN).exists()
    client.post(ADDRESS, sent | {"reason": "no images"})
    assert Question.objects.filter(state=QuestionState.WITHDRAWN).count() == 4
    assert AuditEvent.objects.filter(act="question.withdrawn").count() == 4
    client.post(ADDRESS, {"act": "bring_back", "number": [3, 4]})
    assert Question.objects.filter(state=QuestionState.WITHDRAWN).count() == 3


@pytest.mark.parametrize("sent", [{"act": "sample"}, {"number": [1]}, {"act": "delete", "number": [1]}])
def test_what_says_too_little_is_refused(
    client: Client, cora: User, bank: QuestionBank, sent: dict[str, object]
) -> None:
    client.force_login(cora)
    assert client.post(ADDRESS, sent).status_code == 422


def test_more_than_a_request_can_change_is_refused(
    client: Client, cora: User, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen, "AT_ONCE", 3)
    client.force_login(cora)
    answer = client.post(ADDRESS, {"act": "withdraw", "every": "yes", "reason": "all"})
    assert (answer.status_code, "12 questions are more" in answer.content.decode()) == (422, True)


def test_others_select_nothing(client: Client, ada: User, rita: User, bank: QuestionBank) -> None:
    for person in (ada, rita):
        client.force_login(person)
        assert client.post(ADDRESS, {"act": "sample", "number": [1]}).status_code == 403
        assert client.get(ADDRESS).status_code == 403
    client.force_login(ada)
    assert 'id="chosen"' not in client.get("/banks/chest/").content.decode()


def test_an_archived_bank_and_an_unknown_one_are_404(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    assert client.get("/banks/other/chosen/").status_code == 404
    client.post("/banks/chest/archive/")
    assert client.get(ADDRESS).status_code == 404
