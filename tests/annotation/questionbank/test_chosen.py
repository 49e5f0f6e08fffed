"""What is done with questions that were selected in the list of a bank."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.audit.recording import verify
from annotation.enums import JobState, QuestionState, Role
from annotation.jobs import queueing, running
from annotation.jobs.queueing import JobCancelled
from annotation.models import (
    Assignment,
    AuditEvent,
    Job,
    Membership,
    Question,
    QuestionBank,
    QuestionTag,
    Revision,
    SamplingPlan,
    User,
)
from annotation.review import selected_questions
from annotation.review.selected_questions import add_tag
from annotation.views.questionbank import chosen
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.review.cases import make_round
from tests.conftest import make_person

pytestmark = pytest.mark.django_db
ADDRESS = "/banks/chest/chosen/"


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    records = {f"q{n}": make_record(n, exam=n, category="Heart" if n % 3 == 0 else "Lung") for n in range(1, 13)}
    run_import(write_file(tmp_path, records), bank="Chest")
    return QuestionBank.objects.get()


def drawn(plan: SamplingPlan) -> list[int]:
    return sorted(plan.questions.values_list("revision__question__number", flat=True))


def test_chosen_questions_become_a_sample(coordinator: Client, bank: QuestionBank) -> None:
    asked = coordinator.get(f"{ADDRESS}?act=sample&number=2&number=5")
    assert "2 questions are selected" in asked.content.decode()
    assert not SamplingPlan.objects.exists()
    Question.objects.filter(number=5).update(state=QuestionState.WITHDRAWN)
    coordinator.post(ADDRESS, {"act": "sample", "number": [2, 5, 7], "name": "Mine"})
    plan = SamplingPlan.objects.get()
    assert (plan.name, drawn(plan), plan.frame["chosen"]) == ("Mine", [2, 7], 2)


def test_all_that_match_become_a_round_and_the_sample_says_what_it_was_drawn_from(
    coordinator: Client, bank: QuestionBank
) -> None:
    answer = coordinator.post(ADDRESS, {"act": "round", "every": "yes", "category": "Heart", "name": "Hearts"})
    plan = SamplingPlan.objects.get()
    assert answer["Location"] == f"/rounds/new/?sample={plan.slug}"
    assert (drawn(plan), plan.frame["filters"]) == ([3, 6, 9, 12], {"category": "Heart"})
    assert "Category: Heart" in coordinator.get(f"/samples/{plan.slug}/").content.decode()


def test_a_sample_is_drawn_from_a_filter(coordinator: Client, bank: QuestionBank) -> None:
    asked: dict[str, str | int] = {"bank": "chest", "by": "none", "per_thousand": 500, "seed": 1, "category": "Heart"}
    page = coordinator.get("/samples/new/", asked)
    assert page.context["found"].n_frame == 4
    sha256 = page.context["found"].frame_sha256
    coordinator.post("/samples/new/", {**asked, "name": "Half", "frame_sha256": sha256})
    assert SamplingPlan.objects.get().frame["filters"] == {"category": "Heart"}
    assert set(drawn(SamplingPlan.objects.get())) < {3, 6, 9, 12}


def test_many_are_withdrawn_with_a_reason_and_brought_back(coordinator: Client, bank: QuestionBank) -> None:
    sent = {"act": "withdraw", "every": "yes", "category": "Heart"}
    assert coordinator.post(ADDRESS, sent).status_code == 422
    assert not Question.objects.filter(state=QuestionState.WITHDRAWN).exists()
    coordinator.post(ADDRESS, sent | {"reason": "no images"})
    assert Question.objects.filter(state=QuestionState.WITHDRAWN).count() == 4
    assert AuditEvent.objects.filter(act="question.withdrawn").count() == 4
    coordinator.post(ADDRESS, {"act": "bring_back", "number": [3, 4]})
    assert Question.objects.filter(state=QuestionState.WITHDRAWN).count() == 3


def test_what_says_too_little_is_refused_and_an_archived_or_unknown_bank_is_404(
    coordinator: Client, bank: QuestionBank
) -> None:
    for sent in ({"act": "sample"}, {"number": [1]}, {"act": "delete", "number": [1]}):
        assert coordinator.post(ADDRESS, sent).status_code == 422, sent
    assert coordinator.get("/banks/other/chosen/").status_code == 404
    assert coordinator.post("/banks/other/chosen/undo/").status_code == 404
    coordinator.post("/banks/chest/archive/")
    assert coordinator.get(ADDRESS).status_code == 404


def test_tags_are_taken_away_from_many_and_put_back(coordinator: Client, bank: QuestionBank) -> None:
    none = coordinator.get(f"{ADDRESS}?act=untag&every=yes")
    assert (none.status_code, "No question of this bank has a tag." in none.content.decode()) == (422, True)
    coordinator.post(ADDRESS, {"act": "tag", "number": [1], "new_tag": "course"})
    tagged = coordinator.post(ADDRESS, {"act": "tag", "number": [1, 2, 3], "new_tag": "Course"}, follow=True)
    assert "1 had the tag before:" in tagged.content.decode()
    untagged = undo(coordinator, tagged.content.decode())
    assert numbers_with("course") == [1]
    undo(coordinator, untagged.content.decode())
    assert numbers_with("course") == [1, 2, 3]
    asked = coordinator.get(f"{ADDRESS}?act=untag&every=yes&tag=course").content.decode()
    assert '<option value="course" selected>' in asked
    done = coordinator.post(ADDRESS, {"act": "untag", "number": [2, 3, 4], "new_tag": "course"}, follow=True)
    assert "The tag is taken away from 2 questions." in done.content.decode()
    assert "1 did not have the tag:" in done.content.decode()
    assert numbers_with("course") == [1]


# What was done, what was not, and undoing it


def numbers_with(tag: str) -> list[int]:
    return sorted(QuestionTag.objects.standing().filter(word=tag).values_list("question__number", flat=True))


def withdrawn() -> list[int]:
    return sorted(Question.objects.filter(state=QuestionState.WITHDRAWN).values_list("number", flat=True))


def undo(client: Client, page: str) -> Any:
    """Press the button of the page that undoes what was done."""
    fields = dict(re.findall(r'<input type="hidden" name="(act|words|at)" value="(.*?)">', page))
    return client.post(f"{ADDRESS}undo/", {name: unescape(text) for name, text in fields.items()}, follow=True)


def test_the_list_says_what_was_left_and_offers_to_undo_the_rest(coordinator: Client, bank: QuestionBank) -> None:
    coordinator.post(ADDRESS, {"act": "withdraw", "number": [3, 5], "reason": "no images"})
    done = coordinator.post(
        ADDRESS, {"act": "withdraw", "every": "yes", "category": "Heart", "reason": "a & b"}, follow=True
    )
    assert done.redirect_chain[-1][0] == "/banks/chest/?category=Heart&changed=yes"
    page = done.content.decode()
    assert "3 questions are withdrawn." in page
    assert "1 was withdrawn before:" in page
    assert '<a href="/banks/chest/3/">3</a>' in page
    assert "withdrawn before" not in coordinator.get("/banks/chest/?category=Heart").content.decode()
    back = undo(coordinator, page).content.decode()
    assert "3 questions are back." in back
    assert "Bring these back" not in back
    assert withdrawn() == [3, 5]
    assert "There is nothing to undo" in undo(coordinator, page).content.decode()


def test_undoing_leaves_what_somebody_did_later(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    page = client.post(ADDRESS, {"act": "withdraw", "number": [1, 2, 3], "reason": "x"}, follow=True).content.decode()
    client.post(ADDRESS, {"act": "bring_back", "number": [1, 2]})
    client.post(ADDRESS, {"act": "withdraw", "number": [2], "reason": "on purpose"})
    assert "1 question is back." in undo(client, page).content.decode()
    assert withdrawn() == [2]


def test_what_names_no_act_undoes_nothing_and_nobody_undoes_what_another_did(
    client: Client, cora: User, bank: QuestionBank
) -> None:
    client.force_login(cora)
    page = client.post(ADDRESS, {"act": "withdraw", "number": [1], "reason": "x"}, follow=True).content.decode()
    for sent in (
        {},
        {"act": "bring_back", "at": "2026-11-21T12:00:00+00:00"},
        {"act": "withdraw", "words": "x", "at": "yesterday"},
        {"act": "withdraw", "words": "x", "at": "2026-11-21T12:00:00"},
        {"act": "tag", "words": "", "at": "2026-11-21T12:00:00+00:00"},
    ):
        told = client.post(f"{ADDRESS}undo/", sent, follow=True)
        assert 'class="notice error"' in told.content.decode(), sent
    client.force_login(make_person("Conrad", Role.COORDINATOR))
    assert "There is nothing to undo" in undo(client, page).content.decode()
    assert withdrawn() == [1]


def test_the_list_with_an_outcome_takes_few_queries_and_others_select_nothing(
    client: Client, cora: User, ada: User, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(cora)
    client.post(ADDRESS, {"act": "withdraw", "number": [1], "reason": "x"})
    assert 'id="chosen"' in client.get("/banks/chest/?changed=yes").content.decode()
    with django_assert_max_num_queries(26):
        client.get("/banks/chest/?changed=yes")
    client.force_login(ada)
    assert 'id="chosen"' not in client.get("/banks/chest/").content.decode()


# More than a request takes: a job


@pytest.fixture
def many(client: Client, cora: User, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A coordinator for whom four questions are many, and a queue that nobody listens to."""
    monkeypatch.setattr(chosen, "AT_ONCE", 3)
    monkeypatch.setattr(selected_questions, "BLOCK", 2)
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    client.force_login(cora)
    return client


