from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client

from annotation.enums import Role
from annotation.models import Assignment, AuditEvent, BankImport, Membership, User
from annotation.people.invitations import IssuedInvitation, accept_as, accept_as_new_person, find_invitation, revoke
from annotation.people.tokens import PeopleRefused
from readerstudy.enrolment import inviting
from readerstudy.enrolment.inviting import KIND, invite_reader, noted_reasons, open_invitations, reasons_against
from readerstudy.enrolment.joining import enrol_reader
from readerstudy.enrolment.participation import decline, replace_reader, withdraw
from readerstudy.enums import Block, StudyState
from readerstudy.exports.exporting import order_rows
from readerstudy.models import (
    CaseSet,
    Enrolment,
    PresentationOrder,
    ReaderStudy,
    ReadingSession,
    StudyInvitation,
    StudyRole,
)
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import make_round
from tests.conftest import make_person
from tests.readerstudy.exports.read_study import read
from tests.readerstudy.studies import enrol, make_study, places_of
from tests.refusals import refuses


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study(n_orders=2)


@pytest.fixture
def issued(study: ReaderStudy, cora: User, noon: datetime) -> IssuedInvitation:
    return invite_reader(study, study.sets.get(), email="", name="", actor=cora, at=noon)


def join_new(issued: IssuedInvitation, at: datetime, email: str = "nina@example.org") -> User:
    return accept_as_new_person(
        issued.invitation, email=email, name="Nina", password="correct horse", time_zone="Europe/Berlin", at=at
    )


def order_of(enrolment: Enrolment) -> int:
    return PresentationOrder.objects.get(enrolment=enrolment).number


def test_order_and_pseudonym_of_a_reader_are_drawn_so_that_neither_tells_who_joined_first(
    cora: User, noon: datetime
) -> None:
    people = [make_person(f"Reader{number}") for number in range(1, 7)]
    seen = []
    for name in ("One", "Two", "Three", "Four"):
        study = make_study(name, n_cases=1, n_orders=6)
        joined = [enrol_reader(study, one, study.sets.get(), actor=cora, at=noon) for one in people]
        orders, names = [order_of(one) for one in joined], [one.pseudonym for one in joined]
        assert (sorted(orders[:3]), sorted(orders[3:])) == ([1, 2, 3], [4, 5, 6])  # each group is used up first
        assert (sorted(names[:3]), sorted(names[3:])) == (["R1", "R2", "R3"], ["R4", "R5", "R6"])
        exported = [(row[6], row[4]) for row in order_rows(study)]
        assert dict(exported) == dict(zip(names, orders, strict=True))
        seen.append((orders, names))
    for which in range(2):
        assert any(found[which] != sorted(found[which]) for found in seen), "the order of joining"
    assert any(names[orders.index(1)] != "R1" for orders, names in seen), "the one tells the other"


