"""Sets of texts of which people say the classes: their files, and what a classifier gave them.

The texts, which may hold what identifies a person, are kept until they are scored and no longer.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.files.kernels.sent_tables import TABLES, find_form, lines_of_table, read_rows
from annotation.files.kernels.strictjson import value_faults
from annotation.models import AnswerKey, Classifier, LabelledSet, QuestionBank, Revision, User
from annotation.questionbank.kernels.rules import compared_text
from annotation.refusals import Refused
from annotation.site.sentences import listed

MOST_ROWS, MOST_BYTES, LONGEST_TEXT = 5_000, 5_000_000, 20_000
TEXT, QUESTION, LABEL = "text", "question", "label"  # the columns


class ClassifierRefused(Refused):
    """Questions cannot be classified so; the sentence says what to do."""


class LabelledText(NamedTuple):
    text: str
    classes: list[str]


def read_labelled(content: bytes, bank: QuestionBank, labels: Sequence[str]) -> list[LabelledText]:
    """The rows of a table with a label and a text, or the number of a question of the bank.

    Raises ClassifierRefused and FileRefused with the first row that is wrong.
    """
    if len(content) > MOST_BYTES:
        raise _wrong(_("The file has more than %(n)d MB: label fewer texts.") % {"n": MOST_BYTES // 10**6})
    stream = io.BytesIO(content)
    if (form := find_form(stream)) not in TABLES:
        raise _wrong(
            _("A labelled set is a table (CSV, XLSX or Parquet) with the columns text or question, and label.")
        )
    found, asked = list[LabelledText](), dict[int, int]()
    for row in read_rows(lines_of_table(stream, form), needed=(LABEL,), known=(TEXT, QUESTION, LABEL)):
        if len(found) == MOST_ROWS:
            raise _wrong(_("The file has more than %(n)d rows: label fewer texts.") % {"n": MOST_ROWS})
        faults = [row.fault] * bool(row.fault) + [one.message for one in value_faults(TEXT, row.cells.get(TEXT))]
        if faults:
            raise _wrong_row(row.number, faults[0])
        text, number = row.cells.get(TEXT, "").strip(), row.cells.get(QUESTION, "").strip()
        classes = [one.strip() for one in row.cells[LABEL].split(";") if one.strip()]
        if strange := [one for one in classes if one not in labels]:
            sentence = _(
                "“%(label)s” is no class of this classifier. Its classes: %(known)s; none: leave the cell empty."
            )
            raise _wrong_row(row.number, sentence % {"label": strange[0][:60], "known": ", ".join(labels)})
        if bool(text) == bool(number) or len(text) > LONGEST_TEXT:
            sentence = _("State a text of at most %(n)d characters, or the number of a question.") % {"n": LONGEST_TEXT}
            raise _wrong_row(row.number, sentence)
        if number:
            if not (number.isascii() and number.isdecimal() and len(number) < 9):
                raise _wrong_row(row.number, _("“%(number)s” is no number of a question.") % {"number": number[:20]})
            asked[len(found)] = int(number)
        found.append(LabelledText(text, classes))
    if not found:
        raise _wrong(_("The file has no row below its header: label some texts first."))
    named = Revision.objects.in_bank(bank).current().filter(question__number__in=set(asked.values()))
    texts = dict(texts_of(named, "question__number"))
    if missing := sorted(set(asked.values()) - texts.keys()):
        sentence = _("“%(bank)s” holds no question %(numbers)s.")
        raise _wrong(sentence % {"bank": bank.name, "numbers": listed([str(one) for one in missing])})
    return [LabelledText(texts[asked[n]] if n in asked else one.text, one.classes) for n, one in enumerate(found)]


def _wrong(sentence: str) -> ClassifierRefused:
    return ClassifierRefused("labelled_set", sentence, status=422, field="labelled")


def _wrong_row(number: int, sentence: str) -> ClassifierRefused:
    return _wrong(_("Row %(n)d: %(what)s") % {"n": number, "what": sentence})


@transaction.atomic
def store_labelled(
    classifier: Classifier, bank: QuestionBank, name: str, content: bytes, *, actor: User | None, at: datetime
) -> LabelledSet:
    """Kept for scoring; one that was never scored goes. Raises ClassifierRefused and FileRefused."""
    read = read_labelled(content, bank, classifier.labels)
    LabelledSet.objects.filter(classifier=classifier, texts__isnull=False).delete()
    made = LabelledSet.objects.create(
        classifier=classifier,
        name=Path(name).name[:100],
        sha256=hashlib.sha256(content).hexdigest(),
        texts=[one.text for one in read],
        classes=[one.classes for one in read],
        created_by=actor,
        created_at=at,
    )
    facts = {"classifier": str(classifier), "texts": len(read), "sha256": made.sha256}
    record("classifier.labelled_set_stored", actor=actor, at=at, subject=made, facts=facts)
    return made


def texts_of(revisions: QuerySet[Revision], column: str) -> Iterator[tuple[int, str]]:
    """Stem, options and explanation of each wording, behind the value of this column."""
    explanation = Subquery(AnswerKey.objects.filter(pk=OuterRef("pk")).values("explanation"))
    rows = revisions.annotate(said=explanation).values_list(column, "stem", "options", "said")
    for value, stem, options, said in rows:
        yield value, "\n".join(filter(None, (compared_text(stem, options), said)))


def scored_in(labelled: LabelledSet, label: str) -> list[tuple[float, bool]]:
    """Of each text the probability of the class, and whether people say that it is of it."""
    place = labelled.classifier.labels.index(label)
    rows = zip(labelled.probabilities, labelled.classes, strict=False)
    return [(probabilities[place], label in classes) for probabilities, classes in rows]
