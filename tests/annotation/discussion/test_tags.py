"""Tags of questions: put on one or many, taken off, and hidden from whoever judges the question."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client
from msgspec.structs import replace

from annotation.enums import HistoryKind
from annotation.models import (
    AuditEvent,
    BankImport,
    Exam,
    Finding,
    Question,
    QuestionBank,
    QuestionTag,
    ReviewRound,
    Revision,
    Settlement,
    User,
)
from annotation.outcomes.adjudicating import begin_adjudication, decide, name_adjudicator, show_reviews, take_next
from annotation.questionbank.bank_life import _delete as purge
from annotation.questionbank.checking import dismiss
from annotation.questionbank.editing import current_revision, revise, wording_of
from annotation.questionbank.filters import BankSearch
from annotation.questionbank.importing import bring_back_question, withdraw_question
from annotation.review.commenting import DiscussionRefused, add_comment, finish_todo, withdraw_comment
from annotation.review.ending import close_round, complete_reviews, count_open, disputed
from annotation.review.history import Event, life_of
from annotation.review.onlookers import withheld_questions
from annotation.review.selected_questions import add_tag, remove_tag, tag_word, tags_in, tags_of
from tests.annotation.adjudication.made import N_OPEN, make_reviewed
from tests.annotation.review.cases import make_bank, make_revision, make_revisions
from tests.annotation.rounds.made import make_open, make_sample, say
from tests.conftest import make_person
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


def test_what_is_no_tag_and_no_question_of_another_bank(bank: QuestionBank, cora: User, noon: datetime) -> None:
    wrong = (
        (" \n", "no_tag"),
        ("x" * 41, "tag_too_long"),
        ("a\x00b", "tag_unprintable"),
        ("a\u202eb", "tag_unprintable"),
    )
    for text, code in wrong:
        with refuses(DiscussionRefused, code):
            add_tag(bank.questions.all(), text, bank=bank, actor=cora, at=noon)
    with refuses(DiscussionRefused, "withheld"):
        add_tag(Question.objects.filter(bank=bank), "x", bank=make_bank("Other"), actor=cora, at=noon)
    assert not QuestionTag.objects.exists()
    assert tag_word("x" * 40) == "x" * 40


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
def judged(cora: User) -> ReviewRound:
    """Cora, who coordinates, reviews four questions herself, of six."""
    plan = make_sample(4)
    made = make_open(plan, cora, name="Own", actor=cora, reviewers_per_question=1)
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
    for act in ("add", "remove"):
        assert coordinator.post(f"/banks/chest/99/tags/{act}/", {"tag": "x"}).status_code == 404
    assert not QuestionTag.objects.filter(word="x").exists()


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


# --- the life of a question ---
def life(question: Question, person: User) -> list[Event]:
    revisions = Revision.objects.filter(question=question).select_related("bank_import__actor", "edit__author")
    return life_of(question, list(revisions.order_by("-number")), person)


def told(events: list[Event], *kinds: HistoryKind) -> list[tuple[str, str]]:
    """Oldest first: who, and the sentence."""
    return [(one.actor, one.sentence) for one in reversed(events) if one.kind in kinds]


def test_what_people_do_to_a_question_is_told_in_order(db: None, cora: User, noon: datetime) -> None:
    question = make_revision(make_bank("Chest"), 1).question
    one, hour = Question.objects.filter(pk=question.pk), timedelta(hours=1)
    wording = replace(wording_of(current_revision(question)), options=("All of the above", "Air", "Visible ribs", "C"))
    revise(question, wording, "Reads better.", based_on=1, actor=cora, at=noon + hour)
    finding = Finding.objects.get(rule="all_of_the_above")
    dismiss(finding, reason="Meant so.", actor=cora, at=noon + 2 * hour)
    add_tag(one, "course", bank=question.bank, actor=cora, at=noon + 3 * hour)
    remove_tag(one, "course", bank=question.bank, actor=cora, at=noon + 4 * hour)
    withdraw_question(question, "Copied.", actor=cora, at=noon + 5 * hour)
    bring_back_question(question, actor=cora, at=noon + 6 * hour)
    todo = add_comment(question, "Mend it.", is_todo=True, actor=cora, at=noon + 7 * hour)
    finish_todo(todo, actor=cora, at=noon + 8 * hour)
    wrong = add_comment(question, "SECRET-WORDS", actor=cora, at=noon + 9 * hour)
    withdraw_comment(wrong, actor=cora, at=noon + 10 * hour)
    events = life(question, cora)
    assert [one.at for one in events] == sorted((one.at for one in events), reverse=True)
    assert told(events, *(kind for kind in HistoryKind if kind != HistoryKind.CHECK)) == [
        ("command line", "Revision 1 was imported from made.json."),
        ("Cora", "Revision 2 was written."),
        ("Cora", "Tag added: course."),
        ("Cora", "Tag removed: course."),
        ("Cora", "Withdrawn."),
        ("Cora", "Brought back."),
        ("Cora", "To do."),
        ("Cora", "Done."),
        ("Cora", "Comment."),
        ("Cora", "Comment withdrawn."),
    ]
    found, dismissed = told(events, HistoryKind.CHECK)
    assert found[1].startswith("Found in revision 2: ")
    assert dismissed[0] == "Cora"
    words = {event.words for event in events}
    assert {"Reads better.", "Meant so.", "Copied.", "Mend it."} <= words
    assert "SECRET-WORDS" not in words
    assert next(event for event in events if event.sentence == "Revision 2 was written.").past


def test_a_round_is_told_as_far_as_the_viewer_may_see(cora: User, rita: User, remo: User, noon: datetime) -> None:
    """Reviews once the round is closed; nothing of others to a coordinator who judges in it, until then."""
    made, judy = make_reviewed(cora, rita, remo), make_person("Judy")
    complete_reviews(made, actor=cora, at=noon, confirmed_open=N_OPEN)
    name_adjudicator(made, judy, actor=cora, at=noon)
    name_adjudicator(made, make_person("Conrad"), actor=cora, at=noon)
    begin_adjudication(made, actor=cora, at=noon)
    taken = take_next(made, judy, at=noon)
    assert taken is not None
    say(taken)
    settlement = Settlement.objects.get(assignment=taken)
    show_reviews(settlement, actor=judy, at=noon)
    decide(settlement, "reject", "Cannot be answered.", actor=judy, at=noon)
    question = taken.revision.question
    kinds = (HistoryKind.REVIEW, HistoryKind.SETTLED)
    before = [sentence for _who, sentence in told(life(question, cora), *kinds)]
    assert any(one.startswith("Not settled in “Spring”: ") for one in before)
    assert "Decided in the adjudication of “Spring”: reject." in before
    assert not any("was reviewed" in one for one in before)
    conrad = told(life(question, User.objects.get(name="Conrad")), *kinds)  # who may adjudicate, too
    assert [who for who, _sentence in conrad] == [""]
    close_round(made, actor=cora, at=noon, confirmed_open=disputed(made).count())
    after = told(life(question, cora), *kinds)
    assert ("Judy", "Decided in the adjudication of “Spring”: reject.") in after
    assert {"Rita", "Remo", "Judy"} <= {who for who, _sentence in after}
    assert any("by the adjudicator of “Spring”" in sentence for _who, sentence in after)


def test_the_page_shows_one_kind_and_the_rest_on_request(
    coordinator: Client, db: None, cora: User, noon: datetime
) -> None:
    question = make_revision(make_bank("Chest"), 1).question
    for number in range(30):
        add_comment(question, f"Comment-{number}.", actor=cora, at=noon + timedelta(minutes=number))
    page = coordinator.get("/banks/chest/1/")
    assert (len(page.context["history"]), page.context["n_older"]) == (25, 6)
    assert len(coordinator.get("/banks/chest/1/?all").context["history"]) == 31
    assert [one.kind for one in coordinator.get("/banks/chest/1/?only=wording").context["history"]] == ["wording"]
    assert len(coordinator.get("/banks/chest/1/?only=nonsense").context["history"]) == 25


def test_who_judges_a_question_reads_no_history(reviewer: Client, cora: User, rita: User, remo: User) -> None:
    made = make_reviewed(cora, rita, remo)
    rita.memberships.create(role="coordinator", granted_at=made.created_at)
    page = reviewer.get(f"/banks/{made.plan.bank.slug}/1/").content.decode()
    assert "Hidden until every round" in page
    assert "made.json" not in page
    assert count_open(made) == N_OPEN
