"""A submitter of models tries to learn the keys of a bank: by order, by scores, by reading or reviewing it as well."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import Role, RoundState
from annotation.jobs import queueing
from annotation.models import (
    AnswerKey,
    Assignment,
    Invitation,
    Job,
    Membership,
    QuestionBank,
    ReviewRound,
    SamplingPlan,
    User,
)
from annotation.people.invitations import Grant, accept_as, accept_as_new_person, invite
from annotation.people.roles import grant, withdraw
from annotation.people.tokens import PeopleRefused
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.reassigning import add_reviewer
from annotation.review.rounds import create_round
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.sampling import StratifyBy
from readerstudy.analysis.comparing_models import compare_models
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.models import ModelEntry, PredictionRun, ReaderStudy, SubmissionCall
from readerstudy.predictions.entries import enter_model
from readerstudy.predictions.listing import Target, close_submissions, open_submissions
from readerstudy.predictions.runs import withdraw_run
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON, make_revision, make_round
from tests.annotation.rounds.made import make_sample
from tests.conftest import make_person
from tests.jobs import work
from tests.readerstudy.predictions.made import answers, entry_named, import_file, keyed_bank
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
N_KEYS = 3
COMPARE, FILE = "/models/compare/?bank=bank", "/models/compare/bank.csv"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough runs for every attack to come to its end."""
    settings.HOME = tmp_path / "home"
    settings.SUBMITTER_RUNS = settings.SUBMITTER_FILES = 1_000
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)


@pytest.fixture
def mona() -> User:
    return make_person("Mona", Role.MODEL_SUBMITTER)


@pytest.fixture
def bank(cora: User) -> QuestionBank:
    bank = keyed_bank(N_KEYS)
    open_submissions(bank, actor=cora, at=NOON)
    return bank


def send(bank: QuestionBank, submitter: User, name: str, **said: str) -> ModelEntry:
    entry = ModelEntry.objects.filter(name=name).first() or entry_named(name, submitter=submitter)
    result = import_file(entry, Target(bank), answers(**said), actor=submitter)
    assert not result.problems
    return entry


def everything_shown(client: Client, bank: QuestionBank) -> str:
    """All that the pages and files about models give somebody, computed anew, without tokens that change anyhow."""
    Job.objects.all().delete()
    compare_models(bank, actor=None, at=NOON)
    entries, runs = ModelEntry.objects.order_by("pk"), PredictionRun.objects.order_by("pk")
    of_entries = [f"/models/{entry.public_id}/{part}" for entry in entries for part in ("", "repeatability/")]
    addresses = [
        "/",
        "/models/",
        "/jobs/",
        COMPARE,
        FILE,
        *of_entries,
        *(f"/models/runs/{one.public_id}/" for one in runs),
    ]
    for address in addresses:
        client.get(address)
    work()
    shown = [f"{answer.status_code} {answer.content.decode()}" for answer in map(client.get, addresses)]
    return re.sub(r'(csrfmiddlewaretoken" value|"X-CSRFToken")[^>]*', "", "\n".join(shown))


def turn_keys() -> None:
    """Each question has another key than before."""
    for row in AnswerKey.objects.all():
        AnswerKey.objects.filter(pk=row.pk).update(key="BCDA"["ABCD".index(row.key)])


def test_models_of_one_question_each_tell_no_key_by_their_order(client: Client, bank: QuestionBank, mona: User) -> None:
    """12 models: with an order by accuracy, the first of each four names the key."""
    for number in range(1, N_KEYS + 1):
        for letter in "ABCD":
            send(bank, mona, f"{number}{letter}", **{f"Q{number}": letter})
    client.force_login(mona)
    before = everything_shown(client, bank)
    assert [client.get(address).status_code for address in (COMPARE, FILE)] == [403, 403]
    turn_keys()
    assert everything_shown(client, bank) == before


def test_one_letter_among_unreadable_answers_tells_no_key(client: Client, bank: QuestionBank, mona: User) -> None:
    """9 files: one letter each, everything else unreadable or left out, a pair of runs for each of three models."""
    for number in range(1, N_KEYS + 1):
        for letter in "ABC":
            rest = {f"Q{other}": f"no idea {letter}{number}" for other in range(2, N_KEYS + 1)}
            send(bank, mona, letter, **{**rest, f"Q{number}": letter})
    client.force_login(mona)
    before = everything_shown(client, bank)
    assert "Agreement between runs" in before
    turn_keys()
    assert everything_shown(client, bank) == before


