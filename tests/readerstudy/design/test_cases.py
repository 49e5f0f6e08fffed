"""The step of the cases: looked at first, then stored as they were seen."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import IdentifierKind, Task
from annotation.hashes import identifier_digest
from annotation.models import Revision, SourceIdentifier, User
from readerstudy.design.drafting import update_assumptions
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.documents import read_rules
from readerstudy.models import ReaderStudy, StudyCase
from tests.annotation.review.cases import make_revision
from tests.conftest import NOON
from tests.readerstudy.design.drafts import make_draft, study_coordinator
from tests.readerstudy.design.made import same_patient
from tests.sweeps import share

ADDRESS = "/studies/trial/cases/"
REASON = "read by two of us"


def asked(**changes: Any) -> dict[str, Any]:
    """What the browser sends for a draw of six of the twelve questions."""
    sent = {"how": "draw", "n": "6", "seed": "7", "n_practice": "2", "n_sets": "1", "n_shared": "0"}
    return {**sent, "accepted_because": REASON, "do": "preview", **changes}


def look_and_store(client: Client, **changes: Any) -> Any:
    """Preview, then store what was seen."""
    choice = client.post(ADDRESS, asked(**changes)).context["choice"]
    return client.post(ADDRESS, asked(**{**changes, "do": "store", "seen": choice.sha256}))


def test_the_pool_is_counted_by_task_and_difficulty(coordinator: Client, draft: ReaderStudy) -> None:
    page = coordinator.get(ADDRESS)
    assert (page.context["pool"].n_accepted, page.context["pool"].n_other) == (0, 12)
    rows = {row["task"]: [column["pool"].n for column in row["columns"]] for row in page.context["pool_rows"]}
    in_bank = Revision.objects.filter(bank=draft.bank)
    assert rows[Task.PRESENCE] == [
        in_bank.filter(task=Task.PRESENCE, **({"difficulty": level} if level != "any" else {})).count()
        for level in ("any", "easy", "medium", "hard", "")
    ]
    assert rows["any"][0] == 12
    geometric = in_bank.filter(task=Task.GEOMETRIC).count()
    assert page.context["rare"][0] == (Task.GEOMETRIC, 200 * geometric / 12)


def test_a_preview_stores_nothing(coordinator: Client, draft: ReaderStudy) -> None:
    before = list(StudyCase.objects.values_list("pk", flat=True))
    page = coordinator.post(ADDRESS, asked())
    assert page.status_code == 200
    assert len(page.context["choice"].main) == 6
    assert "Store these 6 cases" in page.content.decode()
    draft.refresh_from_db()
    assert (draft.draw, draft.seed) == ({}, 1)
    assert list(StudyCase.objects.values_list("pk", flat=True)) == before


def test_a_preview_shows_the_practice_block_as_well(coordinator: Client, draft: ReaderStudy) -> None:
    page = coordinator.post(ADDRESS, asked(how="list", numbers="9, 3, 5", practice_numbers="1"))
    shown = page.content.decode().partition("<h3>Questions</h3>")[2].partition("</table>")[0]
    assert "All of them, as numbered in the study" in shown
    assert re.findall(r"/(\d+)/\">", shown) == ["9", "3", "5", "1"]
    numbered = re.findall(r'<td class="number">(?:<span class="tag">(practice)</span> )?(\d+)</td>', shown)
    assert numbered == [("", "1"), ("", "2"), ("", "3"), ("practice", "1")]


def test_a_preview_says_how_many_of_which_block_it_shows(
    coordinator: Client, draft: ReaderStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readerstudy.views.design.drafts.LOOKED_AT", 2)
    page = coordinator.post(ADDRESS, asked()).content.decode()
    assert "The first 2 of 6, and the 2 to practise; all of them are listed here once they are stored" in page
    page = coordinator.post(ADDRESS, asked(n_practice="0")).content.decode()
    assert "The first 2 of 6; all of them are listed here once they are stored" in page


def test_the_fragment_is_the_preview_alone(coordinator: Client, draft: ReaderStudy) -> None:
    answer = coordinator.post(ADDRESS, asked(), headers={"HX-Request": "true"})
    assert answer.content.decode().lstrip().startswith('<section id="cases-preview"')
    assert "HX-Request" in answer.headers["Vary"]
    answer = coordinator.post(ADDRESS, asked(n="0"), headers={"HX-Request": "true"})
    assert answer.status_code == 200  # HTMX shows nothing of a 422
    assert "Cases to draw:" in answer.content.decode()


def test_what_was_seen_is_stored(coordinator: Client, draft: ReaderStudy) -> None:
    choice = coordinator.post(ADDRESS, asked()).context["choice"]
    answer = look_and_store(coordinator)
    assert answer.status_code == 302, answer.context["form"].errors
    draft.refresh_from_db()
    assert draft.seed == 7
    main = draft.cases.filter(block="main").order_by("number")
    assert list(main.values_list("revision_id", flat=True)) == [one.revision_id for one in choice.main]
    assert draft.cases.filter(block="practice").count() == 2
    assert set(draft.cases.values_list("accepted_because", flat=True)) == {REASON}
    page = coordinator.get(ADDRESS)
    assert page.context["form"]["n"].value() == 6
    assert "drawn by rule" in page.content.decode()


def test_other_cases_than_those_seen_are_not_stored(coordinator: Client, draft: ReaderStudy) -> None:
    seen = coordinator.post(ADDRESS, asked()).context["choice"].sha256
    answer = coordinator.post(ADDRESS, asked(seed="8", do="store", seen=seen))
    assert answer.status_code == 422
    assert "check the new ones" in answer.content.decode()
    assert answer.context["choice"].sha256 != seen
    assert "drawn by rule" not in answer.content.decode()  # of the cases that stand
    draft.refresh_from_db()
    assert (draft.draw, draft.seed, draft.cases.count()) == ({}, 1, 4)


def test_quotas_change_the_mix_and_the_page_says_so(coordinator: Client, draft: ReaderStudy) -> None:
    held = Revision.objects.filter(bank=draft.bank, task=Task.GEOMETRIC).count()
    page = coordinator.post(ADDRESS, asked(n="4", n_practice="0", **{"quota-geometric-any": str(held)}))
    row = next(row for row in page.context["effect"].rows if row.name == Task.GEOMETRIC)
    assert row.n_study == held
    assert page.context["effect"].changes_the_mix
    assert "do not have the mix of the pool" in page.content.decode()
    look_and_store(coordinator, n="4", n_practice="0", **{"quota-geometric-any": str(held)})
    assert coordinator.get(ADDRESS).context["form"]["quota-geometric-any"].value() == held


def test_what_the_pool_cannot_give_is_refused(coordinator: Client, draft: ReaderStudy) -> None:
    """Too many of a task; and, without a reason, questions that no review has accepted."""
    quota, no_reason = {"quota-geometric-any": "6"}, {"accepted_because": ""}
    for changes, words in ((quota, "asks for 6 questions"), (no_reason, "only 0 questions qualify")):
        answer = coordinator.post(ADDRESS, asked(**changes))
        assert answer.status_code == 422
        assert words in answer.content.decode()
        assert "choice" not in answer.context


def test_sets_overlap_as_asked(coordinator: Client, draft: ReaderStudy) -> None:
    page = coordinator.post(ADDRESS, asked(n="8", n_practice="0", n_sets="2", n_shared="4"))
    assert page.context["set_sizes"] == [6, 6]
    forecast = page.context["forecast"]
    assert (forecast.n, forecast.n_cases, forecast.n_readers) == (6, 8, 3)
    assert look_and_store(coordinator, n="8", n_practice="0", n_sets="2", n_shared="4").status_code == 302
    assert [one.cases.count() for one in draft.sets.order_by("number")] == [6, 6]


def test_one_question_per_patient_unless_asked_otherwise(coordinator: Client, draft: ReaderStudy) -> None:
    same_patient(draft.bank, *range(1, 13))
    assert coordinator.post(ADDRESS, asked(n="2", n_practice="0")).status_code == 422
    sent = {"n": "2", "n_practice": "0", "several_per_patient": "on"}
    assert look_and_store(coordinator, **sent).status_code == 302
    draft.refresh_from_db()
    assert read_rules(draft.rules).several_per_patient
    assert coordinator.get(ADDRESS).context["form"]["several_per_patient"].value() is True


def test_a_list_of_questions(coordinator: Client, draft: ReaderStudy) -> None:
    sent = {"how": "list", "numbers": "9, 3\n5", "practice_numbers": "1"}
    page = coordinator.post(ADDRESS, asked(**sent))
    assert [one.number for one in page.context["choice"].main] == [9, 3, 5]
    assert look_and_store(coordinator, **sent).status_code == 302
    stored = draft.cases.filter(block="main").order_by("number").values_list("revision__question__number", flat=True)
    assert list(stored) == [9, 3, 5]
    draft.refresh_from_db()
    assert (draft.draw, draft.seed) == ({}, 7)


def test_a_list_says_what_needs_a_reason_and_who_comes_twice(coordinator: Client, draft: ReaderStudy) -> None:
    same_patient(draft.bank, 3, 5)
    page = coordinator.post(ADDRESS, asked(how="list", numbers="9 3 5", accepted_because="")).content.decode()
    assert "3 questions are not accepted by their reviews" in page
    assert "Give a reason to take them" in page
    assert "Some questions share a patient:" in page
    assert "3, 5" in page


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"n": ""}, "n"),
        ({"n": "-1"}, "n"),
        ({"seed": "x"}, "seed"),
        ({"seed": str(2**63)}, "seed"),
        ({"n_sets": "0"}, "n_sets"),
        ({"how": "guess"}, "how"),
        ({"how": "list", "numbers": ""}, "numbers"),
        ({"how": "list", "numbers": "3 three"}, "numbers"),
        ({"how": "list", "numbers": "3, 3"}, "numbers"),
        ({"how": "list", "numbers": "²"}, "numbers"),
        ({"how": "list", "numbers": "999"}, "numbers"),
        ({"how": "list", "numbers": "3", "practice_numbers": "3"}, "__all__"),
        ({"n_shared": "7"}, "__all__"),
        ({"quota-geometric-any": "some"}, "quota-geometric-any"),
        ({"quota-geometric-any": "1", "quota-any-easy": "1"}, "__all__"),
    ],
)
def test_what_cannot_be_is_refused_beside_its_field(
    coordinator: Client, draft: ReaderStudy, changes: dict[str, Any], field: str
) -> None:
    for do in ("preview", "store"):
        answer = coordinator.post(ADDRESS, asked(**{**changes, "do": do}))
        assert answer.status_code == 422
        assert list(answer.context["form"].errors) == [field]
    assert draft.cases.count() == 4


def test_the_forecast_follows_the_stored_assumptions(coordinator: Client, draft: ReaderStudy, cora: User) -> None:
    plain = coordinator.post(ADDRESS, asked()).context["forecast"]
    update_assumptions(draft, Assumptions(accuracy=0.5, delta=0.2), actor=cora, at=NOON)
    answer = coordinator.post(ADDRESS, asked())
    other = answer.context["forecast"]
    assert (plain.assumed.accuracy, other.assumed.accuracy) == (0.75, 0.5)
    assert other.overall.width > plain.overall.width
    page = answer.content.decode()
    assert "Wilson" in page
    assert "true difference 20.0 percentage points" in page
    assert "/studies/trial/forecast/" in page


def test_a_frozen_design_shows_its_cases_only(coordinator: Client, draft: ReaderStudy, cora: User) -> None:
    freeze_study(draft, actor=cora, at=NOON)
    page = coordinator.get(ADDRESS)
    assert "<form" not in page.content.decode().partition("<main")[2]
    assert len(page.context["page"].object_list) == 4
    answer = coordinator.post(ADDRESS, asked(do="store", seen="x"))
    assert answer.status_code == 422
    assert draft.cases.count() == 4


def test_stems_are_escaped(coordinator: Client, draft: ReaderStudy) -> None:
    make_revision(draft.bank, 99, stem="<img src=x onerror=alert(1)>")
    page = coordinator.post(ADDRESS, asked(how="list", numbers="99")).content.decode()
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


@pytest.mark.parametrize("n", [3, 9])
def test_the_page_costs_as_much_for_many_cases(
    coordinator: Client, cora: User, n: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_draft(cora, n=n)
    with django_assert_max_num_queries(26):
        coordinator.get(ADDRESS)


def mark_on(page: str) -> str:
    found = re.search(r'name="before" value="(\w{64})"', page)
    assert found
    return found[1]


LISTED = {"how": "list", "numbers": "9, 3, 5", "practice_numbers": "1"}


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("first", "second", "differs"),
    share(
        [
            ({"seed": "7"}, {"seed": "8"}, "Cases, Seed"),
            ({"n": "6"}, {"n": "5"}, "Cases, Cases to draw"),
            ({}, LISTED, "Cases"),
            (LISTED, {}, "Cases"),
            (LISTED, {**LISTED, "numbers": "9, 3, 6"}, "Cases"),
            (LISTED, {**LISTED, "practice_numbers": ""}, "Cases"),
            (LISTED, {**LISTED, "accepted_because": "other"}, "Reason to take questions that no review has accepted"),
        ]
    ),
)
def test_two_coordinators_do_not_replace_each_others_cases(
    coordinator: Client, draft: ReaderStudy, first: dict[str, str], second: dict[str, str], differs: str
) -> None:
    """The second is told once what differs, over what stands now; storing again is their decision."""
    before = mark_on(coordinator.get(ADDRESS).content.decode())
    assert look_and_store(coordinator, **first, before=before).status_code == 302
    assert look_and_store(coordinator, **first, before=before).status_code == 302  # a double click
    stored = list(draft.cases.order_by("number").values_list("revision_id", "accepted_because"))
    preview = coordinator.post(ADDRESS, asked(**second, before=before))
    assert mark_on(preview.content.decode()) == before  # to look at a choice is not to look at what stands
    answer = look_and_store(coordinator, **second, before=before)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert f"they differ in: {differs}." in page.partition('id="cases-form"')[0]  # at the top, where the page opens
    assert page.count("they differ in") == 1
    assert answer.context["choice"].main
    assert list(draft.cases.order_by("number").values_list("revision_id", "accepted_because")) == stored
    assert look_and_store(coordinator, **second, before=mark_on(page)).status_code == 302
    assert list(draft.cases.order_by("number").values_list("revision_id", "accepted_because")) != stored


def test_a_stored_list_is_shown_again_as_a_list(coordinator: Client, draft: ReaderStudy) -> None:
    look_and_store(coordinator, **LISTED)
    form = coordinator.get(ADDRESS).context["form"]
    shown = {name: form[name].value() for name in ("how", "numbers", "practice_numbers", "accepted_because")}
    assert shown == {"how": "list", "numbers": "#9 #3 #5", "practice_numbers": "#1", "accepted_because": REASON}
    choice = coordinator.post(ADDRESS, asked(**shown)).context["choice"]
    assert [one.number for one in (*choice.main, *choice.practice)] == [9, 3, 5, 1]
    look_and_store(coordinator)
    form = coordinator.get(ADDRESS).context["form"]
    assert (form["how"].value(), form["numbers"].value()) == ("draw", None)


def test_without_cases_they_are_drawn_unless_asked_otherwise(coordinator: Client, draft: ReaderStudy) -> None:
    draft.cases.all().delete()
    assert coordinator.get(ADDRESS).context["form"]["how"].value() == "draw"


def test_a_list_takes_own_ids_numbers_and_ranges(
    coordinator: Client, client: Client, draft: ReaderStudy, cora: User
) -> None:
    question = Revision.objects.get(question__number=9, bank=draft.bank).question
    digest = identifier_digest(IdentifierKind.QUESTION_KEY, "mine 9")
    named = {"value": "mine 9", "bank": draft.bank, "question_id": question.pk}
    SourceIdentifier.objects.create(digest=digest, kind=IdentifierKind.QUESTION_KEY, **named)
    page = coordinator.post(ADDRESS, asked(how="list", numbers="3-5, 1\nmine 9", practice_numbers="#8"))
    assert [one.number for one in page.context["choice"].main] == [3, 4, 5, 1, 9]
    assert [one.number for one in page.context["choice"].practice] == [8]
    assert "mine 9" in page.content.decode()
    client.force_login(study_coordinator(draft))
    page = client.post(ADDRESS, asked(how="list", numbers="9"))
    assert "mine 9" not in page.content.decode()
    for wrong, told in (("5-3", "smaller number first"), ("nobody's", "no such question: nobody")):
        errors = coordinator.post(ADDRESS, asked(how="list", numbers=wrong)).context["form"].errors
        assert told in str(errors["numbers"])
