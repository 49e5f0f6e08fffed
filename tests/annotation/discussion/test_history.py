"""The life of a question: everything that happened to it, in order, as far as the coordinator who looks may know."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.test import Client
from msgspec.structs import replace

from annotation.enums import HistoryKind
from annotation.models import Finding, Question, Revision, Settlement, User
from annotation.outcomes.adjudicating import begin_adjudication, decide, name_adjudicator, show_reviews, take_next
from annotation.questionbank.checking import dismiss
from annotation.questionbank.editing import current_revision, revise, wording_of
from annotation.questionbank.importing import bring_back_question, withdraw_question
from annotation.review.commenting import add_comment, finish_todo, withdraw_comment
from annotation.review.ending import close_round, complete_reviews, count_open, disputed
from annotation.review.history import Event, life_of
from annotation.review.selected_questions import add_tag, remove_tag
from tests.annotation.adjudication.made import N_OPEN, make_reviewed
from tests.annotation.review.cases import make_bank, make_revision
from tests.annotation.rounds.made import say
from tests.conftest import make_person


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
