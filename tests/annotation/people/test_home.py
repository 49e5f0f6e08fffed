from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import AssignmentState, ImageState, JobState, Role, RoundState
from annotation.models import Exam, Image, Job, Membership, QuestionBank, ReviewRound, User
from annotation.people.invitations import Grant, invite
from annotation.people.open_work import NextStep, WorkItem, WorkSection
from annotation.review.home import Administration, OpenWork, open_work_of
from annotation.views.site.home import next_step
from tests.annotation.people.conftest import make_round
from tests.contributing import contribute, contribute_only

WAITING, SKIPPED, SUBMITTED, WITHDRAWN = (
    AssignmentState.WAITING,
    AssignmentState.SKIPPED,
    AssignmentState.SUBMITTED,
    AssignmentState.WITHDRAWN,
)
Assign = Callable[..., None]


def home(client: Client, person: User) -> str:
    client.force_login(person)
    response = client.get("/")
    assert response.status_code == 200
    return response.content.decode().split("</dialog>")[-1]  # what asks before logging out is on every page


def test_a_reviewer_sees_what_is_left_and_one_button(
    client: Client, rita: User, remo: User, open_round: ReviewRound, assign: Assign
) -> None:
    assign(open_round, rita, SUBMITTED, WAITING, SKIPPED, WITHDRAWN)
    assign(open_round, remo, WAITING)
    page = home(client, rita)
    assert "2 questions left in “Spring”" in page
    assert 'href="/review/rounds/spring/continue/"' in page
    assert page.count("button primary") == 1
    assert "1 of 3" in page
    assert "This site" not in page
    assert "Question banks" not in page


def test_rounds_that_are_done_come_last_and_offer_no_button(
    client: Client, rita: User, bank: QuestionBank, assign: Assign, noon: datetime
) -> None:
    done = make_round(bank, "Done", RoundState.OPEN, noon)
    left = make_round(bank, "Left", RoundState.OPEN, noon)
    for name, state in (("Draft", RoundState.DRAFT), ("Closed", RoundState.CLOSED)):
        assign(make_round(bank, name, state, noon), rita, WAITING)
    assign(done, rita, SUBMITTED)
    assign(left, rita, WAITING)
    [reviews] = open_work_of(rita, noon).work
    assert [(item.name, item.words) for item in reviews.items] == [("Left", ""), ("Done", "all done")]
    left.state = RoundState.CLOSED
    left.save()
    page = home(client, rita)
    assert "All your reviews are in" in page
    assert "button primary" not in page


def test_a_stranger_learns_whom_to_ask(client: Client, stan: User) -> None:
    assert "Your account has no role yet" in home(client, stan)


def test_who_is_invited_to_one_round_waits_for_its_opening(
    client: Client, stan: User, open_round: ReviewRound, noon: datetime
) -> None:
    Membership.objects.create(user=stan, role=Role.REVIEWER, round=open_round, granted_at=noon)
    page = home(client, stan)
    assert "When a round opens with questions for you, they appear here." in page
    assert "no role yet" not in page


def test_a_coordinator_sees_rounds_banks_quarantine_and_jobs(
    client: Client, cora: User, rita: User, open_round: ReviewRound, assign: Assign, noon: datetime
) -> None:
    assign(open_round, rita, SUBMITTED, WAITING, WITHDRAWN)
    Image.objects.create(exam=Exam.objects.get(), state=ImageState.QUARANTINED)
    Job.objects.create(kind="x", title="Import of <b>chest</b>", created_at=noon, state=JobState.RUNNING)
    page = home(client, cora)
    assert "1 of 2" in page
    assert "Chest" in page
    assert "Import of &lt;b&gt;chest" in page
    assert "1 image may show a name" in page
    assert "de-identification role decides" in page
    assert "This site" not in page


def test_a_coordinator_of_one_round_sees_that_round_only(
    client: Client, stan: User, bank: QuestionBank, open_round: ReviewRound, noon: datetime
) -> None:
    make_round(bank, "Secret", RoundState.OPEN, noon)
    Membership.objects.create(user=stan, role=Role.COORDINATOR, round=open_round, granted_at=noon)
    page = home(client, stan)
    assert "Spring" in page
    assert "Secret" not in page
    assert "Question banks" not in page
    assert "quarantine" not in page


def test_an_administrator_sees_the_site(client: Client, ada: User, rita: User, noon: datetime) -> None:
    invite(Grant(Role.REVIEWER), email="", name="", actor=ada, at=noon.replace(year=2999))
    page = home(client, ada)
    assert 'href="/site/"' in page
    assert '<a href="/people/#invitations">1</a>' in page


def test_the_first_administrator_is_sent_to_invite(client: Client, ada: User) -> None:
    assert 'class="button primary" href="/people/invite/"' in home(client, ada)


def test_the_deidentifier_sees_the_quarantine(client: Client, dina: User) -> None:
    assert "Images in quarantine" in home(client, dina)


