"""The cases of a study one by one, as an analysis stores them: who had which right. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from readerstudy.results.stored import ALL_TASKS, READER, Json, kinds_of, order_of

NOT_COUNTED = " ."


class Which(StrEnum):
    ALL = ""
    MISSED = "missed"  # by everybody who counts
    READERS_MISSED = "readers-missed"


@dataclass(frozen=True)
class Answer:
    sign: str
    is_wrong: bool


@dataclass(frozen=True)
class Item:
    case: int
    question: int  # number in the bank
    task: str
    category: str
    key: str
    voided: str  # "", "before", "after"
    n_right: int
    n_counted: int
    answers: list[Answer]  # in the order of the analysis
    is_missed_by_readers: bool

    @property
    def is_missed(self) -> bool:
        return bool(self.n_counted) and self.n_right == 0


def items_table(result: Json, panel: str, which: Which) -> list[Item]:
    """In the order of the case numbers."""
    items, names, kinds = result["items"], order_of(result), kinds_of(result)
    rows = []
    for place, key in enumerate(items["key"]):
        if panel not in (ALL_TASKS, items["task"][place]):
            continue
        signs = [items["answers"][name][place] for name in names]
        by_readers = [sign for name, sign in zip(names, signs, strict=True) if kinds[name] == READER]
        item = Item(
            case=items["case"][place],
            question=items["question"][place],
            task=items["task"][place],
            category=items["category"][place],
            key=key,
            voided=items["voided"][place],
            n_right=items["n_right"][place],
            n_counted=items["n_counted"][place],
            answers=[Answer(sign.strip() or "–", sign != key and sign not in NOT_COUNTED) for sign in signs],
            is_missed_by_readers=_is_missed(by_readers, key),
        )
        if _is_wanted(item, which):
            rows.append(item)
    return rows


def _is_missed(signs: list[str], key: str) -> bool:
    counted = [sign for sign in signs if sign not in NOT_COUNTED]
    return bool(counted) and key not in counted


def _is_wanted(item: Item, which: Which) -> bool:
    if which == Which.MISSED:
        return item.is_missed
    return item.is_missed_by_readers if which == Which.READERS_MISSED else True
