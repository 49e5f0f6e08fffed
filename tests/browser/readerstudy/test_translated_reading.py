"""A translated page shows another case than the one of the study: it says so, and the response carries it."""

from __future__ import annotations

from django.utils import timezone

from readerstudy.enrolment.progress import progress_of
from readerstudy.exports.columns import response_columns
from readerstudy.exports.responses import response_rows
from readerstudy.models import Response
from tests.browser.readerstudy.conftest import MakeStudy
from tests.browser.readerstudy.reading import Device
from tests.browser.translating import IN_PLACE, is_told, is_untouched, translate, translate_all_the_same

FLAG = "translated"


def test_a_translator_that_heeds_the_page_changes_nothing(device: Device, reads: MakeStudy) -> None:
    device.opens(reads())
    translate(device.page)
    is_untouched(device.page)
    device.answers("2", then=2)
    is_untouched(device.page)
    device.says("saved")
    assert FLAG not in Response.objects.get().time_flags


def test_one_that_does_not_is_told_to_the_reader_and_noted_with_the_response(device: Device, reads: MakeStudy) -> None:
    enrolment = device.opens(reads())
    translate_all_the_same(device.page)
    is_told(device.page)
    device.answers("2")
    device.sees(2)
    is_told(device.page)  # it stays, until the page is loaded again
    device.page.reload()
    device.sees(2)
    is_untouched(device.page)
    device.answers("1", then=3)
    device.page.evaluate(IN_PLACE)
    is_told(device.page)
    device.stores("2", then=4)
    names = [column.name for column in response_columns(with_key=False)]
    rows = [dict(zip(names, row, strict=True)) for row in response_rows(enrolment.study, with_key=False)]
    carried = [FLAG in str(row["time_flags"]) for row in rows]
    assert carried == [True, False, True, False], "a response carries that its question was translated"
    [progress] = progress_of(enrolment.study, timezone.now())
    assert (progress.habits.n_translated, progress.has_problems) == (2, True)