def test_a_coordinator_sees_scores_in_which_nobody_chooses_the_questions(
    client: Client, bank: QuestionBank, mona: User, cora: User
) -> None:
    entry = send(bank, mona, "Sure", Q1="B")
    send(bank, mona, "Sure", Q1="B", Q2="no idea")
    client.force_login(cora)
    shown = everything_shown(client, bank)
    accuracy = client.get(COMPARE).context["result"]["models"][0]["accuracy"]
    assert (accuracy["value"], accuracy["n"]) == (1 / N_KEYS, N_KEYS)
    run = client.get(f"/models/{entry.public_id}/repeatability/").context["result"]["runs"][0]
    assert (run["accuracy"]["value"], run["n_missing"]) == (1 / N_KEYS, N_KEYS - 1)
    turn_keys()
    assert everything_shown(client, bank) != shown


def test_an_administrator_who_submits_sees_no_score(client: Client, bank: QuestionBank, ada: User) -> None:
    send(bank, make_person("Mick", Role.MODEL_SUBMITTER), "Other", Q1="B")
    client.force_login(ada)
    compare_models(bank, actor=None, at=NOON)
    assert client.get(COMPARE).status_code == 200
    Membership.objects.create(user=ada, role=Role.MODEL_SUBMITTER, granted_at=NOON)
    assert [client.get(address).status_code for address in (COMPARE, FILE)] == [403, 403]


def test_runs_and_files_of_a_submitter_are_counted(
    client: Client, bank: QuestionBank, mona: User, settings: Settings
) -> None:
    settings.SUBMITTER_RUNS, settings.SUBMITTER_FILES = 2, 3
    entry = enter_model({"name": "M"}, actor=mona, at=NOON)
    client.force_login(mona)
    sent = []
    for letter in "ABCD":
        file = SimpleUploadedFile("a.jsonl", answers(Q1=letter))
        answer = client.post(f"/models/{entry.public_id}/predictions/", {"file": file, "target": "bank:bank"})
        sent.append(answer.status_code)
        work()
        if answer.status_code == 302:
            client.post(answer["Location"] + "store/")
            work()
            refused = client.get(answer["Location"]).content.decode()
    assert (sent, PredictionRun.objects.count()) == ([302, 302, 302, 422], 2)
    assert "You have sent 3 files within 24 hours" in answer.content.decode()
    assert "You have sent 2 runs" in refused
    withdraw_run(PredictionRun.objects.earliest("pk"), "wrong file", actor=mona, at=NOON)
    again = import_file(entry, Target(bank), answers(Q2="A"), actor=mona)
    assert "withdrawn ones included" in again.problems[0].message


def test_a_job_of_a_submitter_stores_nothing_once_the_bank_is_closed(
    bank: QuestionBank, mona: User, cora: User
) -> None:
    close_submissions(bank, actor=cora, at=NOON)
    result = import_file(entry_named(submitter=mona), Target(bank), answers(Q1="A"), actor=mona)
    assert "may not send" in result.problems[0].message
    assert not PredictionRun.objects.exists()


# Submitter of a bank and reader or reviewer of it: nobody is both, whichever comes first


@pytest.fixture
def study(bank: QuestionBank) -> ReaderStudy:
    return make_study(bank=bank, n_cases=0)


@pytest.fixture
def review_round(bank: QuestionBank) -> ReviewRound:
    return make_round(bank=bank, n_questions=0)


@pytest.fixture(params=["role", "sent"])
def submitter(request: pytest.FixtureRequest, bank: QuestionBank, ada: User, cora: User, mona: User) -> User:
    """Mona may send for the bank; or she has, and holds the role no longer."""
    if request.param == "sent":
        send(bank, mona, "Hers", Q1="A")
        withdraw(mona, Role.MODEL_SUBMITTER, actor=ada, at=NOON)
        close_submissions(bank, actor=cora, at=NOON)
    return mona