@pytest.mark.parametrize("n_rounds", [1, 6])
def test_queries_do_not_grow_with_the_rounds(
    reviewer: Client,
    bank: QuestionBank,
    rita: User,
    assign: Assign,
    noon: datetime,
    n_rounds: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for role in (Role.COORDINATOR, Role.ADMINISTRATOR, Role.DEIDENTIFIER):
        Membership.objects.create(user=rita, role=role, granted_at=noon)
    for number in range(n_rounds):
        assign(make_round(bank, f"Round {number}".replace(" ", "-"), RoundState.OPEN, noon), rita, WAITING, SUBMITTED)
    # session, person, roles; reviews, rounds, jobs, people with links, quarantine; adjudications; what asks for them:
    # rounds with their own part, reviewers; banks, what to revise, samples; rounds that closed lately, pairs, comments
    # that mention them; studies, own and looked after; runs of models; leaderboards
    with django_assert_num_queries(21):
        reviewer.get("/")


def test_a_reviewer_costs_twelve_queries(
    reviewer: Client,
    rita: User,
    open_round: ReviewRound,
    assign: Assign,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    assign(open_round, rita, WAITING)
    # session, person, roles, reviews, rounds that they coordinate twice, studies twice, comments that mention them,
    # rounds that closed lately
    with django_assert_num_queries(12):
        reviewer.get("/")


def test_nothing_flashes_white_before_a_reviewer(client: Client, cora: User, rita: User) -> None:
    assert '<html lang="en" class="dark">' in client.get("/login/").content.decode()
    client.force_login(rita)
    for address in ["/", "/profile/", "/password/", "/nothing/"]:
        assert '<html lang="en" class="dark">' in client.get(address).content.decode()
    client.force_login(cora)
    assert '<html lang="en" class="light">' in client.get("/").content.decode()


def test_a_quarantined_image_is_an_open_task(
    client: Client, cora: User, dina: User, open_round: ReviewRound, assign: Assign, rita: User
) -> None:
    ReviewRound.objects.update(state=RoundState.CLOSED)
    assert "No open tasks." in home(client, cora)
    assert "Images that wait for your decision appear here." in home(client, dina)
    Image.objects.create(exam=Exam.objects.create(pseudonym="E"), state=ImageState.QUARANTINED)
    for person, address in ((cora, "/images/?state=quarantined"), (dina, "/quarantine/")):
        page = home(client, person)
        assert f'class="button primary" href="{address}"' in page
        assert "No open tasks." not in page
        assert "You are up to date." not in page


# --- sections that other apps register ---
OWN = WorkSection(
    "Your readings",
    [WorkItem("Trial", "/read/trial/", 3, 12)],
    NextStep("Go on", "9 cases wait.", "/own/"),
    is_own=True,
)
OTHER = WorkSection(
    "Studies",
    [WorkItem("<b>Long</b>", "/studies/long/", 0, 0, words="no reader yet", state="open", tone="good")],
    NextStep("Continue", "Look after it.", "/other/"),
    url="/studies/",
)
WAITS = WorkSection("Rounds", [], NextStep("Progress", "1 of 3 are in.", "/waits/", is_due=False))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Callable[[WorkSection | None], None]:
    """Only what a test registers."""
    contribute_only(monkeypatch, work=())

    def register(section: WorkSection | None) -> None:
        contribute(monkeypatch, work=(lambda person, at: section,))

    return register


def test_a_section_is_shown_with_its_one_button(
    client: Client, stan: User, registered: Callable[[WorkSection | None], None]
) -> None:
    registered(OWN)
    client.force_login(stan)
    page = client.get("/").content.decode()
    assert "Your readings" in page
    assert "3 of 12" in page
    assert 'class="button primary" href="/own/"' in page
    assert page.split("</dialog>")[-1].count("button primary") == 1
    assert "no role yet" not in page


def test_words_stand_in_place_of_numbers_and_names_are_escaped(
    coordinator: Client, registered: Callable[[WorkSection | None], None]
) -> None:
    registered(OTHER)
    page = coordinator.get("/").content.decode()
    assert "&lt;b&gt;Long" in page
    assert "no reader yet" in page
    assert "0 of 0" not in page
    assert '<span class="tag good">open</span>' in page


def test_what_has_nothing_to_say_is_not_shown(
    stan: User, noon: datetime, registered: Callable[[WorkSection | None], None]
) -> None:
    registered(None)
    registered(WorkSection("Silent", []))
    registered(WorkSection("Speaks", [], empty="No study yet."))
    assert [section.title for section in open_work_of(stan, noon).work] == ["Speaks"]


def test_own_cases_then_what_is_up_to_the_person_then_what_waits() -> None:
    def url(*sections: WorkSection) -> str:
        step = next_step(OpenWork(work=[*sections], administration=Administration(1, 0)))
        return step.url if step else ""

    assert url(OTHER, OWN) == "/own/"
    assert url(WAITS, OTHER) == "/other/"
    assert url(WAITS) == "/waits/"
