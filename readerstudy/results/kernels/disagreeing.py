"""On which cases two raters disagree, read from the answers that an analysis stores. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from readerstudy.results.kernels.heatmap import Agree
from readerstudy.results.kernels.stored import ALL_TASKS, Json

OPTIONS = "ABCD"
NOT_COUNTED = " ."  # of another set, missing
FAILED = "x"


@dataclass(frozen=True)
class Disagreement:
    """One case in the answers of an analysis. Signs as docs/analysis.md explains them."""

    place: int  # in the columns of ``items``
    case: int  # number in the study
    case_id: str
    key: str
    first: str
    second: str

    @property
    def is_right(self) -> tuple[bool, bool]:
        return self.first == self.key, self.second == self.key


def disagreements(result: Json, panel: str, first: str, second: str, agree: Agree) -> list[Disagreement]:
    """The counted cases of the panel on which the two differ, in the order of their numbers.

    By option: both gave one, and not the same. By right and wrong: one is right and the other is not, failed,
    declined and late answers being wrong.
    """
    items, settings = result["items"], result["settings"]
    answers = items["answers"][first], items["answers"][second]
    found = []
    for place, key in enumerate(items["key"]):
        if items["voided"][place] == "before" or panel not in (ALL_TASKS, items["task"][place]):
            continue
        signs = answers[0][place], answers[1][place]
        if agree == Agree.OPTION:
            differ = _rated(signs, settings) and signs[0] != signs[1]
        else:
            differ = _counted(signs, settings) and (signs[0] == key) != (signs[1] == key)
        if differ:
            found.append(Disagreement(place, items["case"][place], items["case_id"][place], key, *signs))
    return found


def _rated(signs: tuple[str, str], settings: Json) -> bool:
    options = OPTIONS + (FAILED if settings["failed_in_agreement"] == "own_category" else "")
    return all(sign in options for sign in signs)


def _counted(signs: tuple[str, str], settings: Json) -> bool:
    left_out = NOT_COUNTED + (FAILED if settings["failed_in_accuracy"] == "exclude" else "")
    return not any(sign in left_out for sign in signs)
