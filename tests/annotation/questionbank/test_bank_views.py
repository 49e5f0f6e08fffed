from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape
from msgspec.structs import replace

from annotation.enums import AssignmentState, Flag, QuestionState, RoundState, Task
from annotation.models import (
    AnswerKey,
    Assignment,
    BankImport,
    Finding,
    Question,
    QuestionBank,
    ReviewRound,
    Revision,
    Settlement,
    User,
)
from annotation.questionbank import listing
from annotation.questionbank.editing import revise, wording_of
from annotation.questionbank.filters import BankSearch
from annotation.questionbank.listing import category_tree
from annotation.tables.kernels.row_figures import Domain
from tests.annotation.questionbank.files import NOON, make_record, run_import, write_file
from tests.annotation.review.cases import make_round
from tests.annotation.rounds.made import say, theirs

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

LATER = NOON + timedelta(days=365)
TASKS = ["Presence Assessment", "Negation Assessment"]


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    """Sixty questions on sixty exams; every second one is a negation, every third one about the heart."""
    records = {
        f"q{n}": make_record(n, exam=n, task_name=TASKS[n % 2], category="Heart" if n % 3 == 0 else "Lung")
        for n in range(1, 61)
    }
    run_import(write_file(tmp_path, records), bank="Chest bank")
    return QuestionBank.objects.get()


def numbers(response: object) -> list[int]:
    return [row.question.number for row in response.context["page"].revisions]  # type: ignore[attr-defined]


def test_a_bank_is_listed_from_its_first_import_on_and_apart_while_it_is_archived(
    coordinator: Client, tmp_path: Path
) -> None:
    QuestionBank.objects.create(name="Half done", slug="half-done", created_at=NOON)
    assert "No question bank yet" in coordinator.get("/banks/").content.decode()
    records = {f"q{n}": make_record(n, exam=n) for n in range(77)}
    run_import(write_file(tmp_path, records), bank="Chest bank")
    listed = coordinator.get("/banks/").content.decode()
    assert ("Chest bank" in listed, "77" in listed, "Half done" in listed) == (True, True, False)
    for act, lists in (("bring-back", ("/banks/", "/banks/?archived")), ("archive", ("/banks/?archived", "/banks/"))):
        coordinator.post(f"/banks/chest-bank/{act}/")
        assert ["Chest bank" in coordinator.get(one).content.decode() for one in lists] == [True, False], act
    coordinator.post("/banks/chest-bank/bring-back/")
    assert "Chest bank" in coordinator.get("/banks/").content.decode()


def test_pages_forward_and_back_and_odd_places_are_no_error(coordinator: Client, bank: QuestionBank) -> None:
    first = coordinator.get("/banks/chest-bank/")
    assert (numbers(first), first.context["page"].previous) == (list(range(1, 51)), None)
    second = coordinator.get("/banks/chest-bank/?after=50")
    assert (numbers(second), second.context["page"].next) == (list(range(51, 61)), None)
    assert numbers(coordinator.get("/banks/chest-bank/?before=51")) == list(range(1, 51))
    assert numbers(coordinator.get("/banks/chest-bank/?after=60")) == []
    for odd in ("after=x", "after=-1", "after=999999999", "before=0", "after=1e9", "before=٣"):
        assert coordinator.get(f"/banks/chest-bank/?{odd}").status_code == 200, odd


def test_filters(coordinator: Client, bank: QuestionBank) -> None:
    for query, wanted in {
        "task=negation": [n for n in range(1, 61) if n % 2 == 1],
        "category=Heart": [n for n in range(1, 61) if n % 3 == 0],
        "task=negation&category=Heart": [n for n in range(1, 61) if n % 6 == 3],
        "q=number+59": [59],
        "q=NUMBER+59": [59],
        "q=%25": [],
        "difficulty=unknown&q=number+6": [6, 60],
        "difficulty=hard": [],
        "task=nonsense": list(range(1, 51)),
    }.items():
        assert numbers(coordinator.get(f"/banks/chest-bank/?{query}")) == wanted, query


