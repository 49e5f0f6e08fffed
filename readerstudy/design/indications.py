"""Whether the indications that an arm shows could give answers away: by a rule, and stated by who read them.

What the rule finds never blocks freezing; a missing statement does. Both come of keys and reports: they are for
people who may see those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from annotation.models import AnswerKey, AuditEvent, Revision
from annotation.site.slugs import listed
from readerstudy.design.checking import named_case
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.design.kernels.options import LETTERS, marked, shared_words
from readerstudy.enums import Information
from readerstudy.models import ReaderStudy, StudyCase
from readerstudy.study.locking import StudyRefused

FROZEN, READ = "study.frozen", "indications_read"  # the audit event of freezing, and its fact


@dataclass(frozen=True)
class Hint:
    """Words of an indication that are also words of an option; ``of_key``: of the right one among others."""

    words: tuple[str, ...]
    of_key: bool

    def __str__(self) -> str:
        words = ", ".join(self.words)
        return _("%(words)s: in the right answer") % {"words": words} if self.of_key else words


@dataclass(frozen=True)
class IndicatedCase:
    """A case with what is to be read of it: its indication, what the rule found in it, and its key."""

    case: StudyCase
    indication: str
    key: str
    hint: Hint | None

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The indication; true for the words that the rule marks."""
        return marked(self.indication, self.hint.words if self.hint else ())

    @property
    def options(self) -> list[tuple[str, list[tuple[str, bool]], bool]]:
        """Letter, pieces of the text, whether it is the key."""
        words = self.hint.words if self.hint else ()
        texts = zip(LETTERS, self.case.revision.options, strict=False)
        return [(letter, marked(text, words), letter == self.key) for letter, text in texts]


@dataclass(frozen=True)
class Statement:
    """Somebody has read the indications of all cases, and none gives an answer away. ``who``: empty for the command."""

    who: str
    at: datetime


def shows_indications(study: ReaderStudy) -> bool:
    return study.arms.filter(information=Information.INDICATION).exists()


def cases_with_information(study: ReaderStudy) -> list[IndicatedCase]:
    """Every case with its indication, empty where the report has none; the practice block last."""
    cases = list(study.cases.select_related("revision__question").order_by("block", "number"))
    rows = AnswerKey.objects.filter(pk__in=[case.revision_id for case in cases])
    found = {pk: (key, indication or "") for pk, key, indication in rows.values_list("pk", "key", "report__indication")}
    indicated = []
    for case in cases:
        key, indication = found.get(case.revision_id, ("", ""))
        indicated.append(IndicatedCase(case, indication, key, _hint(indication, case.revision.options, key)))
    return indicated


def sha256_of_information(indicated: Iterable[IndicatedCase]) -> str:
    """Of what was read, so that a statement does not outlive a change. Made of keys: never stored, only compared."""
    rows = [[one.case.block, one.case.number, one.case.revision_id, one.indication, one.key] for one in indicated]
    return sha256_of(canonical(rows))


def check_indications_read(study: ReaderStudy, read: str) -> bool:
    """Whether there was anything to read. Refused unless ``read`` is the hash of what shows now."""
    if not shows_indications(study):
        return False
    if read != sha256_of_information(cases_with_information(study)):
        sentence = _(
            "Readers will see indications. Read those of all cases, practice too, as they stand now, and state that "
            "none of them gives an answer away."
        )
        raise StudyRefused("indications_not_read", sentence)
    return True


def statement_on(study: ReaderStudy) -> Statement | None:
    """Who froze the study with the statement; None where nobody made it, as before it was asked for."""
    frozen = AuditEvent.objects.filter(act=FROZEN, subject_type="readerstudy", subject_id=str(study.pk))
    event = frozen.select_related("actor").order_by("pk").last()
    if event is None or not event.facts.get(READ):
        return None
    return Statement(event.actor.name if event.actor else "", event.at)


def hints_in(study: ReaderStudy, revisions: Iterable[Revision]) -> dict[int, Hint]:
    """By revision, only where there is one. Empty where no arm shows indications."""
    if not shows_indications(study):
        return {}
    options = {revision.pk: revision.options for revision in revisions}
    rows = AnswerKey.objects.filter(pk__in=options, report__isnull=False).exclude(report__indication="")
    indicated = rows.values_list("pk", "key", "report__indication")
    found = ((pk, _hint(indication, options[pk], key)) for pk, key, indication in indicated)
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
