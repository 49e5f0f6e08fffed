"""Lists by cursor: each page begins behind the last row of the one before, and costs the same wherever it is."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Generic, TypeVar, cast

from django.core.exceptions import ValidationError
from django.db.models import F, Model, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.api.bodies import BodyRefused
from annotation.site.sorted_tables import Sorting, asked_sorting

Row = TypeVar("Row", bound=Model)
Names = Mapping[str, Any]  # of the columns by which a list is sorted
USUAL, MOST = 100, 1000


class CursorPage(Struct, Generic[Row], frozen=True):
    rows: list[Row]
    next: str  # the cursor of the next page; empty: this was the last


def page_of(
    rows: QuerySet[Row], columns: Names, *, sort: str, cursor: str, limit: int, newest_first: bool = True
) -> CursorPage[Row]:
    """A page of rows in the order of a column, equal ones and all others by their age. Raises BodyRefused."""
    sorting = sorting_named(sort, columns)
    direction = -1 if (sorting.is_down if sorting.column else newest_first) else 1
    pk = "-pk" if direction < 0 else "pk"
    if sorting.column:
        by = columns[sorting.column]
        rows = cast("QuerySet[Row]", rows.annotate(sort_value=F(by) if isinstance(by, str) else by))
        value = F("sort_value")
        rows = rows.order_by(value.desc(nulls_last=True) if direction < 0 else value.asc(nulls_last=True), pk)
    else:
        rows = rows.order_by(pk)
    try:
        if cursor:
            rows = rows.filter(_behind(read_cursor(cursor, sort), direction, is_sorted=bool(sorting.column)))
        found = list(rows[: limit + 1])
    except (ValidationError, ValueError, TypeError):
        raise bad_cursor() from None
    if len(found) <= limit:
        return CursorPage(found, "")
    last = found[limit - 1]
    return CursorPage(found[:limit], write_cursor(sort, [getattr(last, "sort_value", None), last.pk]))


def sorting_named(sort: str, columns: Names) -> Sorting:
    """Raises BodyRefused for a column that there is none of."""
    sorting = asked_sorting({"sort": sort}, columns)
    if sort and not sorting.column:
        sentence = _("This list is sorted by one of: %(names)s.") % {"names": ", ".join(columns) or "-"}
        raise BodyRefused("unknown_order", sentence, status=400, field="sort")
    return sorting


def _behind(place: list[Any], direction: int, *, is_sorted: bool) -> Q:
    """What comes after a row; rows without a value come last."""
    if len(place) != 2 or not isinstance(place[1], int):
        raise bad_cursor()
    value, pk = place
    beyond = "lt" if direction < 0 else "gt"
    older = Q(**{f"pk__{beyond}": pk})
    if not is_sorted:
        return older
    if value is None:
        return Q(sort_value=None) & older
    return Q(**{f"sort_value__{beyond}": value}) | (Q(sort_value=value) & older) | Q(sort_value=None)


def write_cursor(sort: str, place: list[Any]) -> str:
    """A place in a list as an opaque word."""
    values = [one.isoformat() if isinstance(one, datetime | date) else one for one in place]
    return base64.urlsafe_b64encode(json.dumps([sort, *values]).encode()).decode().rstrip("=")


def read_cursor(text: str, sort: str) -> list[Any]:
    """The place, of a list in this order. Raises BodyRefused."""
    try:
        place = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        raise bad_cursor() from None
    if not isinstance(place, list) or not place or place[0] != sort:
        raise bad_cursor()
    if not all(one is None or isinstance(one, str | int | float) for one in place):
        raise bad_cursor()
    if any(isinstance(one, int) and abs(one) >= 2**63 for one in place):
        raise bad_cursor()
    return place[1:]


def bad_cursor() -> BodyRefused:
    sentence = _("This cursor is not of this list in this order. Begin without one.")
    return BodyRefused("bad_cursor", sentence, status=400, field="cursor")
