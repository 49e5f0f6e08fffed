"""The frame from which a sample is drawn: what is in it, what is left out of it, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Max, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from annotation.ingest.completeness import has_lost_images, images_of_questions, waits_for_images
from annotation.models import Gate, Question, QuestionBank, Revision
from annotation.questionbank.filters import BankFilter, BankSearch, Rows
from annotation.site.sorted_tables import Listed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FRAME_AT_ONCE = 100_000  # numbers of questions


class LostQuestion(Struct, frozen=True):
    """A question that is not drawn, because an image of its exam was removed or is in quarantine."""

    number: int
    why: str
    is_withheld: bool  # in quarantine: somebody decides about it


def listed_frame(
    rows: QuerySet[Revision], column: str, bank: QuestionBank
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], list[str], int]:
    """By number: ids, numbers and places among the values of a column, then these, and how many wait for images.

    As lists of FRAME_AT_ONCE numbers at a time: a large bank as a whole would take hundreds of megabytes.
    """
    import numpy as np

    asked = {"pks": Listed("pk"), "numbers": Listed("question__number"), "values": Listed(column)}
    last = Question.objects.filter(bank=bank).aggregate(last=Max("number"))["last"] or 0
    code_of, waits, n_waiting = dict[str, int](), Count("pk", filter=waits_for_images(bank)), 0
    pks, numbers, codes = np.empty(last, np.int64), np.empty(last, np.int64), np.empty(last, np.int32)
    n = 0
    for start in range(0, last, FRAME_AT_ONCE):
        some = rows
        if last > FRAME_AT_ONCE:
            between = {"question__number__gt": start, "question__number__lte": start + FRAME_AT_ONCE}
            some = rows.filter(question__bank=bank, **between)
        found = some.order_by().aggregate(**asked, n_waiting=waits)
        ids, of_bank, told = (found[name] or [] for name in asked)  # None: nothing can be found
        part, n = slice(n, n + len(ids)), n + len(ids)
        order = np.argsort(of_bank, kind="stable")
        pks[part], numbers[part] = np.array(ids, np.int64)[order], np.array(of_bank, np.int64)[order]
        coded = [code_of.setdefault(value, len(code_of)) for value in told]
        codes[part] = np.array(coded, np.int32)[order]
        n_waiting += found["n_waiting"] or 0
    return pks[:n], numbers[:n], codes[:n], list(code_of), n_waiting


def described_frame(n_chosen: int, wanted: Mapping[str, str], gate: Gate | None, n_kept_out: int) -> dict[str, Any]:
    found: dict[str, Any] = {"chosen": n_chosen} if n_chosen else {"filters": dict(wanted)} if wanted else {}
    return {**found, "kept_out": {"parts": gate.parts, "gate": str(gate), "n": n_kept_out}} if gate else found


def frame_rows(frame: Mapping[str, Any], n_frame: int) -> list[tuple[str, int]]:
    """From what was asked for to the frame, and how many of it wait: in words, with numbers. Empty where the frame was
    stored before that was counted.
    """
    if "left_out" not in frame:
        return []
    words = {
        "withdrawn": _("left out: withdrawn"),
        "quarantine": _("left out: an image is in quarantine"),
        "removed": _("left out: an image was removed"),
        "kept_out": _("left out: fails the gate"),
    }
    first = (
        _("Selected") if "chosen" in frame else _("Found by the filters") if "filters" in frame else _("In the bank")
    )
    left_out = [(words[why], n) for why, n in frame["left_out"].items() if n]
    waiting = [(_("of these, images have not come"), frame["n_waiting"])] if frame["n_waiting"] else []
    return [(first, n_frame + sum(n for _why, n in left_out)), *left_out, (_("In the frame"), n_frame), *waiting]


def lost_questions(rows: QuerySet[Revision], is_lost: Q) -> list[LostQuestion]:
    """Those of the rows that lost an image, by number, each with why."""
    rows = rows.filter(is_lost).order_by("question__number")
    images = images_of_questions(rows.values_list("question__number", "question__exam", "images_left_out"))
    return [LostQuestion(number, "; ".join(one.lost), bool(one.withheld)) for number, one in images.items()]


def _by_images(rows: Rows, search: BankSearch, value: str) -> Rows:
    is_lost, waits = has_lost_images(search.bank), waits_for_images(search.bank)
    if value == "lost":
        return rows.filter(is_lost)
    return rows.exclude(is_lost).filter(waits if value == "waiting" else ~waits)


BY_IMAGES = BankFilter(
    name="images",
    label=gettext_lazy("Images"),
    choices=lambda _search: [
        ("here", _("here")),
        ("waiting", _("have not come")),
        ("lost", _("in quarantine or removed")),
    ],
    narrow=_by_images,
)
