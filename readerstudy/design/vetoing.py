"""Who must not meet which question: reviewers of a question do not read it, and its readers do not review it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.enums import AssignmentState
from annotation.models import Assignment, Revision, User
from annotation.vetoes import Veto
from readerstudy.design.casting import listed
from readerstudy.enums import Block
from readerstudy.models import CaseSet, Enrolment, ReaderStudy, StudyCase


def readers_do_not_review(people: Collection[int], questions: Collection[int]) -> Iterator[Veto]:
    """The rule for annotation.vetoes: nobody reviews a question that they read, or will read, in a study.

    Whoever left a study keeps only what they had opened.
    """
    names = {person.pk: str(person) for person in User.objects.filter(pk__in=people)}
    seen: set[tuple[int, int]] = set()
    for person, question, study in (*_will_read(people, questions), *_have_read(people, questions)):
        if (person, question) not in seen:
            seen.add((person, question))
            facts = {"name": names[person], "study": study}
            yield Veto(person, question, _("%(name)s reads this question in the study “%(study)s”.") % facts)


Row = tuple[int, int, str]  # person, question, study


def _will_read(people: Collection[int], questions: Collection[int]) -> Iterable[Row]:
    there = Enrolment.objects.filter(reader__in=people, withdrawn_at=None, replaced_at=None)
    yield from _rows(there, "case_set__cases__revision__question", questions)
    yield from _rows(there.filter(study__cases__block=Block.PRACTICE), "study__cases__revision__question", questions)


def _have_read(people: Collection[int], questions: Collection[int]) -> Iterable[Row]:
    yield from _rows(Enrolment.objects.filter(reader__in=people), "readings__case__revision__question", questions)


def _rows(enrolments: QuerySet[Enrolment], question: str, questions: Collection[int]) -> Iterable[Row]:
    """One query. The questions, of which there can be many, are compared here."""
    wanted = set(questions)
    rows = enrolments.order_by("pk").values_list("reader", question, "study__name")
    return (row for row in rows.iterator(chunk_size=2000) if row[1] in wanted)


def may_not_read(reader: User, study: ReaderStudy, case_set: CaseSet | None = None) -> list[str]:
    """Why this person must not read in the study: sentences that a coordinator reads, none when they may.

    Nobody reads a question that they reviewed, adjudicated, revised or imported, nor one that is assigned to them
    for review. ``case_set``: only the cases of this set and the practice block.
    """
    cases = StudyCase.objects.filter(study=study)
    if case_set is not None:
        cases = cases.filter(Q(block=Block.PRACTICE) | Q(sets=case_set))
    number_of = dict(cases.values_list("revision__question", "revision__question__number"))
    reviewed = (
        Assignment.objects.filter(reviewer=reader, revision__question__in=number_of)
        .exclude(state=AssignmentState.WITHDRAWN, opened_at=None)
        .values_list("revision__question", flat=True)
    )
    brought = Revision.objects.filter(question__in=number_of, bank_import__actor=reader)
    found: dict[str, set[int]] = defaultdict(set)
    for question in reviewed:
        found["reviewed"].add(number_of[question])
    for question in brought.values_list("question", flat=True):
        found["imported"].add(number_of[question])
    sentences = {
        "reviewed": ngettext(
            "%(name)s reviews, or has reviewed, a question of this study: %(numbers)s.",
            "%(name)s reviews, or has reviewed, questions of this study: %(numbers)s.",
            len(found["reviewed"]),
        ),
        "imported": _("%(name)s imported questions of this study, with their keys: %(numbers)s."),
    }
    return [
        sentence % {"name": reader, "numbers": listed([str(number) for number in sorted(found[why])])}
        for why, sentence in sentences.items()
        if found[why]
    ]
