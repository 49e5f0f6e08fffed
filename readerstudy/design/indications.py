"""Whether the indications that an arm shows could give answers away: said, never in the way of freezing.

What is said here comes of keys and reports: it is for people who may see those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.models import AnswerKey, Revision
from readerstudy.design.casting import listed
from readerstudy.design.checking import named_case
from readerstudy.design.hinting import shared_words
from readerstudy.design.options import LETTERS
from readerstudy.enums import Information
from readerstudy.models import ReaderStudy


@dataclass(frozen=True)
class Hint:
    """Words of an indication that are also words of an option; ``of_key``: of the right one among others."""

    words: tuple[str, ...]
    of_key: bool

    def __str__(self) -> str:
        words = ", ".join(self.words)
        return _("%(words)s: in the right answer") % {"words": words} if self.of_key else words


def hints_in(study: ReaderStudy, revisions: Iterable[Revision]) -> dict[int, Hint]:
    """By revision, only where there is one. Empty where no arm shows indications."""
    if not study.arms.filter(information=Information.INDICATION).exists():
        return {}
    options = {revision.pk: revision.options for revision in revisions}
    rows = AnswerKey.objects.filter(pk__in=options, report__isnull=False).exclude(report__indication="")
    told = rows.values_list("pk", "key", "report__indication")
    found = ((pk, _hint(indication, options[pk], key)) for pk, key, indication in told)
    return {pk: hint for pk, hint in found if hint is not None}


def indication_notes(study: ReaderStudy) -> list[str]:
    """One sentence that names the cases with such an indication; none where there are none."""
    cases = list(study.cases.select_related("revision").order_by("block", "number"))
    hints = hints_in(study, [case.revision for case in cases])
    names = [f"{named_case(case)} ({hints[case.revision_id]})" for case in cases if case.revision_id in hints]
    if not names:
        return []
    sentence = _(
        "The indication of these cases has a word that only some of the options have: %(names)s. Read them: where one "
        "gives the answer away, leave the case out, or show no indication."
    )
    return [sentence % {"names": listed(names)}]


def _hint(indication: str, options: Sequence[str], key: str) -> Hint | None:
    of_option = dict(zip(LETTERS, shared_words(indication, options), strict=False))
    words = tuple(dict.fromkeys(word for words in of_option.values() for word in words))
    return Hint(words, bool(of_option.get(key))) if words else None