def test_a_submitter_joins_no_study_of_the_bank(study: ReaderStudy, submitter: User, cora: User) -> None:
    with pytest.raises(StudyRefused, match="submits predictions"):
        invite_reader(study, study.sets.get(), email=submitter.email, name="", actor=cora, at=NOON)
    issued = invite_reader(study, study.sets.get(), email="", name="", actor=cora, at=NOON)
    with pytest.raises(StudyRefused, match="submits predictions"):
        accept_as(submitter, issued.invitation, at=NOON)
    other = make_study("Other")
    issued = invite_reader(other, other.sets.get(), email=submitter.email, name="", actor=cora, at=NOON)
    accept_as(submitter, issued.invitation, at=NOON)
    assert other.enrolments.get().reader == submitter


def test_a_submitter_reviews_nothing_of_the_bank(
    bank: QuestionBank, review_round: ReviewRound, submitter: User, ada: User, cora: User, rita: User
) -> None:
    for role in (Role.REVIEWER, Role.COORDINATOR):
        with refuses(PeopleRefused, "role_conflict", match="submits predictions"):
            grant(submitter, role, review_round=review_round, actor=ada, at=NOON)
        with refuses(PeopleRefused, "role_conflict", match="submits predictions"):
            invite(Grant(role, review_round), email=submitter.email, name="", actor=ada, at=NOON)
    with refuses(PeopleRefused, "role_conflict", match="submits predictions"):
        add_reviewer(review_round, submitter, actor=cora, at=NOON)
    with refuses(ReviewRefused, "too_few_reviewers", match="submits predictions"):
        create_round(sample_of(bank), name="New", reviewers=[submitter], actor=cora, at=NOON)
    elsewhere = make_sample(2, name="Elsewhere")
    assert (
        create_round(elsewhere, name="Elsewhere", reviewers=[submitter], actor=cora, at=NOON).state == RoundState.DRAFT
    )


def test_a_link_without_an_address_makes_no_reviewer_of_a_submitter(
    client: Client, review_round: ReviewRound, submitter: User, ada: User
) -> None:
    issued = invite(Grant(Role.REVIEWER, review_round), email="", name="", actor=ada, at=timezone.now())
    client.force_login(submitter)
    assert client.post(f"/invitation/{issued.token}/").status_code == 409
    assert not Membership.objects.filter(user=submitter, round=review_round).exists()


@pytest.mark.parametrize("email", ["", "new@example.org", "stan@example.org"])
def test_no_link_makes_submitter_and_reviewer_of_one_bank(
    bank: QuestionBank, review_round: ReviewRound, ada: User, stan: User, email: str
) -> None:
    grants = Grant(Role.MODEL_SUBMITTER), Grant(Role.REVIEWER, review_round)
    before = User.objects.count(), Membership.objects.count()
    with refuses(PeopleRefused, "role_conflict", match="submit"):
        invite(*grants, email=email, name="Nina", actor=ada, at=NOON)
    assert (User.objects.count(), Membership.objects.count()) == before
    invite(Grant(Role.MODEL_SUBMITTER), Grant(Role.REVIEWER), email=email, name="Nina", actor=ada, at=NOON)
    assert (User.objects.count(), Membership.objects.count()) == before


def test_a_second_link_for_an_address_is_refused_beside_the_first(
    bank: QuestionBank, review_round: ReviewRound, ada: User
) -> None:
    invite(Grant(Role.MODEL_SUBMITTER), email="new@example.org", name="Nina", actor=ada, at=NOON)
    with refuses(PeopleRefused, "role_conflict", match="submits predictions"):
        invite(Grant(Role.REVIEWER, review_round), email="new@example.org", name="Nina", actor=ada, at=NOON)


def test_a_file_of_people_makes_no_submitter_and_reviewer_of_one_bank(
    client: Client, bank: QuestionBank, review_round: ReviewRound, ada: User
) -> None:
    client.force_login(ada)
    text = f"name,email,roles\nOmar,,reviewer\nNina,,model submitter; reviewer of round {review_round.slug}\n"
    page = client.post("/people/invite/file/", {"confirmed": "yes", "text": text})
    assert page.status_code == 422
    assert "Take one of the roles out." in page.content.decode()
    assert not Invitation.objects.exists()


def test_a_link_whose_roles_exclude_each_other_by_now_makes_no_account(
    client: Client, bank: QuestionBank, review_round: ReviewRound, ada: User
) -> None:
    SubmissionCall.objects.all().delete()
    grants = Grant(Role.MODEL_SUBMITTER), Grant(Role.REVIEWER, review_round)
    issued = invite(*grants, email="", name="", actor=ada, at=timezone.now())
    SubmissionCall.objects.create(bank=bank, opened_by=ada, opened_at=NOON)
    person = {"email": "nina@example.org", "name": "Nina", "time_zone": "UTC"}
    passwords = {"password": "another staple 77", "password_again": "another staple 77"}
    page = client.post(f"/invitation/{issued.token}/", person | passwords)
    assert page.status_code == 422
    assert "submit" in page.content.decode()
    assert not User.objects.filter(email="nina@example.org").exists()
    assert not Invitation.objects.filter(used_at__isnull=False).exists()


