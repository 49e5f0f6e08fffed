"""Who knows the key of which question, and so cannot judge it blind in a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.enums import KeySource, ReturnReason, RoundSteps
from annotation.models import Assignment, BankImport, Review, ReviewRound, Revision, SeenKey, User
from annotation.questionbank.priors import questions_showing
from annotation.site.hooks import Conflict

AT_ONCE = 500  # ids in one query
QUESTION = "revision__question"
Names = Mapping[int, str]


def who_knows_keys(
    people: Sequence[int], questions: Sequence[int], review_round: ReviewRound | None = None
) -> Iterator[Conflict]:
    """Everybody among these people who read, imported or reviewed one of the questions; the first reason of each.

    What they have in ``review_round`` itself does not count. The reasons are sentences that a coordinator reads.
    """
    names = {person.pk: person.name for person in User.objects.filter(pk__in=people)}
    wanted, named = set(questions), set[tuple[int, int]]()
    for conflict in (*_read(names), *_imported(names, questions), *_reviewed(names, review_round), *_acquainted(names)):
        pair = (conflict.person_id, conflict.question_id)
        if conflict.question_id in wanted and pair not in named:
            named.add(pair)
            yield conflict


def shown_keys() -> QuerySet[Assignment]:
    """What showed a reviewer the key: answered blind, or opened in a round that asks for the judgement only.

    Nobody saw anything where a review is simulated.
    """
    opened = Q(round__steps=RoundSteps.OPEN, opened_at__isnull=False)
    shown = Assignment.objects.filter(Q(blind_answer__isnull=False) | opened)
    return shown.exclude(Exists(Review.objects.filter(assignment=OuterRef("pk"), simulated=True)))


def _read(names: Names) -> Iterator[Conflict]:
    labels = {source.value: _(source.label) for source in KeySource}
    rows = SeenKey.objects.filter(person__in=names).values_list("person", "question", "source")
    for person, question, source in rows:
        facts = {"name": names[person], "where": labels[source]}
        yield Conflict(person, question, _("%(name)s has seen its key (%(where)s).") % facts)


def _imported(names: Names, questions: Sequence[int]) -> Iterator[Conflict]:
    imports = BankImport.objects.filter(actor__in=names).values_list("pk", "actor")
    person_of = {pk: actor for pk, actor in imports if actor is not None}
    for start in range(0, len(questions) if person_of else 0, AT_ONCE):
        rows = Revision.objects.filter(question__in=questions[start : start + AT_ONCE], bank_import__in=person_of)
        for question, bank_import in rows.order_by().values_list("question", "bank_import"):
            person = person_of[bank_import]
            yield Conflict(person, question, _("%(name)s imported it, with its key.") % {"name": names[person]})


def _reviewed(names: Names, review_round: ReviewRound | None) -> Iterator[Conflict]:
    elsewhere = shown_keys().filter(reviewer__in=names).exclude(round=review_round).order_by("pk")
    for person, question, name in elsewhere.values_list("reviewer", QUESTION, "round__name"):
        facts = {"name": names[person], "round": name}
        yield Conflict(person, question, _("%(name)s saw its key in the round “%(round)s”.") % facts)


def _acquainted(names: Names) -> Iterator[Conflict]:
    """All questions on the exams of patients whom they know, and on exams that share a prior with these."""
    known = Assignment.objects.filter(reviewer__in=names, returned_because=ReturnReason.KNOWS_PATIENT)
    rows = known.values_list("reviewer", f"{QUESTION}__exam", f"{QUESTION}__exam__prior")
    seen = [(person, exam) for person, *exams in rows for exam in exams if exam is not None]
    showing = questions_showing({exam for _person, exam in seen})
    for person, exam in seen:
        for question in showing.get(exam, ()):
            yield Conflict(person, question, _("%(name)s knows the patient.") % {"name": names[person]})
