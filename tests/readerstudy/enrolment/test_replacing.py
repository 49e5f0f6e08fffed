from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client

from annotation.models import AuditEvent, User
from annotation.people.invitations import IssuedInvitation, accept_as
from readerstudy.enrolment.participation import replace_reader, withdraw
from readerstudy.enums import Block
from readerstudy.models import Enrolment, PresentationOrder, ReadingSession
from readerstudy.study.permissions import StudyRefused
from tests.conftest import make_person
from tests.readerstudy.exports.read_study import read
from tests.readerstudy.studies import enrol, make_study, places_of


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
    rita: User, stan: User, cora: User, noon: datetime, leaves_first: bool
) -> None:
    first = enrol(make_study(n_orders=3, n_practice=1), rita)
    read(places_of(first, Block.PRACTICE)[0], {"option": "A"})
    if leaves_first:
        withdraw(first, actor=rita, at=noon)
    issued = replace(first, cora, noon)
    accept_as(stan, issued.invitation, at=noon)
    [order] = PresentationOrder.objects.filter(enrolment__isnull=False)
    second = Enrolment.objects.get(reader=stan)
    assert (order.number, order.enrolment) == (1, second)
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
