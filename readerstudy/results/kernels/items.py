"""The cases of a study one by one, as an analysis stores them: who had which right. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from math import nan
from typing import TYPE_CHECKING, Any, overload

from msgspec import Struct

from annotation.statistics.kernels.estimate import Value
from annotation.statistics.kernels.intervals import share
from readerstudy.analysis.kernels.result import ALL_TASKS, LETTERS, READER, CaseColumns, StoredAnalysis
from readerstudy.results.kernels.agreement_tables import FAILED, NOT_COUNTED
from readerstudy.results.kernels.stored import BreakdownTable, kinds_of, order_of

if TYPE_CHECKING:
    from annotation.statistics.kernels.items import ItemStatistics


class Which(StrEnum):
    ALL = ""
    MISSED = "missed"  # by everybody who counts
    READERS_MISSED = "readers-missed"
    BEATEN = "beaten"  # more raters chose a wrong option than the key


class Show(StrEnum):
    ANSWERS = ""  # of every rater
    BEHAVIOUR = "behaviour"  # difficulty, discrimination, distractors


class ItemAnswer(Struct, frozen=True):
    sign: str
    is_wrong: bool


class Item(Struct, frozen=True):
    case: int
    question: int  # number in the bank
    task: str
    category: str
    key: str
    voided: str  # "", "before", "after"
    n_right: int
    n_counted: int
    answers: list[ItemAnswer]  # in the order of the analysis
    behaviour: ItemStatistics

    @property
    def options(self) -> list[tuple[str, int]]:
        """How many raters chose each option."""
        return list(zip(LETTERS, self.behaviour.chosen, strict=True))

    @property
    def beaten_by(self) -> str:
        return ", ".join(LETTERS[option] for option in self.behaviour.beaten_by)


SORTED_BY: dict[str, Callable[[CaseColumns, int], Any]] = {  # None comes last
    "case": lambda items, place: items["case"][place],
    "task": lambda items, place: items["task"][place],
    "category": lambda items, place: items["category"][place] or None,
    "key": lambda items, place: items["key"][place],
    "right": lambda items, place: _share_right(items, place),
    "discrimination": lambda items, place: items["discrimination"][place],
}


def items_table(
    result: StoredAnalysis, panel: str, which: Which, column: str = "", *, is_down: bool = False
) -> Sequence[Item]:
    """By case numbers, or in the order of a column. An item is made when it is asked for: a page shows few of many."""
    tasks, is_wanted = result["items"]["task"], _wanted(result, which)
    places = [n for n, task in enumerate(tasks) if panel in (ALL_TASKS, task) and is_wanted(n)]
    if column:
        values = {n: SORTED_BY[column](result["items"], n) for n in places}
        known = sorted((n for n in places if values[n] is not None), key=values.__getitem__, reverse=is_down)
        places = known + [n for n in places if values[n] is None]
    return _Items(result, places)


class _Items(Sequence[Item]):
    def __init__(self, result: StoredAnalysis, places: list[int]) -> None:
        self._result, self._places = result, places
        self._names = order_of(result)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice) -> list[Item]: ...
    def __getitem__(self, at: int | slice) -> Item | list[Item]:
        if isinstance(at, slice):
            return [self._item(place) for place in self._places[at]]
        return self._item(self._places[at])

    def _item(self, place: int) -> Item:
        items = self._result["items"]
        key = items["key"][place]
        signs = [items["answers"][name][place] for name in self._names]
        return Item(
            case=items["case"][place],
            question=items["question"][place],
            task=items["task"][place],
            category=items["category"][place],
            key=key,
            voided=items["voided"][place],
            n_right=items["n_right"][place],
            n_counted=items["n_counted"][place],
            answers=[ItemAnswer(sign.strip() or "–", sign != key and sign not in NOT_COUNTED) for sign in signs],
            behaviour=_behaviour(items, self._names, place),
        )


def accuracy_by(result: StoredAnalysis, group_of: Mapping[str, str], groups: Sequence[str]) -> BreakdownTable:
    """Accuracy of every rater over the scored cases of each group; ``group_of`` is by the random id of a case.

    Groups without a scored case are left out, as are cases in none.
    """
    items, failed = result["items"], result["settings"]["failed_in_accuracy"]
    left_out = NOT_COUNTED + (FAILED if failed == "exclude" else "")
    places: dict[str, list[int]] = {group: [] for group in groups}
    for place, case in enumerate(items["case_id"]):
        if case in group_of and items["voided"][place] != "before":
            places[group_of[case]].append(place)
    values = [(group, of_group) for group, of_group in places.items() if of_group]

    def accuracy(name: str, of_group: Sequence[int]) -> Value:
        signs = items["answers"][name]
        counted = [place for place in of_group if signs[place] not in left_out]
        return share(sum(signs[place] == items["key"][place] for place in counted), len(counted)).as_json()

    rows = [(name, [accuracy(name, of_group) for _group, of_group in values]) for name in order_of(result)]
    return BreakdownTable([(group, len(of_group)) for group, of_group in values], rows)


def _share_right(items: CaseColumns, place: int) -> float | None:
    n: int = items["n_counted"][place]
    return items["n_right"][place] / n if n else None


def _wanted(result: StoredAnalysis, which: Which) -> Callable[[int], bool]:
    from annotation.statistics.kernels.items import beaten_by  # loads numpy: not at every start

    items, kinds = result["items"], kinds_of(result)
    readers = [name for name in order_of(result) if kinds[name] == READER]
    n_right, n_counted = items["n_right"], items["n_counted"]
    if which == Which.MISSED:
        return lambda place: n_counted[place] > 0 and n_right[place] == 0
    if which == Which.READERS_MISSED:
        return lambda place: _is_missed_by_readers(items, readers, place)
    if which == Which.BEATEN:
        names = order_of(result)
        return lambda place: bool(beaten_by(_chosen(items, names, place), LETTERS.index(items["key"][place])))
    return lambda place: True


def _chosen(items: CaseColumns, names: Sequence[str], place: int) -> list[int]:
    """Raters who chose each option in time: capital letters."""
    signs = [items["answers"][name][place] for name in names]
    return [signs.count(letter) for letter in LETTERS]


def _behaviour(items: CaseColumns, names: Sequence[str], place: int) -> ItemStatistics:
    from annotation.statistics.kernels.items import item_of

    apart = items["discrimination"][place]
    return item_of(
        _chosen(items, names, place),
        LETTERS.index(items["key"][place]),
        items["n_right"][place],
        items["n_counted"][place],
        nan if apart is None else apart,
        place in items["missed_by_all"],
    )


def _is_missed_by_readers(items: CaseColumns, readers: list[str], place: int) -> bool:
    signs = [items["answers"][name][place] for name in readers]
    counted = [sign for sign in signs if sign not in NOT_COUNTED]
    return bool(counted) and items["key"][place] not in counted
