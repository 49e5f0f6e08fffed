"""Who must not meet which question: reviewers of a question do not read it, and its readers do not review it.

The same holds for two questions that show one exam, be it as prior, while the study goes on: a review opens the report
of the exam.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.contributions import Conflict
from annotation.enums import AssignmentState, KeySource
from annotation.models import Assignment, Question, Revision, SeenKey, User
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.priors import questions_showing
from annotation.site.sentences import listed
from readerstudy.enums import OVER, Block
from readerstudy.models import CaseSet, Enrolment, ReaderStudy, StudyCase

QUESTION = "revision__question"
SHOWN = (f"{QUESTION}__exam", f"{QUESTION}__exam__prior")


def readers_do_not_review(people: Collection[int], questions: Collection[int]) -> Iterator[Conflict]:
    """The rule for annotation.contributions: nobody reviews a question that they read, or will read, in a study.

    Whoever left a study keeps only what they had opened.
    """
    names = {person.pk: str(person) for person in User.objects.filter(pk__in=people)}
    itself = _("%(name)s reads this question in the study “%(study)s”.")
    beside = _("%(name)s reads another question on these images in the study “%(study)s”.")
    readers = Enrolment.objects.filter(reader__in=people)
    found = (
        *((row, itself) for row in _will_read(people, questions)),
        *((row, itself) for row in _rows(readers, f"readings__case__{QUESTION}", questions)),
        *((row, beside) for row in _read_its_images(people, questions)),
    )
    seen: set[tuple[int, int]] = set()
    for (person, question, study), sentence in found:
        if (person, question) not in seen:
            seen.add((person, question))
            yield Conflict(person, question, sentence % {"name": names[person], "study": study})


Row = tuple[int, int, str]  # person, question, study


def _will_read(people: Collection[int], questions: Collection[int]) -> Iterable[Row]:
    there = _there(people)
    yield from _rows(there, f"case_set__cases__{QUESTION}", questions)
    yield from _rows(there.filter(study__cases__block=Block.PRACTICE), f"study__cases__{QUESTION}", questions)


def _read_its_images(people: Collection[int], questions: Collection[int]) -> Iterable[Row]:
    """Questions that show an exam of a study that is not over, or a prior of one, or an exam with it as prior."""
    there = _there(people).exclude(study__state__in=OVER)
    practising = there.filter(study__cases__block=Block.PRACTICE)
    seen = [
        (person, exam, study)
        for enrolments, cases in ((there, "case_set__cases"), (practising, "study__cases"))
        for person, study, *exams in enrolments.order_by("pk").values_list(
            "reader", "study__name", *(f"{cases}__{one}" for one in SHOWN)
        )
        for exam in exams
        if exam is not None
    ]
    showing = questions_showing({exam for _person, exam, _study in seen})
    for person, exam, study in seen:
        for question in showing.get(exam, ()):
            if question in questions:
                yield person, question, study


def _there(people: Collection[int]) -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(reader__in=people, withdrawn_at=None, replaced_at=None)


def _rows(enrolments: QuerySet[Enrolment], question: str, questions: Collection[int]) -> Iterable[Row]:
    """One query. The questions, of which there can be many, are compared here."""
    rows = enrolments.order_by("pk").values_list("reader", question, "study__name")
    return (row for row in rows.iterator(chunk_size=2000) if row[1] in questions)


def may_not_read(reader: User, study: ReaderStudy, case_set: CaseSet | None = None) -> list[str]:
    """Why this person must not read in the study: sentences that a coordinator reads, none when they may.

    Nobody reads a question that they reviewed, adjudicated, revised or imported, nor one of which they have seen the
    key, nor one that is assigned to them for review, nor one on the images of such a question, also as a prior, whose
    report its review opens, nor one whose key the practice block of another study shows them. ``case_set``: only the
    cases of this set and the practice block.
    """
    cases = StudyCase.objects.filter(study=study)
    if case_set is not None:
        cases = cases.filter(Q(block=Block.PRACTICE) | Q(sets=case_set))
    rows = list(cases.values_list(QUESTION, f"{QUESTION}__number", *SHOWN, "block"))
    number_of = {question: number for question, number, *_rest in rows}
    showing: dict[int, set[int]] = defaultdict(set)  # by exam: the questions of the study that show it
    for _question, number, exam, prior, _block in rows:
        for shown in {exam, prior} - {None}:
            showing[shown].add(number)
    reviewed = (
        Assignment.objects.filter(reviewer=reader)
        .exclude(state=AssignmentState.WITHDRAWN, opened_at=None)
        .values_list(QUESTION, *SHOWN)
    )
    brought = Revision.objects.filter(question__in=number_of, bank_import__actor=reader)
    found: dict[str, set[int]] = defaultdict(set)
    for question, exam, prior in reviewed:
        if question in number_of:
            found["reviewed"].add(number_of[question])
        else:
            found["beside"] |= showing.get(exam, set()) | showing.get(prior, set())
    for question in SeenKey.objects.filter(person=reader, question__in=number_of).values_list("question", flat=True):
        found["seen"].add(number_of[question])
    for question in brought.values_list("question", flat=True):
        found["imported"].add(number_of[question])
    for why, block, questions in _keys_elsewhere(reader, study):
        found[why].update(number for question, number, *_shown, its in rows if its == block and question in questions)
    sentences = {
        "reviewed": ngettext(
            "%(name)s reviews, or has reviewed, a question of this study: %(numbers)s.",
            "%(name)s reviews, or has reviewed, questions of this study: %(numbers)s.",
            len(found["reviewed"]),
        ),
        "beside": ngettext(
            "%(name)s reviews, or has reviewed, another question on images of this study: %(numbers)s.",
            "%(name)s reviews, or has reviewed, other questions on images of this study: %(numbers)s.",
            len(found["beside"]),
        ),
        "seen": _("%(name)s has seen keys of this study, or judged pairs of its questions: %(numbers)s."),
        "imported": _("%(name)s imported questions of this study, with their keys: %(numbers)s."),
        "practised": _(
            "%(name)s practises, or has practised, with questions of this study and sees their keys: %(numbers)s."
        ),
        "read": _("%(name)s reads questions, with which this study practises, in another one: %(numbers)s."),
    }
    return [
        sentence % {"name": reader, "numbers": listed([str(number) for number in sorted(found[why])])}
        for why, sentence in sentences.items()
        if found[why]
    ]


def _keys_elsewhere(reader: User, study: ReaderStudy) -> Iterator[tuple[str, Block, set[int]]]:
    """Which questions this person practises in other studies, with their keys, and which they are to read in others."""
    there = _there([reader.pk]).exclude(study__state__in=OVER)
    others = StudyCase.objects.exclude(study=study)
    practice = others.filter(block=Block.PRACTICE)
    practised = practice.filter(Q(study__enrolments__in=there) | Q(readings__enrolment__reader=reader))
    yield "practised", Block.MAIN, set(practised.values_list(QUESTION, flat=True))
    yield "read", Block.PRACTICE, set(others.filter(sets__enrolments__in=there).values_list(QUESTION, flat=True))


def note_study_keys(study: ReaderStudy, *, actor: User | None, at: datetime, revision: int | None = None) -> None:
    """A coordinator is shown, or takes out, the keys of the cases, or one of them; a command does that for nobody."""
    if actor is not None:
        cases = study.cases.all() if revision is None else study.cases.filter(revision=revision)
        questions = Question.objects.filter(revisions__in=cases.values("revision"))
        note_seen_keys(actor, questions, source=KeySource.STUDY, subject=study, at=at)
