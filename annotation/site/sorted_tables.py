"""Tables of several pages in the order that their address asks for: ?sort=task, or ?sort=-task from the other end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import Case, F, Model, QuerySet, When
from django.db.models.functions import Lower

from annotation.site.internals import order_of

Row = TypeVar("Row", bound=Model)
One = TypeVar("One")
Columns = Mapping[str, str | Lower | Case]  # by their names in the address
LEAST_ROWS = 30  # a shorter table offers no sorting


@dataclass(frozen=True)
class Sorting:
    """A column, and from which end; no column: the order of the table itself."""

    column: str = ""
    is_down: bool = False

    def next(self, column: str) -> str:
        """What the head of a column asks for: a second press turns the order round."""
        return f"-{column}" if self.column == column and not self.is_down else column

    def aria(self, column: str) -> str:
        return ("descending" if self.is_down else "ascending") if self.column == column else ""

    def of_rows(self, rows: QuerySet[Row], columns: Columns) -> QuerySet[Row]:
        """Equal ones stay in the order that they have; what has no value comes last on both databases."""
        if not self.column:
            return rows
        by = columns[self.column]
        field = F(by) if isinstance(by, str) else by
        first = field.desc(nulls_last=True) if self.is_down else field.asc(nulls_last=True)
        return rows.order_by(first, *order_of(rows), "pk")

    def of_list(self, rows: list[One], columns: Mapping[str, Callable[[One], Any]]) -> list[One]:
        """The same for a list; None comes last."""
        if not self.column:
            return rows
        value = columns[self.column]
        known = [one for one in rows if value(one) is not None]
        rest = [one for one in rows if value(one) is None]
        return sorted(known, key=value, reverse=self.is_down) + rest


def asked_sorting(query: Mapping[str, str], columns: Mapping[str, Any]) -> Sorting:
    """What the query of an address asks for; nonsense is no column."""
    asked = query.get("sort", "")
    column = asked.removeprefix("-")
    return Sorting(column, asked.startswith("-")) if column in columns else Sorting()


def numbered_page(query: Mapping[str, str], rows: QuerySet[Row] | Sequence[One], per_page: int) -> Page[Any]:
    """The page that an address asks for: ?page=2; nonsense shows the first or the last."""
    return Paginator(rows, per_page).get_page(query.get("page"))


def sorted_page(query: Mapping[str, str], rows: QuerySet[Row], columns: Columns, per_page: int) -> dict[str, Any]:
    """The page of a table that an address asks for, and its order, as templates know them."""
    sorting = asked_sorting(query, columns)
    return {"page": numbered_page(query, sorting.of_rows(rows, columns), per_page), "sorting": sorting}


def by_rank(field: str, values: list[str]) -> Case:
    """A field of words in the order of their meaning: easy, medium, hard."""
    return Case(*(When(**{field: value}, then=place) for place, value in enumerate(values) if value))