@pytest.mark.parametrize("how", ["reads", "left after consent", "reviews", "holds a role in a round"])
def test_who_reads_or_reviews_becomes_no_submitter(
    client: Client, bank: QuestionBank, study: ReaderStudy, review_round: ReviewRound, ada: User, cora: User, how: str
) -> None:
    stan = make_person("Stan")
    judge(how, stan, study, review_round)
    with refuses(PeopleRefused, "role_conflict", match="open to submitters"):
        grant(stan, Role.MODEL_SUBMITTER, actor=ada, at=NOON)
    with refuses(PeopleRefused, "role_conflict", match="open to submitters"):
        invite(Grant(Role.MODEL_SUBMITTER), email=stan.email, name="", actor=ada, at=NOON)
    client.force_login(ada)
    assert (
        "open to submitters"
        in client.post(f"/people/{stan.pk}/roles/give/", {"role": "model_submitter"}).content.decode()
    )
    issued = invite(Grant(Role.MODEL_SUBMITTER), email="", name="", actor=ada, at=timezone.now())
    client.force_login(stan)
    assert client.post(f"/invitation/{issued.token}/").status_code == 409
    assert not Membership.objects.filter(user=stan, role=Role.MODEL_SUBMITTER).exists()


@pytest.mark.parametrize("how", ["reads", "left after consent", "reviews", "holds a role in a round"])
def test_a_bank_that_opens_later_is_not_open_to_who_reads_or_reviews_it(
    client: Client, bank: QuestionBank, study: ReaderStudy, review_round: ReviewRound, ada: User, cora: User, how: str
) -> None:
    close_submissions(bank, actor=cora, at=NOON)
    stan, other = make_person("Stan"), keyed_bank(1, name="Other")
    judge(how, stan, study, review_round)
    grant(stan, Role.MODEL_SUBMITTER, actor=ada, at=NOON)
    for one in (bank, other):
        open_submissions(one, actor=cora, at=NOON)
    client.force_login(stan)
    entry = enter_model({"name": "M"}, actor=stan, at=NOON)
    form = client.get(f"/models/{entry.public_id}/predictions/").context["form"]
    assert [group[1] for group in form.fields["target"].choices] == [[("bank:other", "Other")]]
    assert import_file(entry, Target(bank), answers(Q1="A"), actor=stan).problems
    assert import_file(entry, Target(other), answers(**{"1": "A"}), actor=stan).stored == 1


def sample_of(bank: QuestionBank) -> SamplingPlan:
    return draw_sample(bank, name="All", by=StratifyBy.DIFFICULTY, per_thousand=1000, actor=None, at=NOON)


def judge(how: str, person: User, study: ReaderStudy, review_round: ReviewRound) -> None:
    if how == "reviews":
        revision = make_revision(study.bank, 77)
        Assignment.objects.create(round=review_round, reviewer=person, revision=revision, position=1)
    elif how == "holds a role in a round":
        Membership.objects.create(user=person, role=Role.REVIEWER, round=review_round, granted_at=NOON)
    else:
        enrolment = enrol(study, person)
        if how != "reads":
            enrolment.withdrawn_at = NOON
            enrolment.save()


def test_who_was_asked_to_both_becomes_one_of_them(
    bank: QuestionBank, study: ReaderStudy, ada: User, cora: User
) -> None:
    """Two links to somebody who has no account yet."""
    invite(Grant(Role.MODEL_SUBMITTER), email="new@example.org", name="", actor=ada, at=NOON)
    to_read = invite_reader(study, study.sets.get(), email="new@example.org", name="", actor=cora, at=NOON)
    said = {"email": "new@example.org", "name": "New", "password": "correct horse battery", "time_zone": "UTC"}
    person = accept_as_new_person(to_read.invitation, **said, at=NOON)
    with refuses(PeopleRefused, "role_conflict"):
        grant(person, Role.MODEL_SUBMITTER, actor=ada, at=NOON)
