from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client

from annotation.models import AuditEvent, User
from annotation.people.invitations import IssuedInvitation, accept_as, accept_as_new_person
from annotation.people.links import PeopleRefused
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.enrolment.joining import enrol_reader
from readerstudy.enrolment.participation import decline, replace_reader, withdraw
from readerstudy.enums import Block, StudyState
from readerstudy.exports.exporting import order_rows
from readerstudy.models import CaseSet, Enrolment, PresentationOrder, ReaderStudy, ReadingSession
from readerstudy.study.permissions import StudyRefused
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
    case_set = study.sets.get()
    for person in (rita, remo):
        enrol_reader(study, person, case_set, actor=cora, at=noon)
    with pytest.raises(StudyRefused, match="All reader places of this study are taken"):
        enrol_reader(study, stan, case_set, actor=cora, at=noon)
    assert not Enrolment.objects.filter(reader=stan).exists()


def test_each_set_has_its_own_orders(study: ReaderStudy, cora: User, rita: User, noon: datetime) -> None:
    empty = CaseSet.objects.create(study=study, number=2, name="Second")
    with pytest.raises(StudyRefused):
        enrol_reader(study, rita, empty, actor=cora, at=noon)


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
