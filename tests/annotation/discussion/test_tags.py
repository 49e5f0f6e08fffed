"""Tags of questions: put on one or many, taken off, and hidden from whoever judges the question."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client

from annotation.models import AuditEvent, BankImport, Exam, Question, QuestionBank, QuestionTag, ReviewRound, User
from annotation.questionbank.bank_life import _delete as purge
from annotation.questionbank.filters import BankSearch
from annotation.review.commenting import DiscussionRefused
from annotation.review.ending import close_round, count_open
from annotation.review.onlookers import withheld_questions
from annotation.review.rounds import create_round, open_round
from annotation.review.selected_questions import add_tag, remove_tag, tag_word, tags_in, tags_of
from tests.annotation.review.cases import make_bank, make_revisions
from tests.annotation.rounds.made import make_sample
from tests.refusals import refuses

MINUTE = timedelta(minutes=1)


@pytest.fixture
def bank(db: None) -> QuestionBank:
    made = make_bank("Chest")
    make_revisions(made, {1: {}, 2: {}, 3: {}})
    return made


def every(bank: QuestionBank) -> list[int]:
    return list(Question.objects.filter(bank=bank).order_by("number").values_list("pk", flat=True))


def test_a_tag_on_one_and_on_many(bank: QuestionBank, cora: User, noon: datetime) -> None:
    one = Question.objects.filter(bank=bank, number=2)
    assert add_tag(one, "  Needs a\n PRIOR ", bank=bank, actor=cora, at=noon).n == 1
    later = add_tag(bank.questions.all(), "needs a prior", bank=bank, actor=cora, at=noon + MINUTE)
    assert (later.n, later.left) == (2, {"tagged": [2]})
    assert add_tag(bank.questions.all(), "needs a prior", bank=bank, actor=cora, at=noon + 2 * MINUTE).n == 0
    add_tag(one, "course", bank=bank, actor=cora, at=noon)
    first, second, third = every(bank)
    expected = {first: ["needs a prior"], second: ["course", "needs a prior"], third: ["needs a prior"]}
    assert tags_of([first, second, third], cora) == expected
    assert tags_in(bank, cora) == ["course", "needs a prior"]
    log = AuditEvent.objects.filter(act="question.tagged").order_by("pk")
    assert [(row.subject_type, row.facts["questions"]) for row in log] == [
        ("question", 1), ("questionbank", 2), ("question", 1),
    ]  # fmt: skip


def test_a_removed_tag_is_kept_and_may_come_again(bank: QuestionBank, cora: User, noon: datetime) -> None:
    add_tag(bank.questions.all(), "course", bank=bank, actor=cora, at=noon)
    assert remove_tag(bank.questions.filter(number__lt=3), "Course", bank=bank, actor=cora, at=noon).n == 2
    again = remove_tag(bank.questions.all(), "course", bank=bank, actor=cora, at=noon)
    assert (again.n, again.left) == (3, {})  # the same act, run to its end
    assert add_tag(bank.questions.filter(number=3), "course", bank=bank, actor=cora, at=noon).n == 1
    later = remove_tag(bank.questions.filter(number__lt=3), "course", bank=bank, actor=cora, at=noon + MINUTE)
    assert (later.n, later.left) == (0, {"not_tagged": [1, 2]})
    assert tags_of(every(bank), cora) == {every(bank)[2]: ["course"]}
    assert add_tag(bank.questions.filter(number=1), "course", bank=bank, actor=cora, at=noon + MINUTE).n == 1
    assert QuestionTag.objects.filter(question=every(bank)[0]).count() == 2
    log = AuditEvent.objects.filter(act="question.untagged").order_by("pk")
    assert [row.facts for row in log] == [{"tag": "course", "questions": 2}, {"tag": "course", "questions": 1}]


@pytest.mark.parametrize(
    ("text", "code"),
    [(" \n", "no_tag"), ("x" * 41, "tag_too_long"), ("a\x00b", "tag_unprintable"), ("a\u202eb", "tag_unprintable")],
)
def test_what_is_no_tag(bank: QuestionBank, cora: User, noon: datetime, text: str, code: str) -> None:
    with refuses(DiscussionRefused, code):
        add_tag(bank.questions.all(), text, bank=bank, actor=cora, at=noon)
    assert not QuestionTag.objects.exists()
    assert tag_word("x" * 40) == "x" * 40


def test_no_question_of_another_bank_is_tagged(bank: QuestionBank, cora: User, noon: datetime) -> None:
    other = make_bank("Other")
    with refuses(DiscussionRefused, "withheld"):
        add_tag(Question.objects.filter(bank=bank), "x", bank=other, actor=cora, at=noon)
    assert not QuestionTag.objects.filter(word="x").exists()


def test_only_coordinators_have_tags(bank: QuestionBank, ada: User, rita: User, cora: User, noon: datetime) -> None:
    add_tag(bank.questions.all(), "course", bank=bank, actor=cora, at=noon)
    for person in (ada, rita):
        with refuses(DiscussionRefused, "not_coordinator"):
            add_tag(bank.questions.all(), "x", bank=bank, actor=person, at=noon)
        assert tags_of(every(bank), person) == {}
        assert tags_in(bank, person) == []


def test_tags_go_with_their_bank(bank: QuestionBank, cora: User, noon: datetime) -> None:
    add_tag(bank.questions.all(), "course", bank=bank, actor=cora, at=noon)
    remove_tag(bank.questions.filter(number=1), "course", bank=bank, actor=cora, at=noon)
    Exam.objects.filter(bank=bank).update(bank_import=BankImport.objects.get(bank=bank))
    purge(bank, at=noon)
    assert not Question.objects.exists()
    assert not QuestionTag.objects.exists()


@pytest.fixture
def judged(cora: User, noon: datetime) -> ReviewRound:
    """Cora, who coordinates, reviews four questions herself, of six."""
    plan = make_sample(4)
    made = create_round(plan, name="Own", reviewers=[cora], reviewers_per_question=1, actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    make_revisions(plan.bank, {5: {}, 6: {}})
    return made


def test_who_judges_a_question_neither_sees_nor_changes_its_tags(
    coordinator: Client, judged: ReviewRound, cora: User, noon: datetime
) -> None:
    bank, other = judged.plan.bank, User.objects.create(name="Conrad", email="conrad@example.org")
    other.memberships.create(role="coordinator", granted_at=noon)
    assert add_tag(bank.questions.all(), "doubtful", bank=bank, actor=other, at=noon).n == 6
    assert tags_of(every(bank), cora) == {pk: ["doubtful"] for pk in every(bank)[4:]}
    assert {one.pk for one in withheld_questions(cora)} == set(every(bank)[:4])
    removed = remove_tag(bank.questions.all(), "doubtful", bank=bank, actor=cora, at=noon)
    assert (removed.n, removed.left) == (2, {"judged": [1, 2, 3, 4]})
    with refuses(DiscussionRefused, "withheld"):
        add_tag(bank.questions.filter(number=1), "mine", bank=bank, actor=cora, at=noon)
    assert "doubtful" not in coordinator.get(f"/banks/{bank.slug}/").content.decode()
    assert 'id="tags"' not in coordinator.get(f"/banks/{bank.slug}/1/").content.decode()
    close_round(judged, actor=cora, at=noon, confirmed_open=count_open(judged))
    assert "doubtful" in coordinator.get(f"/banks/{bank.slug}/").content.decode()


def test_the_page_of_a_question_adds_and_removes(coordinator: Client, bank: QuestionBank) -> None:
    answer = coordinator.post("/banks/chest/1/tags/add/", {"tag": "Course"}, follow=True)
    assert "The tag is added." in answer.content.decode()
    assert 'value="course"' in answer.content.decode()
    assert "course" in coordinator.get("/banks/chest/").content.decode()
    again = coordinator.post("/banks/chest/1/tags/add/", {"tag": "course"}, follow=True)
    assert "has this tag already" in again.content.decode()
    too_long = coordinator.post("/banks/chest/1/tags/add/", {"tag": "x" * 41}, follow=True)
    assert "shorten it to 40" in too_long.content.decode()
    coordinator.post("/banks/chest/1/tags/remove/", {"tag": "course"})
    gone = coordinator.post("/banks/chest/1/tags/remove/", {"tag": "course"}, follow=True)
    assert "does not have this tag" in gone.content.decode()


@pytest.mark.parametrize("act", ["add", "remove"])
def test_no_question_that_is_not_there_is_tagged(coordinator: Client, bank: QuestionBank, act: str) -> None:
    assert coordinator.post(f"/banks/chest/99/tags/{act}/", {"tag": "x"}).status_code == 404
    assert not QuestionTag.objects.exists()


def test_a_tag_is_found_by_whom_it_is_not_hidden_from(
    client: Client, judged: ReviewRound, cora: User, noon: datetime
) -> None:
    """Who judges four of the questions learns their tags neither by the filter nor by its choices."""
    bank, other = judged.plan.bank, User.objects.create(name="Conrad", email="conrad@example.org")
    other.memberships.create(role="coordinator", granted_at=noon)
    add_tag(bank.questions.filter(number__in=(1, 2, 5)), "course", bank=bank, actor=other, at=noon)
    add_tag(bank.questions.filter(number=3), "doubtful", bank=bank, actor=other, at=noon)
    address = f"/banks/{bank.slug}/"

    def found(person: User) -> list[int]:
        client.force_login(person)
        page = client.get(address, {"tag": "course"}).context["page"]
        return [row.question.number for row in page.revisions]

    assert (found(cora), found(other)) == ([5], [1, 2, 5])
    assert BankSearch(bank, {"tag": "course"}).revisions().count() == 1  # what all coordinators may know
    assert BankSearch(bank, {"tag": "course"}, other).revisions().count() == 3
    client.force_login(cora)
    assert "doubtful" not in client.get(address).content.decode()
    close_round(judged, actor=other, at=noon, confirmed_open=count_open(judged))
    assert found(cora) == [1, 2, 5]
    assert "doubtful" in client.get(address).content.decode()


def test_many_selected_are_tagged_but_not_those_that_the_person_judges(
    coordinator: Client, judged: ReviewRound
) -> None:
    bank = judged.plan.bank
    address = f"/banks/{bank.slug}/chosen/"
    assert 'name="new_tag"' in coordinator.get(f"{address}?act=tag&number=5").content.decode()
    assert coordinator.post(address, {"act": "tag", "number": [5], "new_tag": " "}).status_code == 422
    assert coordinator.post(address, {"act": "tag", "number": [1], "new_tag": "course"}).status_code == 422
    assert not QuestionTag.objects.exists()
    done = coordinator.post(address, {"act": "tag", "every": "yes", "new_tag": "Course"}, follow=True)
    assert "2 questions are tagged." in done.content.decode()
    numbers = QuestionTag.objects.filter(word="course").values_list("question__number", flat=True)
    assert sorted(numbers) == [5, 6]
