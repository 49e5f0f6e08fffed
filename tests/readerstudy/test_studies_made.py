"""The made studies of the tests hold together."""

from __future__ import annotations

from annotation.models import User
from readerstudy.enums import Block
from tests.readerstudy.studies import enrol, make_study, places_of


def test_two_readers_have_the_same_cases_in_different_orders(rita: User, remo: User) -> None:
    study = make_study(n_cases=3, n_practice=1)
    first, second = enrol(study, rita), enrol(study, remo)
    orders = [[place.case.number for place in places_of(enrolment)] for enrolment in (first, second)]
    assert orders == [[1, 2, 3], [2, 3, 1]]
    assert [place.case.block for place in places_of(first, Block.PRACTICE)] == [Block.PRACTICE]