class Steps:
    """The progress of a job, stopped before a block where a test asks for it."""

    def __init__(self, stop_at: int = 10**9) -> None:
        self.stop_at, self.told = stop_at, list[tuple[int, int]]()

    def report(self, done: int, total: int, message: str = "") -> None:
        self.told.append((done, total))
        if done >= self.stop_at:
            raise JobCancelled


def work() -> Job:
    job = Job.objects.get(state=JobState.QUEUED)
    running.run(job.public_id, clock=timezone.now)
    job.refresh_from_db()
    return job


def ask(client: Client, **sent: object) -> str:
    """The address of the job, which has not begun."""
    response = client.post(ADDRESS, {"act": "withdraw", "every": "yes", "reason": "all", **sent})
    assert response.status_code == 302
    return str(response["Location"])


def test_more_than_a_request_changes_are_changed_by_a_job(many: Client, cora: User) -> None:
    many.post(ADDRESS, {"act": "withdraw", "number": [2], "reason": "before"})
    asked = many.get(f"{ADDRESS}?act=withdraw&every=yes").content.decode()
    assert "So many questions are changed in the background" in asked
    page = ask(many)
    assert withdrawn() == [2]
    assert page in many.get("/banks/chest/").content.decode()
    job = work()
    assert (job.state, job.progress_done, job.progress_total) == (JobState.SUCCEEDED, 12, 12)
    assert job.result == {"changed": 11, "left": {"withdrawn": {"n": 1, "numbers": [2]}}}
    rows = AuditEvent.objects.filter(act="question.withdrawn", actor=cora, facts__reason="all")
    assert rows.count() == 11
    told = many.get(page).content.decode()
    assert "11 questions are withdrawn." in told
    assert '<a href="/banks/chest/2/">2</a>' in told
    assert page not in many.get("/banks/chest/").content.decode()
    back = undo(many, told)
    assert back.redirect_chain[-1][0].startswith("/jobs/")
    assert work().result == {"changed": 11, "left": {}}
    assert withdrawn() == [2]