def test_a_reader_never_gets_the_pseudonym_of_one_who_was_imported(
    study: ReaderStudy, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    case_set = study.sets.get()
    for name in ("R1", "r2"):
        Enrolment.objects.create(study=study, case_set=case_set, pseudonym=name, source="old.csv", enrolled_at=noon)
    joined = [enrol_reader(study, person, case_set, actor=cora, at=noon).pseudonym for person in (rita, remo)]
    assert (joined[0], joined[1][1] in "456") == ("R3", True)


def test_no_order_left(study: ReaderStudy, cora: User, rita: User, remo: User, stan: User, noon: datetime) -> None:
    case_set, empty = study.sets.get(), CaseSet.objects.create(study=study, number=2, name="Second")
    with pytest.raises(StudyRefused, match="All reader places of this study are taken"):
        enrol_reader(study, rita, empty, actor=cora, at=noon)  # each set has its own orders
    for person in (rita, remo):
        enrol_reader(study, person, case_set, actor=cora, at=noon)
    with pytest.raises(StudyRefused, match="All reader places of this study are taken"):
        enrol_reader(study, stan, case_set, actor=cora, at=noon)
    assert not Enrolment.objects.filter(reader=stan).exists()


def test_a_new_person_has_an_account_and_a_place(issued: IssuedInvitation, noon: datetime) -> None:
    reader = join_new(issued, noon)
    enrolment = Enrolment.objects.get(reader=reader)
    assert reader.check_password("correct horse")
    assert enrolment.invitation == issued.invitation.to_study
    issued.invitation.refresh_from_db()
    assert issued.invitation.used_by == reader
    assert enrolment.consented_at is None
    facts = AuditEvent.objects.get(act="reader.enrolled").facts
    assert facts == {"study": "trial", "set": 1, "order": order_of(enrolment), "pseudonym": enrolment.pseudonym}


def test_a_refused_person_leaves_the_link_open_and_no_account(
    issued: IssuedInvitation, study: ReaderStudy, cora: User, rita: User, noon: datetime
) -> None:
    with pytest.raises(StudyRefused, match="Cora coordinates"):
        accept_as(cora, issued.invitation, at=noon)
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    with pytest.raises(StudyRefused, match="closed"):
        join_new(issued, noon)
    assert not User.objects.filter(name="Nina").exists()
    issued.invitation.refresh_from_db()
    assert issued.invitation.used_at is None


def test_the_address_of_the_invitation_counts(study: ReaderStudy, cora: User, rita: User, noon: datetime) -> None:
    issued = invite_reader(study, study.sets.get(), email="nina@example.org", name="", actor=cora, at=noon)
    with refuses(PeopleRefused, "other_address"):
        accept_as(rita, issued.invitation, at=noon)
    assert not Enrolment.objects.exists()


def test_who_declined_can_come_back_and_who_withdrew_cannot(
    study: ReaderStudy, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    case_set = study.sets.get()
    first = enrol_reader(study, rita, case_set, actor=cora, at=noon)
    decline(first, at=noon)
    taken = order_of(enrol_reader(study, remo, case_set, actor=cora, at=noon))
    back = enrol_reader(study, rita, case_set, actor=cora, at=noon)
    assert (back.pk, back.withdrawn_at, order_of(back)) == (first.pk, None, 3 - taken)
    Enrolment.objects.filter(pk=back.pk).update(consented_at=noon)
    withdraw(back, actor=rita, at=noon)
    with pytest.raises(StudyRefused, match="already joined this study"):
        enrol_reader(study, rita, case_set, actor=cora, at=noon)
    assert order_of(back) == 3 - taken


# --- replacing ---
def replace(enrolment: Enrolment, cora: User, at: datetime, reason: str = "ill") -> IssuedInvitation:
    return replace_reader(enrolment, email="", name="Next", reason=reason, actor=cora, at=at)


def test_the_successor_takes_the_next_order_and_nothing_is_lost(
    rita: User, stan: User, cora: User, noon: datetime
) -> None:
    first = enrol(make_study(n_orders=2), rita)
    read(places_of(first)[0], {"option": "A"})
    ReadingSession.objects.create(enrolment=first, started_at=noon, seen_at=noon)
    issued = replace(first, cora, noon)
    first.refresh_from_db()
    assert (first.replaced_at, first.readings.count()) == (noon, 1)
    assert ReadingSession.objects.get().ended_at == noon
    accept_as(stan, issued.invitation, at=noon)
    second = Enrolment.objects.get(reader=stan)
    orders = PresentationOrder.objects.order_by("number").values_list("number", "enrolment")
    assert list(orders) == [(1, first.pk), (2, second.pk)]
    assert AuditEvent.objects.get(act="reader.replaced").facts == {"reason": "ill", "n_answered": 1}


@pytest.mark.parametrize("leaves_first", [False, True])
def test_the_successor_of_one_who_read_nothing_takes_the_same_order(
    rita: User, remo: User, stan: User, cora: User, noon: datetime, leaves_first: bool
) -> None:
    first = enrol(make_study(n_orders=6, n_practice=1), rita)
    for other in (remo, make_person("Ruth")):
        enrol(first.study, other)
    read(places_of(first, Block.PRACTICE)[0], {"option": "A"})
    if leaves_first:
        withdraw(first, actor=rita, at=noon)
    issued = replace(first, cora, noon)
    accept_as(stan, issued.invitation, at=noon)
    second = Enrolment.objects.get(reader=stan)
    assert order_of(second) == 1
    assert not PresentationOrder.objects.filter(number__gt=3, enrolment__isnull=False).exists()
    assert (first.readings.count(), Enrolment.objects.get(pk=first.pk).has_declined) == (1, False)
    read(places_of(second, Block.PRACTICE)[0], {"option": "B"})


def page(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def test_pages_say_how_balanced_the_orders_in_use_are(
    client: Client, rita: User, remo: User, stan: User, cora: User, noon: datetime
) -> None:
    study = make_study(n_orders=4)
    readers = [enrol(study, person) for person in (rita, remo, stan)]
    client.force_login(cora)
    balanced = "100 % of the cases fall evenly on 3 equal parts of the 3 orders in use"
    assert balanced in page(client, "/studies/trial/watch/")
    assert balanced in page(client, "/studies/trial/freeze/")
    read(places_of(readers[1])[0], {"option": "A"})
    nora = make_person("nora")
    accept_as(nora, replace(readers[1], cora, noon).invitation, at=noon)
    assert balanced.replace("100", "0") in page(client, "/studies/trial/watch/")


@pytest.mark.parametrize(
    ("columns", "reason", "words"),
    [
        ({}, "  ", "Say why"),
        ({"finished_at": "noon"}, "ill", "has finished"),
        ({"replaced_at": "noon"}, "ill", "is replaced already"),
    ],
)
def test_refusals(rita: User, cora: User, noon: datetime, columns: dict[str, str], reason: str, words: str) -> None:
    enrolment = enrol(make_study(), rita)
    Enrolment.objects.update(**dict.fromkeys(columns, noon))
    with pytest.raises(StudyRefused, match=words):
        replace(enrolment, cora, noon, reason)


def test_without_an_order_left_nobody_is_replaced(rita: User, cora: User, noon: datetime) -> None:
    enrolment = enrol(make_study(n_orders=1), rita)
    read(places_of(enrolment)[0], {"option": "A"})
    with pytest.raises(StudyRefused, match="taken or promised"):
        replace(enrolment, cora, noon)
    enrolment.refresh_from_db()
    assert enrolment.replaced_at is None


def invite(study: ReaderStudy, cora: User, at: datetime, email: str = "") -> IssuedInvitation:
    return invite_reader(study, study.sets.get(), email=email, name="", actor=cora, at=at)


def test_a_second_link_for_an_address_replaces_the_first(study: ReaderStudy, cora: User, noon: datetime) -> None:
    first, second = invite(study, cora, noon, "n@example.org"), invite(study, cora, noon, "n@example.org")
    assert list(open_invitations(study, noon)) == [second.invitation]
    first.invitation.refresh_from_db()
    assert first.invitation.revoked_at == noon


def test_no_more_links_than_orders(study: ReaderStudy, cora: User, rita: User, noon: datetime) -> None:
    enrol(study, rita)
    open_one = invite(study, cora, noon)
    with pytest.raises(StudyRefused, match="taken or promised"):
        invite(study, cora, noon)
    revoke(open_one.invitation, actor=cora, at=noon)
    invite(study, cora, noon)
    assert [(one.n, one.n_taken, one.n_free) for one in inviting.orders_of(study)] == [(2, 1, 1)]


@pytest.mark.parametrize("state", [StudyState.DRAFT, StudyState.CLOSED, StudyState.ANALYSED])
def test_nobody_is_invited_where_nobody_can_start(cora: User, noon: datetime, state: StudyState) -> None:
    study = make_study(state=state)
    with pytest.raises(StudyRefused, match="draft" if state == StudyState.DRAFT else "closed"):
        invite(study, cora, noon)
    assert not StudyInvitation.objects.exists()


@pytest.mark.logs("study_invitation.renewed")
def test_a_reminder_is_a_new_link(study: ReaderStudy, cora: User, noon: datetime) -> None:
    old = invite(study, cora, noon, "n@example.org")
    later = noon + timedelta(days=10)
    new = inviting.remind_invited(old.invitation, actor=cora, at=later)
    assert find_invitation(old.token, KIND) is None
    assert find_invitation(new.token, KIND) == old.invitation
    assert (new.invitation.reminded_at, new.invitation.expires_at) == (later, later + timedelta(days=14))
    revoke(new.invitation, actor=cora, at=later)
    with pytest.raises(StudyRefused, match="nobody to remind"):
        inviting.remind_invited(new.invitation, actor=cora, at=later)


def test_nobody_is_reminded_of_a_study_that_is_over(study: ReaderStudy, cora: User, noon: datetime) -> None:
    """The letter would hold a link that lets nobody in."""
    issued = invite(study, cora, noon, "n@example.org")
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    with pytest.raises(StudyRefused, match="The study is closed"):
        inviting.remind_invited(issued.invitation, actor=cora, at=noon)
    assert find_invitation(issued.token, KIND) == issued.invitation


def test_addresses_that_cannot_read(study: ReaderStudy, cora: User, rita: User, stan: User, noon: datetime) -> None:
    enrol(study, rita)
    with pytest.raises(StudyRefused, match="Rita is in this study already"):
        invite(study, cora, noon, rita.email)
    with pytest.raises(StudyRefused, match="Cora coordinates"):
        invite(study, cora, noon, cora.email)
    User.objects.filter(pk=stan.pk).update(is_active=False)
    with pytest.raises(StudyRefused, match="deactivated"):
        invite(study, cora, noon, stan.email)


# --- who must not read ---


def against(person: User, study: ReaderStudy) -> str:
    return " ".join(reasons_against(person, study, study.sets.get()))


def test_strangers_may_read_and_administrators_may_not(study: ReaderStudy, stan: User, rita: User, ada: User) -> None:
    """The pages of a bank show them tasks and categories, which point to keys."""
    assert [against(person, study) for person in (stan, rita)] == ["", ""]
    assert against(ada, study) == "Ada administers the site, and so can look up categories."


def test_coordinators_and_the_author_may_not(study: ReaderStudy, cora: User, stan: User, noon: datetime) -> None:
    assert "Cora coordinates" in against(cora, study)
    StudyRole.objects.create(study=study, user=stan, granted_at=noon)
    assert "Stan coordinates" in against(stan, study)
    StudyRole.objects.all().delete()
    ReaderStudy.objects.update(created_by=stan)
    study.refresh_from_db()
    assert against(stan, study) == "Stan designed this study."


def test_who_met_a_question_of_the_study_may_not(stan: User, rita: User, noon: datetime) -> None:
    review_round = make_round(rita, n_questions=2)
    study = make_study(bank=review_round.plan.bank, n_cases=0)
    assert against(rita, study) == ""
    case = study.cases.create(number=1, revision=Assignment.objects.earliest("pk").revision)
    case.sets.set(study.sets.all())
    assert "question of this study: 1" in against(rita, study)
    told = noted_reasons(rita, study, study.sets.get())
    assert told == [
        "You reviewed or imported questions of this study or its images, or review some now, and may know answers."
    ]
    assert against(stan, study) == ""
    Membership.objects.create(user=stan, role=Role.COORDINATOR, round=review_round, granted_at=noon)
    assert "coordinates a review round" in against(stan, study)


def test_who_imported_a_question_of_the_study_may_not(study: ReaderStudy, stan: User) -> None:
    BankImport.objects.filter(bank=study.bank).update(actor=stan)
    assert "imported questions of this study" in against(stan, study)