def test_filtered_pages_follow_one_another(
    coordinator: Client, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PER_PAGE", 7)
    for query in ("task=negation", "q=number", "category=Lung&difficulty=unknown"):
        whole, after = [], 0
        while True:
            response = coordinator.get(f"/banks/chest-bank/?{query}&after={after}")
            whole += numbers(response)
            if not response.context["page"].next:
                break
            after = response.context["page"].next.after
        assert whole == sorted(set(whole))
        assert len(whole) == {"task=negation": 30, "q=number": 60, "category=Lung&difficulty=unknown": 40}[query]
        back = numbers(coordinator.get(f"/banks/chest-bank/?{query}&before={whole[10]}"))
        assert back == whole[3:10]


def test_a_search_that_stops_early_says_how_far_it_looked(
    coordinator: Client, cora: User, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WINDOW", 20)
    monkeypatch.setattr(listing, "MOST_LISTED", 20)
    response = coordinator.get("/banks/chest-bank/?q=59")
    assert numbers(response) == []
    assert "Looked as far as question 20 of 60" in response.content.decode()
    page = response.context["page"]
    assert (page.next.after, page.looked_to) == (20, 20)
    assert numbers(coordinator.get("/banks/chest-bank/?q=59&after=40")) == [59]
    found = coordinator.get("/banks/chest-bank/?q=NUMBER+59")  # in more than two letters: by the index of words
    assert (numbers(found), found.context["page"].n_found) == ([59], 1)
    assert numbers(coordinator.get("/banks/chest-bank/?q=number+59&task=presence&after=40")) == []
    before, added = Revision.objects.get(question__number=58), "Ist ein Ödem zu sehen, 100%_?"
    asked = replace(wording_of(before), stem=added)
    revise(before.question, asked, "Said so.", based_on=1, actor=cora, at=LATER)
    for words, wanted in (("odem+zu", [58]), ("100%25_", [58]), ("number+58", []), ("zzzz", []), ("zu%22+", [])):
        assert numbers(coordinator.get(f"/banks/chest-bank/?q={words}")) == wanted, words


def test_questions_are_found_by_what_they_and_their_exams_are_called_at_their_source(
    client: Client, cora: User, ada: User, bank: QuestionBank
) -> None:
    client.force_login(cora)
    for own_id, wanted in (("q7", [7]), ("study-8", [8]), ("Q7", []), ("patient-7", [])):
        assert numbers(client.get(f"/banks/chest-bank/?own_id={own_id}")) == wanted
    client.force_login(ada)
    assert len(numbers(client.get("/banks/chest-bank/?own_id=q7"))) == 50, "who knows no ids cannot ask for one"


def test_the_list_is_a_fragment_for_htmx_of_few_queries_and_tells_no_secret(
    coordinator: Client, bank: QuestionBank
) -> None:
    text = coordinator.get("/banks/chest-bank/").content.decode()
    assert not any(word in text for word in ("patient-1", "accession-1", "pa.png", "costophrenic", "No effusion."))
    for query in ("", "?task=negation", "?q=number&difficulty=unknown"):
        with CaptureQueriesContext(connection) as queries:
            part = coordinator.get(f"/banks/chest-bank/{query}", headers={"HX-Request": "true"})
        assert len(queries) <= 13, [row["sql"][:200] for row in queries]
        assert part.content.decode().lstrip().startswith('<section id="questions"')
        assert "HX-Request" in part["Vary"]


def test_a_question_with_key_explanation_and_report(coordinator: Client, bank: QuestionBank) -> None:
    response = coordinator.get("/banks/chest-bank/7/")
    text = response.content.decode()
    assert "Is there a pleural effusion, number 7?" in text
    assert "Both costophrenic angles are sharp" in text
    assert "No effusion." in text
    assert text.count('class="is-key"') == 1
    assert response.context["next_number"] == 8
    assert "patient-7" not in text
    assert "pa.png" not in text


def test_administrators_see_the_question_but_not_its_truth(administrator: Client, bank: QuestionBank) -> None:
    response = administrator.get("/banks/chest-bank/7/")
    assert response.status_code == 200
    assert "truth" not in response.context
    text = response.content.decode()
    assert not any(word in text for word in ("costophrenic angles are sharp", "No effusion.", "is-key"))


def test_texts_are_escaped(coordinator: Client, tmp_path: Path) -> None:
    hard = "</script><script>window.__xss=1</script> \u202enoisuffe\u202c"
    run_import(write_file(tmp_path, {"q": make_record(question=hard, category=hard[:50])}), bank="Hard")
    for address in ("/banks/hard/", "/banks/hard/1/"):
        assert "<script>window" not in coordinator.get(address).content.decode()


def test_the_history_of_a_question(coordinator: Client, bank: QuestionBank, tmp_path: Path) -> None:
    path = write_file(tmp_path / "new", {"q7": make_record(7, exam=7, question="Is it wider than the chest?")})
    run_import(path, bank="Chest bank")
    response = coordinator.get("/banks/chest-bank/7/")
    assert [row.number for row in response.context["revisions"]] == [2, 1]
    assert "Is there a pleural effusion, number 7?" in response.content.decode()
    assert response.context["revision"].stem == "Is it wider than the chest?"
    assert coordinator.get("/banks/chest-bank/?q=wider").context["page"].revisions[0].question.number == 7


def test_what_is_not_there_is_404(client: Client, cora: User, ada: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    for address in ("/banks/chest-bank/99/", "/banks/other/1/", "/banks/other/"):
        assert client.get(address).status_code == 404, address
    for person, act in ((cora, "archive"), (cora, "bring-back"), (ada, "delete")):
        client.force_login(person)
        assert client.post(f"/banks/other/{act}/").status_code == 404, act
    client.force_login(cora)
    BankImport.objects.update(state="running")
    assert client.get("/banks/chest-bank/7/").status_code == 404, "a question of a running import"


def test_an_administrator_deletes_a_bank(administrator: Client, bank: QuestionBank) -> None:
    asked = administrator.post("/banks/chest-bank/delete/")
    assert asked.status_code == 200
    assert "60 questions are hidden everywhere" in asked.content.decode()
    administrator.post("/banks/chest-bank/delete/", {"confirmed": "yes"})
    assert not QuestionBank.objects.exists()
    assert administrator.get("/banks/chest-bank/1/").status_code == 404
    assert not Revision.objects.current().exists()
    assert AnswerKey.objects.exists()


def test_questions_are_found_by_state_and_by_finding(client: Client, cora: User, ada: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    ids = dict(Question.objects.values_list("number", "pk"))
    Question.objects.filter(number__in=(3, 30, 55)).update(state=QuestionState.ACCEPTED)
    Question.objects.filter(number=4).update(state=QuestionState.DISPUTED)
    assert numbers(client.get("/banks/chest-bank/?state=accepted")) == [3, 30, 55]
    assert numbers(client.get("/banks/chest-bank/?state=accepted&after=3")) == [30, 55]
    assert numbers(client.get("/banks/chest-bank/?state=accepted&before=55")) == [3, 30]
    assert numbers(client.get("/banks/chest-bank/?state=imported&after=53")) == [54, 56, 57, 58, 59, 60]
    assert numbers(client.get(f"/banks/chest-bank/?state=accepted&task={Task.NEGATION}")) == [3, 55]
    assert numbers(client.get("/banks/chest-bank/?sort=state&order=desc"))[:4] != [1, 2, 3, 4]
    assert "disputed" in client.get("/banks/chest-bank/").content.decode()
    Finding.objects.all().delete()
    revision = Revision.objects.get(question=ids[7])
    found = {"bank": bank, "rule_version": 1, "place": "stem", "detail": "It says not.", "found_at": NOON}
    Finding.objects.create(revision=revision, rule="negative_stem", **found)
    Finding.objects.create(revision=Revision.objects.get(question=ids[8]), rule="longest_is_key", **found)
    assert numbers(client.get("/banks/chest-bank/?finding=any")) == [7, 8]
    assert numbers(client.get("/banks/chest-bank/?finding=negative_stem")) == [7]
    Finding.objects.filter(rule="negative_stem").update(dismissed_at=NOON)
    assert numbers(client.get("/banks/chest-bank/?finding=any")) == [8]
    client.force_login(ada)  # a finding may tell the key
    page = client.get("/banks/chest-bank/?finding=any")
    assert "finding" not in page.context["form"].fields
    assert len(numbers(page)) == 50


def test_a_flag_is_found_by_whom_it_is_not_hidden_from(client: Client, cora: User, ada: User, rita: User) -> None:
    """A coordinator who reviews in a round that is not closed learns nobody's flags by the filter."""
    review_round = make_round(rita, cora, name="Flagged")
    first = theirs(rita)[0]
    say(first, flags=[Flag.HALLUCINATED], verdict="revise")
    address = f"/banks/{review_round.plan.bank.slug}/?flag=hallucinated"
    client.force_login(cora)
    assert numbers(client.get(address)) == []
    ReviewRound.objects.update(state=RoundState.ADJUDICATION)
    assert numbers(client.get(address)) == []
    Assignment.objects.filter(reviewer=cora).update(state=AssignmentState.WITHDRAWN)
    assert numbers(client.get(address)) == [first.revision.question.number]
    assert BankSearch(review_round.plan.bank, {"flag": "hallucinated"}).revisions().count() == 0  # what all may know
    Assignment.objects.filter(reviewer=cora).update(state=AssignmentState.SUBMITTED)
    ReviewRound.objects.update(state=RoundState.CLOSED)
    assert numbers(client.get(address)) == [first.revision.question.number]
    assert numbers(client.get(address.replace("hallucinated", "key_wrong"))) == []
    say(first, verdict="accept", version=2)
    assert numbers(client.get(address)) == []  # the newest version counts
    client.force_login(ada)
    assert "flag" not in client.get(address).context["form"].fields


def test_questions_are_found_by_what_became_of_their_reviews(coordinator: Client, cora: User, rita: User) -> None:
    """The newest settlement counts; of a round in which the coordinator reviews nothing is learned before its end."""
    review_round = make_round(rita, name="Settled", n_questions=5)
    revisions = list(Revision.objects.filter(bank=review_round.plan.bank).order_by("question__number"))
    differ: list[dict[str, Any]] = [{"code": "answers_differ", "word": "", "n": 2}]
    grade: list[dict[str, Any]] = [{"code": "grade", "word": "flag", "n": 2}]
    came_about: list[dict[str, Any]] = [
        {"reasons": []},
        {"reasons": differ},
        {"reasons": grade, "decided_at": NOON},
        {"reasons": differ + grade, "decided_at": NOON, "against_all": True},
    ]
    for revision, fields in zip(revisions, came_about, strict=False):
        Settlement.objects.create(
            round=review_round, revision=revision, outcome="disputed", rule="x", settled_at=NOON, **fields
        )
    address = f"/banks/{review_round.plan.bank.slug}/?outcome="
    for value, found in {
        "by_rule": [1], "waits": [2], "decided": [3, 4], "against_all": [4], "answers_differ": [2, 4],
        "grade": [3, 4], "flag": [], "nonsense": [1, 2, 3, 4, 5],
    }.items():  # fmt: skip
        assert numbers(coordinator.get(address + value)) == found, value
    assert BankSearch(review_round.plan.bank, {"outcome": "by_rule"}).revisions().count() == 0  # what all may know
    later = make_round(cora, name="Later", bank=review_round.plan.bank, n_questions=0)
    Settlement.objects.create(
        round=later, revision=revisions[1], outcome="accepted", rule="x", reasons=[], settled_at=NOON
    )
    assert numbers(coordinator.get(address + "by_rule")) == [1, 2]
    Assignment.objects.update(reviewer=cora)
    assert numbers(coordinator.get(address + "by_rule")) == []  # a question that is theirs to judge
    ReviewRound.objects.update(state=RoundState.CLOSED)
    assert numbers(coordinator.get(address + "by_rule")) == [1, 2]
    Settlement.objects.filter(revision=revisions[2]).update(decided_at=None)
    assert numbers(coordinator.get(address + "waits")) == []
    assert numbers(coordinator.get(address + "left")) == [3]


def test_categories_are_a_tree_and_each_branch_a_filter(client: Client, cora: User, ada: User, tmp_path: Path) -> None:
    places = [("Lung", "Base", "Opacity"), ("Lung", "Apex", ""), ("Lung", "", ""), ("Heart", "", "")]
    records = {
        f"q{n}": make_record(n, exam=n, **dict(zip(("category", "subcategory", "class"), place, strict=True)))
        for n, place in enumerate(places, 1)
    }
    run_import(write_file(tmp_path, records), bank="Tree")
    bank = QuestionBank.objects.get()
    tree = category_tree(bank)
    (task,) = tree.divisions
    assert [(one.words, one.n) for one in task.divisions] == [("Heart", 1), ("Lung", 3)]
    heart, lung = task.divisions
    assert heart.divisions == []
    assert [(one.words, one.n) for one in lung.divisions] == [("Apex", 1), ("Base", 1), ("unknown", 1)]
    client.force_login(cora)
    for branch, found in {lung: [1, 2, 3], lung.divisions[1]: [1], lung.divisions[2]: [3]}.items():
        assert numbers(client.get(f"/banks/tree/?{branch.query}")) == found
        assert f'href="/banks/tree/?{escape(branch.query)}"' in client.get("/banks/tree/categories/").content.decode()
    page = client.get("/banks/tree/?category=Lung&subcategory=Base&question_class=Opacity")
    assert numbers(page) == [1]
    assert "Class: Opacity" in page.content.decode()
    assert [one.name for one in page.context["form"].divisions] == ["subcategory", "question_class"]
    assert numbers(client.get("/banks/tree/?category=Heart&subcategory=Base")) == [4]  # of another category
    assert client.get("/banks/tree/?category=Heart").context["form"].divisions == []
    part = client.get("/banks/tree/?category=Lung", headers={"HX-Request": "true"}).content.decode()
    assert 'id="divisions" class="fields-row" hx-swap-oob="true"' in part
    edited = wording_of(Revision.objects.get(question__number=3))
    revise(
        Question.objects.get(number=3), replace(edited, subcategory="Hilum"), "Plain.", based_on=1, actor=cora, at=LATER
    )
    assert numbers(client.get("/banks/tree/?category=Lung&subcategory=Hilum")) == [3]  # at once
    client.force_login(ada)
    assert client.get("/banks/tree/categories/").status_code == 200
    assert client.get("/banks/tree/categories/two.svg").status_code == 200
    assert client.get("/banks/none/categories/").status_code == 404


def test_the_taxonomy_of_a_bank_as_a_figure(coordinator: Client, bank: QuestionBank) -> None:
    page = coordinator.get("/banks/chest-bank/categories/").content.decode()
    for width in ("one", "two"):
        for form in ("svg", "pdf", "png"):
            address = f"/banks/chest-bank/categories/{width}.{form}"
            assert address in page
            assert coordinator.get(address).status_code == 200
    answer = coordinator.get("/banks/chest-bank/categories/two.svg")
    assert answer["Content-Disposition"] == 'attachment; filename="chest-bank-taxonomy-two-columns.svg"'
    svg = answer.content.decode()
    tree = category_tree(bank)
    for task in tree.divisions:
        assert f">{task.words}<" in svg
        assert all(f">{one.words}<" in svg for one in task.divisions)
    assert coordinator.get("/banks/chest-bank/categories/three.svg").status_code == 404
    assert coordinator.get("/banks/chest-bank/categories/two.gif").status_code == 404
    with CaptureQueriesContext(connection) as queries:
        coordinator.get("/banks/chest-bank/categories/")
    assert len(queries) == 6  # session, person, role, bank, its imports, the counts: the tree by one query


def test_small_categories_of_a_domain_are_one_row() -> None:
    many = Domain("Presence", 66, [(f"C{n:02}", n) for n in range(1, 12)])
    assert many.rows("%(n)s others") == [*((f"C{n:02}", n) for n in range(11, 3, -1)), ("3 others", 6)]
    assert len(Domain("Presence", 45, many.categories[:9]).rows("%(n)s others")) == 9, "one is not summed up"