def test_a_job_changes_what_was_found_when_it_was_asked_for(many: Client) -> None:
    ask(many, category="Lung")
    Revision.objects.filter(question__number=1).update(category="Heart")
    Revision.objects.filter(question__number=3).update(category="Lung")
    work()
    assert withdrawn() == [1, 2, 4, 5, 7, 8, 10, 11]


def stopped_after_four(client: Client, **sent: Any) -> tuple[str, Job]:
    """Its page and the job, which a worker left after the second block of two."""
    page = ask(client, **sent)
    job, steps = Job.objects.get(), Steps(stop_at=4)
    with pytest.raises(JobCancelled):
        selected_questions.run_change(steps, job.params)
    assert steps.told == [(0, 12), (2, 12), (4, 12)]
    return page, job


@pytest.mark.parametrize("act", ["tag", "withdraw", "bring_back"])
def test_a_job_that_was_stopped_goes_on_where_it_ended(many: Client, act: str) -> None:
    if act == "bring_back":
        Question.objects.update(state=QuestionState.WITHDRAWN)
    page, job = stopped_after_four(many, act=act, new_tag="course")
    done = {"tag": numbers_with("course"), "withdraw": withdrawn(), "bring_back": [*{*range(1, 13)} - {*withdrawn()}]}
    assert done[act] == [1, 2, 3, 4]
    Job.objects.update(state=JobState.CANCELLED)
    told = {"tag": "4 questions are tagged.", "withdraw": "4 questions are withdrawn."}
    assert told.get(act, "4 questions are back.") in many.get(page).content.decode()
    for _again in range(2):
        assert selected_questions.run_change(Steps(), job.params) == {"changed": 12, "left": {}}
    assert verify().fault is None
    events = AuditEvent.objects.filter(act__in=["question.withdrawn", "question.tagged", "question.brought_back"])
    assert events.count() == (6 if act == "tag" else 12)


