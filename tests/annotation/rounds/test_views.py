"""The pages of rounds: what coordinators see and do, and who sees nothing."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Flag, KeySource, Role, RoundState
from annotation.models import Assignment, AuditEvent, BlindAnswer, Membership, ReviewRound, SeenKey, User
from annotation.review.ending import close_round
from annotation.review.rounds import create_round
from tests.annotation.rounds.made import make_open, make_sample, say, theirs
from tests.conftest import make_person


@pytest.fixture
def opened(db: None, cora: User, rita: User, remo: User) -> ReviewRound:
    made = make_open(12, rita, remo, actor=cora, reviewers_per_question=2)
    say(theirs(rita)[0], flags=[Flag.SEVERAL_VALID], comment="A very long comment. " * 200)
    return made


def test_administrators_see_how_it_goes_and_not_what_was_said(client: Client, opened: ReviewRound, ada: User) -> None:
    client.force_login(ada)
    assert "outcomes" not in client.get("/rounds/round/").context


def test_the_list_of_rounds(client: Client, opened: ReviewRound, cora: User, noon: datetime) -> None:
    ruth = make_person("Ruth")
    Membership.objects.create(user=ruth, role=Role.COORDINATOR, round=opened, granted_at=noon)
    other = create_round(make_sample(3, name="B"), name="Other", reviewers=[], actor=cora, at=noon)
    client.force_login(ruth)
    [row] = client.get("/rounds/").context["page"]
    assert (row.n_assignments, row.n_submitted, row.n_reviewers) == (24, 1, 2)
    client.force_login(cora)
    assert set(client.get("/rounds/").context["page"]) == {opened, other}


def test_making_a_round(coordinator: Client, cora: User, rita: User, remo: User) -> None:
    plan = make_sample(12)
    people = [rita.pk, remo.pk]
    fields = {"name": "New one", "sample": plan.slug, "reviewers": people, "per_question": "2", "steps": "full"}
    fields["seed"] = "3"
    assert coordinator.get(f"/rounds/new/?sample={plan.slug}").status_code == 200
    answer = coordinator.post("/rounds/new/", fields)
    assert answer.url == "/rounds/new-one/"  # type: ignore[attr-defined]
    made = ReviewRound.objects.get()
    assert (made.seed, made.created_by, made.assignments.count()) == (3, cora, 24)
    answer = coordinator.post("/rounds/new/", {**fields, "name": "Two", "reviewers": [rita.pk]})
    assert answer.status_code == 422
    assert "needs 2 different reviewers" in answer.content.decode()
    answer = coordinator.post("/rounds/new/", fields)
    assert list(answer.context["form"].errors) == ["name"]  # which is taken
    answer = coordinator.post("/rounds/new/", {**fields, "name": "Two", "steps": "none", "seed": "-1", "sample": "x"})
    assert set(answer.context["form"].errors) == {"steps", "seed", "sample"}
    assert ReviewRound.objects.count() == 1


def test_a_draft_is_assigned_and_opened_on_its_page(
    coordinator: Client, cora: User, rita: User, noon: datetime
) -> None:
    made = create_round(make_sample(6), name="Round", reviewers=[], actor=cora, at=noon)
    assert coordinator.get("/rounds/round/").status_code == 200
    coordinator.post("/rounds/round/assign/", {"reviewers": [rita.pk]})
    assert len(theirs(rita)) == 6
    coordinator.post("/rounds/round/open/")
    made.refresh_from_db()
    assert made.state == RoundState.OPEN
    answer = coordinator.post("/rounds/round/assign/", {"reviewers": [rita.pk]}, follow=True)
    assert "The round is open: add, remove or reassign" in answer.content.decode()


def test_outcomes_stand_with_n_and_interval_by_the_rule_that_is_chosen(
    coordinator: Client, opened: ReviewRound
) -> None:
    said = coordinator.get("/rounds/round/").content.decode()
    one_flagged = "100.00\N{NO-BREAK SPACE}%"  # of the one that is reviewed
    for words in ("interim", "Multiple valid answers", one_flagged, "1 of 12 questions are reviewed", "small n"):
        assert words in said
    page = coordinator.get("/rounds/round/?rule=all", headers={"HX-Request": "true"})
    assert page.content.strip().startswith(b'<section id="outcomes"')
    assert page.context["outcomes"].any_issue.share.n == 0
    assert "HX-Request" in page["Vary"]
    assert coordinator.get("/rounds/round/?rule=nonsense").context["outcomes"].rule == "any"


def test_a_coordinator_who_reviews_is_blinded(
    client: Client, opened: ReviewRound, rita: User, remo: User, cora: User, noon: datetime
) -> None:
    Membership.objects.create(user=remo, role=Role.COORDINATOR, round=opened, granted_at=noon)
    client.force_login(remo)
    page = client.get("/rounds/round/")
    assert page.context["outcomes"] is None
    assert client.get("/rounds/round/export/jsonl/").status_code == 403
    assert client.get("/rounds/round/outcomes/one.pdf").status_code == 403
    assert client.get("/rounds/round/grades/one.pdf").status_code == 403
    theirs_page = client.get(f"/rounds/round/reviewers/{rita.pk}/")
    assert theirs_page.context["reviews"] == []
    assert b"A very long comment" not in theirs_page.content
    close_round(opened, actor=cora, at=noon, confirmed_open=23)
    assert client.get("/rounds/round/").context["outcomes"].n_reviews == 1


def test_past_reviews_of_a_reviewer(coordinator: Client, opened: ReviewRound, rita: User, stan: User) -> None:
    page = coordinator.get(f"/rounds/round/reviewers/{rita.pk}/")
    [one] = page.context["reviews"]
    assert (one["review"].version, one["key"]) == (1, "B")
    assert len(page.context["open_assignments"]) == 11
    assert coordinator.get(f"/rounds/round/reviewers/{stan.pk}/").status_code == 404


def test_adding_reassigning_and_removing(coordinator: Client, opened: ReviewRound, rita: User, remo: User) -> None:
    stan, mia = make_person("Stan"), make_person("Mia", Role.REVIEWER)
    answer = coordinator.post("/rounds/round/reviewers/add/", {"add-person": stan.pk}, follow=True)
    assert "may review in this round" in answer.content.decode()
    assert theirs(stan) == []
    coordinator.post("/rounds/round/reviewers/add/", {"add-person": mia.pk})
    n_mia = len(theirs(mia))
    assert n_mia == 7
    has = {one.revision_id for one in theirs(mia)}
    movable = [one.public_id for one in theirs(rita)[1:] if one.revision_id not in has][:2]
    coordinator.post(f"/rounds/round/reviewers/{rita.pk}/reassign/", {"assignment": movable, "to-person": mia.pk})
    assert len(theirs(mia)) == n_mia + 2
    answer = coordinator.post(f"/rounds/round/reviewers/{rita.pk}/reassign/", {"to-person": mia.pk}, follow=True)
    assert "Select at least one" in answer.content.decode()
    takes_rita = {"takes-person": rita.pk}
    answer = coordinator.post(f"/rounds/round/reviewers/{remo.pk}/remove/", takes_rita, follow=True)
    assert "cannot go to Rita: name somebody else" in answer.content.decode()
    coordinator.post(f"/rounds/round/reviewers/{remo.pk}/remove/")
    assert theirs(remo) == []
    assert coordinator.get("/rounds/round/").status_code == 200


def test_all_open_questions_of_a_reviewer_go_at_once(
    coordinator: Client, opened: ReviewRound, rita: User, remo: User, noon: datetime
) -> None:
    mia = make_person("Mia", Role.REVIEWER)
    coordinator.post("/rounds/round/reviewers/add/", {"add-person": mia.pk})
    has = {one.revision_id for one in theirs(mia)}
    going = [one for one in theirs(rita)[1:] if one.revision_id not in has]
    first = going[0]
    Assignment.objects.filter(pk=first.pk).update(opened_at=noon)
    BlindAnswer.objects.create(assignment=first, best="B", defensible=["B"], difficulty="easy", answered_at=noon)
    address = f"/rounds/round/reviewers/{rita.pk}/reassign/"
    n_open, n_stay = len(theirs(rita)) - 1, len(theirs(rita)) - 1 - len(going)
    assert n_stay > 0
    page = coordinator.get(f"/rounds/round/reviewers/{rita.pk}/").content.decode()
    assert f"Reassign all {n_open} open" in page
    asked = coordinator.post(address, {"all": "yes", "to-person": mia.pk})
    said = asked.content.decode()
    assert asked.status_code == 200
    assert f"{len(going)} of {n_open} open questions of Rita go to Mia" in said
    assert "1 of them was opened by Rita" in said
    assert "since they cannot go to Mia. Mia has it, or had it, in this round." in said
    assert len(theirs(mia)) == len(has)  # nothing went yet
    for wrong in (str(len(going) + 1), "x", "²"):
        again = coordinator.post(address, {"all": "yes", "to-person": mia.pk, "confirmed_all": wrong})
        assert again.status_code == 200
    coordinator.post(address, {"all": "yes", "to-person": mia.pk, "confirmed_all": str(len(going))})
    given = [one for one in theirs(mia) if one.revision_id in {one.revision_id for one in going}]
    assert len(given) == len(going)
    assert not BlindAnswer.objects.filter(assignment__in=given).exists()
    assert len(theirs(rita)) == 1 + n_stay
    answer = coordinator.post(address, {"all": "yes", "to-person": mia.pk}, follow=True)
    assert "since they cannot go to Mia" in answer.content.decode()
    assert AuditEvent.objects.filter(act="round.reassigned").count() == 1


def test_all_open_questions_leave_with_those_out_that_the_taker_has_the_key_of(
    coordinator: Client, opened: ReviewRound, rita: User, noon: datetime
) -> None:
    mia = make_person("Mia", Role.REVIEWER)
    known = theirs(rita)[2].revision.question
    SeenKey.objects.create(person=mia, question=known, source=KeySource.QUESTION_PAGE, seen_at=noon)
    address = f"/rounds/round/reviewers/{rita.pk}/reassign/"
    asked = coordinator.post(address, {"all": "yes", "to-person": mia.pk}).content.decode()
    assert f"Question {known.number} stays with Rita" in asked
    coordinator.post(address, {"all": "yes", "to-person": mia.pk, "confirmed_all": "10"})
    assert known.pk not in {one.revision.question_id for one in theirs(mia)}
    assert len(theirs(mia)) == 10


def test_closing_says_how_many_are_open_and_asks(coordinator: Client, opened: ReviewRound) -> None:
    for wrong in ({}, {"confirmed_open": "22"}, {"confirmed_open": "²"}, {"confirmed_open": "-1"}):
        answer = coordinator.post("/rounds/round/close/", wrong)
        assert answer.status_code == 200
        assert "23 assigned questions are not reviewed yet" in answer.content.decode()
    coordinator.post("/rounds/round/close/", {"confirmed_open": "23"})
    opened.refresh_from_db()
    assert opened.state == RoundState.CLOSED
    coordinator.post("/rounds/round/archive/")
    assert list(coordinator.get("/rounds/").context["page"]) == []
    assert list(coordinator.get("/rounds/?archived").context["page"]) == [opened]


def test_only_administrators_delete_and_only_without_answers(
    client: Client, opened: ReviewRound, cora: User, ada: User, noon: datetime
) -> None:
    client.force_login(ada)
    assert client.post("/rounds/none/delete/").status_code == 404
    client.post("/rounds/round/delete/", {"confirmed": "yes"})
    assert ReviewRound.objects.exists()
    create_round(make_sample(3, name="B"), name="Empty", reviewers=[], actor=cora, at=noon)
    client.post("/rounds/empty/delete/", {"confirmed": "yes"})
    assert list(ReviewRound.objects.all()) == [opened]


def test_downloads(coordinator: Client, opened: ReviewRound) -> None:
    kinds = {"csv": "text/csv", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}
    for form, kind in kinds.items():
        first, second = (coordinator.get(f"/rounds/round/export/{form}/") for _twice in range(2))
        assert first["Content-Type"].startswith(kind)
        assert f"round-reviews.{form}" in first["Content-Disposition"]
        assert first.getvalue() == second.getvalue()
    assert coordinator.get("/rounds/round/export/ods/").status_code == 404


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("outcomes", (">Any flag at all<", ">% (95% CI)<", "font-family: Arial")),
        ("grades", (">Clinical quality<", ">cannot judge<", ">100.0<")),
    ],
)
def test_figures_stand_on_the_page_and_are_there_for_print(
    coordinator: Client, opened: ReviewRound, name: str, words: tuple[str, ...]
) -> None:
    place = f"/rounds/round/{name}"
    assert f'src="{place}/two.svg' in coordinator.get("/rounds/round/").content.decode()
    first = coordinator.get(f"{place}/two.svg")
    assert first["Content-Type"] == "image/svg+xml"
    assert [one for one in words if one not in first.content.decode()] == []
    assert coordinator.get(f"{place}/two.svg").content == first.content
    assert first["Content-Disposition"] == f'attachment; filename="round-{name}-two-columns.svg"'
    assert coordinator.get(f"{place}/one.pdf").content.startswith(b"%PDF")
    assert coordinator.get(f"{place}/one.png").content.startswith(b"\x89PNG")
    for wrong in ("three.svg", "two.gif"):
        assert coordinator.get(f"{place}/{wrong}").status_code == 404


def test_the_pages_cost_the_same_however_long_the_round(
    coordinator: Client,
    opened: ReviewRound,
    rita: User,
    remo: User,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for one in theirs(rita)[1:] + theirs(remo):
        say(one, flags=[Flag.OTHER])
    with django_assert_max_num_queries(39):
        coordinator.get("/rounds/round/")
    with django_assert_max_num_queries(22):
        coordinator.get(f"/rounds/round/reviewers/{rita.pk}/")
    with django_assert_max_num_queries(7):
        coordinator.get("/rounds/")


@pytest.mark.logs("round.changed")
def test_a_draft_is_edited_and_an_open_round_is_not(
    coordinator: Client, cora: User, rita: User, opened: ReviewRound, noon: datetime
) -> None:
    other = make_sample(4, name="Other")
    draft = create_round(make_sample(3, name="B"), name="Draft", reviewers=[rita], actor=cora, at=noon)
    sent = {"name": "Winter", "sample": "b", "steps": "full", "instructions": "Judge as for residents."}
    sent |= {"per_question": "1", "seed": "1"}
    assert coordinator.get("/rounds/draft/edit/").context["form"].initial["name"] == "Draft"
    assert coordinator.post("/rounds/draft/edit/", sent).status_code == 302
    draft.refresh_from_db()
    assert (draft.name, draft.instructions, draft.assignments.count()) == ("Winter", "Judge as for residents.", 3)
    coordinator.post("/rounds/draft/edit/", {**sent, "sample": "other"})
    draft.refresh_from_db()
    assert (draft.plan, draft.assignments.count()) == (other, 0)
    taken = coordinator.post("/rounds/draft/edit/", {**sent, "sample": "other", "name": opened.name})
    assert taken.status_code == 422
    assert list(taken.context["form"].errors) == ["name"]
    assert coordinator.post("/rounds/round/edit/", sent)["Location"] == "/rounds/round/"
    opened.refresh_from_db()
    assert opened.name != "Winter"


def test_instructions_stand_before_the_first_question(client: Client, opened: ReviewRound, rita: User) -> None:
    client.force_login(rita)
    begin = "/review/rounds/round/continue/"
    assert client.get(begin)["Location"].startswith("/review/")
    ReviewRound.objects.update(instructions="Judge as for residents.")
    Assignment.objects.filter(reviewer=rita).update(opened_at=None)
    assert client.get(begin)["Location"] == "/review/rounds/round/"
    page = client.get("/review/rounds/round/").content.decode()
    assert "Judge as for residents." in page
    assert f'href="{begin}?begin"' in page
    case = client.get(f"{begin}?begin")["Location"]
    client.get(case)
    assert client.get(begin)["Location"] == case
