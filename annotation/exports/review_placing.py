"""The rows of a file of reviews beside a round: whose review of which wording each is, or why it is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.enums import AssignmentState, Role, RoundSteps
from annotation.exports.kernels.review_cells import CellFault, ReviewRow
from annotation.exports.reviews import reviewer_pseudonym
from annotation.models import Assignment, ReviewRound, SampledQuestion, User
from annotation.people.links import PeopleRefused
from annotation.people.roles import check_no_role_conflict
from annotation.review.assigning import SampleQuestion, ineligible, sentences

TAKES_REVIEW = frozenset({AssignmentState.WAITING, AssignmentState.SKIPPED})
WHY_NOT = {
    AssignmentState.SUBMITTED: "A review of this question by this reviewer is stored. Leave the row out.",
    AssignmentState.ANSWERED: "This reviewer has answered the question here and is to finish it. Leave the row out.",
    AssignmentState.RETURNED: "This reviewer handed the question back. Leave the row out.",
}


@dataclass(frozen=True)
class PlacedWording:
    """A question of the sample, in the wording that the round reviews."""

    question: SampleQuestion
    public_id: str
    revision: int


@dataclass(frozen=True)
class PlacedReview:
    """A row beside the round: whose review of which wording it is."""

    row: ReviewRow
    person: User
    wording: PlacedWording

    @property
    def key(self) -> tuple[int, int]:
        return self.person.pk, self.wording.question.revision_id


class Placing:
    """The rows of a file beside the round: what each is, or why it is refused."""

    def __init__(self, review_round: ReviewRound, rows: Sequence[ReviewRow]) -> None:
        self.review_round = review_round
        self.faults: list[CellFault] = []
        self.people = _people_of({row.reviewer for row in rows})
        self.by_number, self.by_id = _wordings(review_round)
        found = [one for row in rows if (one := self._placed(row)) is not None]
        people = {one.person.pk: one.person for one in found}
        self.assigned = _assigned(review_round, people)
        self._check_once(found)
        self._check_people(found, list(people.values()))
        refused = {fault.row for fault in self.faults}
        self.placed = [one for one in found if one.row.row not in refused]

    def _fault(self, row: ReviewRow, column: str, message: str) -> None:
        self.faults.append(CellFault(row.row, column, message))

    def _placed(self, row: ReviewRow) -> PlacedReview | None:
        person, wording = self.people.get(row.reviewer.lower()), self._wording(row)
        if person is None:
            sentence = "has no account here. Invite this reviewer first, or correct the address or pseudonym."
            self._fault(row, "reviewer", f"{row.reviewer[:80]!r} {sentence}")
        is_asked = self.review_round.steps == RoundSteps.FULL
        if is_asked and row.blind is None:
            self._fault(row, "blind_difficulty", "The blind answer is missing, and the round asks for it.")
        elif not is_asked and row.blind is not None:
            self._fault(row, "blind_best", "The round asks for no blind answer: leave its columns empty.")
        return PlacedReview(row, person, wording) if person is not None and wording is not None else None

    def _wording(self, row: ReviewRow) -> PlacedWording | None:
        bank = self.review_round.plan.bank.slug
        if row.bank and row.bank != bank:
            self._fault(row, "bank", f"The round is on the bank {bank}: correct it, or leave the column out.")
            return None
        by_number = self.by_number.get(row.number) if row.number is not None else None
        found = by_number or (self.by_id.get(row.question_id) if row.number is None else None)
        if found is None:
            asked = row.number if row.number is not None else repr(row.question_id[:40])
            column = "question" if row.number is not None else "question_id"
            self._fault(row, column, f"The round has no question {asked}. Leave the row out, or correct it.")
        elif row.question_id and found.public_id != row.question_id:
            self._fault(row, "question_id", f"Question {row.number} has another id here: leave the column out.")
        elif found.revision != row.revision:
            sentence = f"The round reviews wording {found.revision} of this question, not {row.revision}."
            self._fault(row, "revision", f"{sentence} Import into a round on that wording.")
        else:
            return found
        return None

    def _check_once(self, found: Iterable[PlacedReview]) -> None:
        first: dict[tuple[int, int], int] = {}
        for one in found:
            row = first.setdefault(one.key, one.row.row)
            stored = self.assigned.get(one.key)
            if row != one.row.row:
                sentence = f"Row {row} has a review of this question by this reviewer. Leave one of them out."
                self._fault(one.row, "reviewer", sentence)
            elif stored is not None and stored.state not in TAKES_REVIEW:
                self._fault(one.row, "reviewer", WHY_NOT[AssignmentState(stored.state)])

    def _check_people(self, found: Sequence[PlacedReview], people: Sequence[User]) -> None:
        """As for any assignment: whoever knows a key or must not review at all is refused, with the reason."""
        roles: dict[int, str] = {}
        for person in people:
            try:
                check_no_role_conflict(person, Role.REVIEWER, self.review_round)
            except PeopleRefused as refusal:
                roles[person.pk] = refusal.sentence
        questions = {one.wording.question.number: one.wording.question for one in found}
        conflicts = ineligible(people, questions.values(), self.review_round.steps, self.review_round)
        place = {person.pk: index for index, person in enumerate(people)}
        for one in found:
            reasons = conflicts.get((place[one.person.pk], one.wording.question.number), set())
            if one.person.pk in roles:
                self._fault(one.row, "reviewer", roles[one.person.pk])
            elif reasons:
                self._fault(one.row, "reviewer", f"{sentences([reasons])} Leave the row out.")


def _people_of(named: set[str]) -> dict[str, User]:
    """By what the file calls them, in lower case."""
    wanted = {name.lower() for name in named}
    people = list(User.objects.all())
    found = {person.email.lower(): person for person in people}
    if wanted - found.keys():
        found |= {reviewer_pseudonym(person.pk).lower(): person for person in people}
    return {name: found[name] for name in wanted & found.keys()}


def _wordings(review_round: ReviewRound) -> tuple[dict[int, PlacedWording], dict[str, PlacedWording]]:
    columns = ("revision_id", *(f"revision__question__{name}" for name in ("id", "number", "exam_id", "public_id")))
    rows = SampledQuestion.objects.filter(plan=review_round.plan_id).values_list(*columns, "revision__number")
    found = [
        PlacedWording(SampleQuestion(revision_id, question_id, number, exam_id), public_id, revision)
        for revision_id, question_id, number, exam_id, public_id, revision in rows
    ]
    return {one.question.number: one for one in found}, {one.public_id: one for one in found}


def _assigned(review_round: ReviewRound, people: Iterable[int]) -> dict[tuple[int, int], Assignment]:
    rows = Assignment.objects.filter(round=review_round, reviewer__in=people)
    return {(one.reviewer_id, one.revision_id): one for one in rows.exclude(state=AssignmentState.WITHDRAWN)}
