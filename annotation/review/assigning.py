"""Who may review which question, and who gets it when a round is made. What changes later: reassigning.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import cast

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.contributions import Conflict, conflicts
from annotation.enums import AssignmentState, KeySource, ReturnReason, Role, RoundState, RoundSteps, Task
from annotation.models import (
    Assignment,
    BankImport,
    Competence,
    Edit,
    Membership,
    Review,
    ReviewRound,
    Revision,
    SampledQuestion,
    SeenKey,
    User,
)
from annotation.people.roles import add_role
from annotation.questionbank.priors import questions_showing
from annotation.review.kernels.allotment import Item, allot, too_few_for
from annotation.review.kernels.transitions import UNFINISHED, ReviewRefused
from annotation.review.samples import place_repeats
from annotation.site.sorted_tables import Listed, analyze

AT_ONCE = 500  # ids in one query
QUESTION = "revision__question"
Names = Mapping[int, str]


def who_knows_keys(
    people: Collection[int], questions: Collection[int], review_round: ReviewRound | None = None
) -> Iterator[Conflict]:
    """Who of these people wrote, read, imported or reviewed one of the questions; the first reason of each.

    What they have in ``review_round`` itself does not count. The reasons are sentences that a coordinator reads.
    """
    names = {person.pk: person.name for person in User.objects.filter(pk__in=people)}
    named = set[tuple[int, int]]()
    known = (*_wrote(names), *_read(names), *_imported(names, questions), *_reviewed(names, review_round))
    for conflict in (*known, *_acquainted(names)):
        pair = (conflict.person_id, conflict.question_id)
        if conflict.question_id in questions and pair not in named:
            named.add(pair)
            yield conflict


def shown_keys() -> QuerySet[Assignment]:
    """What showed a reviewer the key: answered blind, or opened or judged in a round that asks for the judgement only.

    Nobody saw anything where a review is simulated.
    """
    seen = Q(opened_at__isnull=False) | Q(state=AssignmentState.SUBMITTED)  # imported reviews were opened elsewhere
    shown = Assignment.objects.filter(Q(blind_answer__isnull=False) | Q(seen, round__steps=RoundSteps.OPEN))
    return shown.exclude(Exists(Review.objects.filter(assignment=OuterRef("pk"), simulated=True)))


def _read(names: Names) -> Iterator[Conflict]:
    labels = {source.value: _(source.label) for source in KeySource}
    rows = SeenKey.objects.filter(person__in=names).values_list("person", "question", "source")
    for person, question, source in rows:
        facts = {"name": names[person], "where": labels[source]}
        of_pairs = _("%(name)s has seen its stem and options (%(where)s).")
        of_key = _("%(name)s has seen its key (%(where)s).")
        yield Conflict(person, question, (of_pairs if source == KeySource.PAIRS else of_key) % facts)


def _imported(names: Names, questions: Collection[int]) -> Iterator[Conflict]:
    imports = BankImport.objects.filter(actor__in=names).values_list("pk", "actor")
    person_of = {pk: actor for pk, actor in imports if actor is not None}
    ids = list(questions) if person_of else []
    for start in range(0, len(ids), AT_ONCE):
        rows = Revision.objects.filter(question__in=ids[start : start + AT_ONCE], bank_import__in=person_of)
        for question, bank_import in rows.order_by().values_list("question", "bank_import"):
            person = person_of[bank_import]
            yield Conflict(person, question, _("%(name)s imported it, with its key.") % {"name": names[person]})


def _wrote(names: Names) -> Iterator[Conflict]:
    rows = Edit.objects.filter(author__in=names).values_list("author", "revision__question").distinct()
    for person, question in rows:
        yield Conflict(person, question, _("%(name)s wrote a revision of it.") % {"name": names[person]})


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


BATCH = 2000
# (index of the person, question number) -> sentences for a coordinator
Conflicts = dict[tuple[int, int], set[str]]


def outside_competences(people: Sequence[User], plan_id: int) -> Conflicts:
    """Questions whose category and task are none of those that a reviewer is for. Who has no competence has all."""
    found: Conflicts = {}
    words: dict[int, set[str]] = defaultdict(set)
    for pk, word in Competence.objects.filter(person__in=people).values_list("person", "word"):
        words[pk].add(word.casefold())
    if not words:
        return found
    labels = {task.value: {task.value, task.label.casefold()} for task in Task}
    drawn = SampledQuestion.objects.filter(plan=plan_id)
    columns = ("revision__question__number", "revision__category", "revision__task")
    for number, category, task in drawn.values_list(*columns):
        for index, person in enumerate(people):
            if words[person.pk] and not words[person.pk] & {category.casefold(), *labels.get(task, ())}:
                found[index, number] = {_("%(name)s reviews other categories only.") % {"name": person}}
    return found


class SampleQuestion(Struct, frozen=True):
    """A question of the sample, as assigning needs it."""

    revision_id: int
    question_id: int
    number: int
    exam_id: int


def lock_round(review_round: ReviewRound) -> None:
    """Bring the row up to date and lock it until the transaction ends."""
    review_round.refresh_from_db(from_queryset=ReviewRound.objects.select_for_update())


class Planned(Struct, frozen=True):
    """Who gets what: for each person their revisions, in their order."""

    people: list[User]
    orders: list[list[int]]


def assign_round(review_round: ReviewRound, reviewers: Sequence[User], *, actor: User, at: datetime) -> int:
    """Assign a draft, anew if it was assigned before; returns how many assignments there are.

    Each question goes to as many different reviewers as the round wants, equally many to each, by the seed of the
    round; everybody has an own order. Raises ReviewRefused for a round that is not a draft, and as plan_assignments.
    """
    planned = plan_assignments(
        review_round.plan_id,
        reviewers,
        review_round.reviewers_per_question,
        review_round.seed,
        steps=review_round.steps,
        review_round=review_round,
    )
    return store_assignments(review_round, planned, actor=actor, at=at)


def plan_assignments(
    plan_id: int,
    reviewers: Sequence[User],
    per_question: int,
    seed: int,
    *,
    steps: str = RoundSteps.FULL,
    review_round: ReviewRound | None = None,
) -> Planned:
    """Share the questions of a sample among people. Reads only, so it can be done before a transaction begins.

    ``review_round``: the one that is assigned, where there is one already. Raises ReviewRefused when there are fewer
    reviewers than a question needs, when one cannot log in, and when too few are eligible for a question.
    """
    people = sorted({person.pk: person for person in reviewers}.values(), key=lambda person: person.email)
    _check_reviewers(people, per_question)
    questions = drawn_questions(plan_id)
    revision_of = {one.number: one.revision_id for one in questions}
    conflicting = ineligible(people, {one.question_id: one.number for one in questions}, steps, review_round)
    for pair, why in outside_competences(people, plan_id).items():
        conflicting.setdefault(pair, set()).update(why)
    orders = _allotted(questions, len(people), per_question, seed, conflicting)
    return Planned(people, [[revision_of[number] for number in order] for order in orders])


@transaction.atomic
def store_assignments(review_round: ReviewRound, planned: Planned, *, actor: User, at: datetime) -> int:
    """Write what was planned in place of what a draft had; who is left out leaves the round."""
    lock_round(review_round)
    if review_round.state != RoundState.DRAFT:
        raise ReviewRefused("not_draft", _("The round is open: add, remove or reassign reviewers instead."))
    before = Assignment.objects.filter(round=review_round)
    left_out = User.objects.filter(pk__in=before.values("reviewer")).exclude(pk__in=[one.pk for one in planned.people])
    Membership.objects.filter(round=review_round, role=Role.REVIEWER, user__in=left_out).delete()
    clear_assignments(review_round)
    rows = (
        Assignment(round=review_round, reviewer=person, revision_id=revision_id, position=position)
        for person, order in zip(planned.people, planned.orders, strict=True)
        for position, revision_id in enumerate(order, 1)
    )
    n_made = len(Assignment.objects.bulk_create(rows, batch_size=BATCH))
    analyze(n_made, Assignment)
    n_made += place_repeats(review_round, [person.pk for person in planned.people])
    for person in planned.people:
        make_reviewer(review_round, person, actor=actor, at=at)
    facts = {"reviewers": len(planned.people), "assignments": n_made, "seed": review_round.seed}
    record("round.assigned", actor=actor, at=at, subject=review_round, facts=facts)
    return n_made


def make_reviewer(review_round: ReviewRound, person: User, *, actor: User | None, at: datetime) -> None:
    """Give the role in the round. Raises PeopleRefused for somebody who must not hold it."""
    add_role(person, Role.REVIEWER, review_round, granted_by=actor, actor=actor, at=at)


def _check_reviewers(people: Sequence[User], per_question: int) -> None:
    if len(people) < per_question:
        raise ReviewRefused(
            "too_few_reviewers",
            ngettext(
                "Each question needs %(k)s different reviewers, and %(n)s is chosen: choose more reviewers, or fewer "
                "reviews of each question.",
                "Each question needs %(k)s different reviewers, and %(n)s are chosen: choose more reviewers, or fewer "
                "reviews of each question.",
                len(people),
            )
            % {"k": per_question, "n": len(people)},
        )
    for person in people:
        check_may_log_in(person)


def check_may_log_in(person: User) -> None:
    if not person.is_active:
        raise ReviewRefused("cannot_log_in", _("%(name)s cannot log in and so cannot review.") % {"name": person})


def drawn_questions(plan_id: int) -> list[SampleQuestion]:
    rows = SampledQuestion.objects.filter(plan=plan_id).values_list(
        "revision_id", "revision__question_id", "revision__question__number", "revision__question__exam_id"
    )
    return sorted((SampleQuestion(*row) for row in rows), key=lambda one: one.number)


def numbers_drawn(plan_id: int) -> Mapping[int, int]:
    """By the ids of the questions; read once somebody asks for one, which most rules do of few people."""

    def read() -> dict[int, int]:
        columns = {"ids": Listed("revision__question_id"), "numbers": Listed("revision__question__number")}
        found = SampledQuestion.objects.filter(plan=plan_id).aggregate(**columns)
        return dict(zip(found["ids"], found["numbers"], strict=True))

    return cast("Mapping[int, int]", SimpleLazyObject(read))


def _allotted(
    questions: Sequence[SampleQuestion], n_people: int, per_question: int, seed: int, conflicting: Conflicts
) -> list[list[int]]:
    items = [Item(one.number, one.exam_id) for one in questions]
    short = too_few_for(items, n_people, per_question, set(conflicting))
    if short is not None:
        number, n_possible = short
        facts = {
            "number": number,
            "n": n_possible,
            "k": per_question,
            "reasons": sentences(why for (_index, of), why in conflicting.items() if of == number),
        }
        sentence = _("Question %(number)s can be given to only %(n)s of these reviewers, and needs %(k)s. %(reasons)s")
        raise ReviewRefused("too_few_reviewers", sentence % facts)
    return allot(items, n_people, per_question, seed, set(conflicting))


def ineligible(
    people: Sequence[User], number_of: Mapping[int, int], steps: str, review_round: ReviewRound | None
) -> Conflicts:
    """Who must not meet which of these questions, given by id and number, and why.

    Whoever knows a key may still judge its question in a round that asks for no blind answer.
    """
    index_of = {person.pk: index for index, person in enumerate(people)}
    knowing = who_knows_keys(index_of, number_of, review_round) if steps == RoundSteps.FULL else ()
    conflicting: Conflicts = defaultdict(set)
    for conflict in (*conflicts(index_of, number_of), *knowing):
        conflicting[index_of[conflict.person_id], number_of[conflict.question_id]].add(conflict.reason)
    return conflicting


def sentences(reasons: Iterable[set[str]]) -> str:
    return " ".join(sorted(set().union(*reasons)))


class Ineligible(Struct, frozen=True):
    """Questions of a round that one of its reviewers must not judge, and the sentences that say why."""

    person: User
    numbers: list[int]
    reasons: str

    @property
    def shown(self) -> str:
        return listed(self.numbers)


def ineligible_reviewers(review_round: ReviewRound, people: Sequence[User]) -> list[Ineligible]:
    """For the page of a round, whose assignments leave these questions out."""
    conflicting = ineligible(people, numbers_drawn(review_round.plan_id), review_round.steps, review_round)
    found = []
    for index, person in enumerate(people):
        theirs = {number: why for (one, number), why in conflicting.items() if one == index}
        if theirs:
            found.append(Ineligible(person, sorted(theirs), sentences(theirs.values())))
    return found


def listed(numbers: Sequence[int]) -> str:
    """The first ten numbers; a long list ends in dots."""
    return ", ".join(str(number) for number in numbers[:10]) + (" …" if len(numbers) > 10 else "")


def reviewers_of(review_round: ReviewRound) -> list[User]:
    """People with questions still to do in the round, or with the role of reviewer in it, by e-mail."""
    unfinished = Assignment.objects.filter(round=review_round, state__in=UNFINISHED)
    members = Membership.objects.filter(round=review_round, role=Role.REVIEWER)
    people = Q(pk__in=unfinished.values("reviewer")) | Q(pk__in=members.values("user"))
    return list(User.objects.filter(people).order_by("email"))


def assigned_now(review_round: ReviewRound) -> QuerySet[Assignment]:
    return Assignment.objects.filter(round=review_round).exclude(state=AssignmentState.WITHDRAWN)


def clear_assignments(review_round: ReviewRound) -> None:
    """Delete all assignments of a round in which nobody has answered anything."""
    rows = Assignment.objects.filter(round=review_round)
    rows.update(reassigned_from=None, repeats=None)
    rows.delete()