@pytest.mark.parametrize("act", ["tag", "withdraw"])
def test_a_job_tried_again_leaves_what_was_undone(many: Client, cora: User, act: str) -> None:
    page = ask(many, act=act, new_tag="course")
    job = Job.objects.get()
    with pytest.raises(JobCancelled):
        selected_questions.run_change(Steps(stop_at=4), job.params)
    one = selected_questions.QuestionsAct.of_job(job.params)
    back = selected_questions.QuestionsAct.of(
        selected_questions.UNDOES[one.act], one.words, bank=one.bank, actor=cora, at=one.at + timedelta(minutes=1)
    )
    selected_questions.change_questions(back, [1, 2, 3, 4])
    done = selected_questions.run_change(Steps(), job.params)
    assert done == {"changed": 8, "left": {"changed_since": {"n": 4, "numbers": [1, 2, 3, 4]}}}
    Job.objects.update(state=JobState.SUCCEEDED, result=done)
    assert "4 were changed by somebody after you had asked" in many.get(page).content.decode()


def test_all_that_match_is_confirmed_again_where_the_list_or_what_its_filter_means_has_changed(
    coordinator: Client, cora: User, bank: QuestionBank
) -> None:
    """The tag of a list was taken away meanwhile: without it the act would be on the whole bank."""
    sent = {"act": "withdraw", "reason": "Old", "every": "yes", "category": "Heart"}
    n = coordinator.get(ADDRESS, sent).context["n"]
    answer = coordinator.post(ADDRESS, {**sent, "n": n + 1})
    assert answer.status_code == 422
    assert "The list has changed since you saw it." in answer.content.decode()
    assert f'name="n" value="{n}"' in answer.content.decode()
    add_tag(Question.objects.filter(number=1), "course", bank=bank, actor=cora, at=timezone.now())
    tagged = {"act": "withdraw", "reason": "Old", "every": "yes", "tag": "course"}
    assert coordinator.get(ADDRESS, tagged).status_code == 200
    QuestionTag.objects.update(removed_at=timezone.now(), removed_by=cora)
    answer = coordinator.post(ADDRESS, tagged)
    assert answer.status_code == 422
    assert "A filter of the list means nothing any more." in answer.content.decode()
    assert withdrawn() == []


def test_a_job_leaves_what_its_person_judges(client: Client, many: Client, cora: User, bank: QuestionBank) -> None:
    judged = make_round(cora, n_questions=1)
    for number in (1, 2, 3):
        revision = Revision.objects.get(question__bank=bank, question__number=number)
        Assignment.objects.create(round=judged, reviewer=cora, revision=revision, position=number + 1)
    page = ask(many, act="tag", new_tag="course")
    assert work().result == {"changed": 9, "left": {"judged": {"n": 3, "numbers": [1, 2, 3]}}}
    assert "3 were left out, since you judge them in a round under way:" in many.get(page).content.decode()
    client.force_login(make_person("Conrad", Role.COORDINATOR))
    others = client.get(page).content.decode()
    assert "course" not in others  # whoever else coordinates may judge these questions
    assert "you judge" not in others


def test_a_job_is_not_begun_where_it_cannot_be_done_and_refused_where_its_person_or_bank_changed(
    many: Client, cora: User
) -> None:
    for sent in ({"act": "tag", "new_tag": "x" * 41}, {"act": "withdraw", "reason": " "}):
        assert many.post(ADDRESS, {"every": "yes", **sent}).status_code == 422, sent
    assert not Job.objects.exists()
    ask(many)
    QuestionBank.objects.update(archived_at=timezone.now())
    assert "is archived" in work().error
    QuestionBank.objects.update(archived_at=None)
    ask(many)
    Membership.objects.filter(user=cora).delete()
    assert "no coordinator any more" in work().error
    assert withdrawn() == []
