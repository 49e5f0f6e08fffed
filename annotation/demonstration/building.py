"""Builds the demonstration: people, a bank, its images, rounds in every state, tags and comments.

Everything goes through the ordinary acts of import, ingest, sampling and review. Safe to run again: what is there is
left alone, and a run that was broken off is taken up.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation.audit.recording import record
from annotation.demonstration.questions import DemonstrationQuestion, all_questions, records_of
from annotation.demonstration.registry import BUILT, all_accounts, build_parts, is_complete
from annotation.demonstration.rehearsing import (
    SHARED_ANSWERS,
    Rehearsal,
    adjudicate_first,
    finished_round,
    open_round_under_way,
    round_in_adjudication,
)
from annotation.demonstration.simulated_exams import EXAMS, VIEWS, DemonstrationExam, Stage, expose_all
from annotation.enums import AssignmentState, Flag, ImageState, Role
from annotation.ingest.describing import credit_images
from annotation.ingest.exams import ingest_paths
from annotation.ingest.kernels.credits import Credit
from annotation.ingest.quarantine import release
from annotation.ingest.searching import check_text
from annotation.models import (
    Assignment,
    Image,
    Question,
    QuestionBank,
    QuestionComment,
    Revision,
    SampledQuestion,
    User,
)
from annotation.people.roles import add_role
from annotation.questionbank.checking import check_revisions
from annotation.questionbank.importing import import_questions, locate
from annotation.questionbank.validity import set_gate
from annotation.refusals import Refused
from annotation.review.commenting import add_comment
from annotation.review.onlookers import judged_questions
from annotation.review.selected_questions import add_tag
from annotation.site.permissions import SITE_ROLES

BANK = "Demonstration (simulated)"
COMMENTS = {
    Flag.SEVERAL_VALID: "Both reviewers hold two of the options for right (simulated comment). Please suggest another "
    "wrong option that these images plainly do not show.",
    Flag.NEEDS_PRIOR: "The question compares with an earlier examination, and none is shown here (simulated comment). "
    "Without the first half of the sentence it can stay.",
}
ATTRIBUTION = "made by this program"
LICENCE = ""
DRAWN = "Simulated: drawn by this program, shows no patient."


class DemonstrationRefused(Refused):
    """An ordinary act refused a part of the demonstration; the sentence says which."""


def build_demonstration(
    *, at: datetime, folder: Path, tell: Stage, exams: Sequence[DemonstrationExam] = EXAMS, processes: int = 2
) -> bool:
    """Build what is missing; False when everything was there.

    ``folder`` holds the files for as long as the build takes, and is the same each time. ``at`` is now: the rounds
    are dated some days back. Raises DemonstrationRefused.
    """
    if is_complete():
        return False
    people = add_people(at=at - timedelta(days=5))
    coordinator = next(person for person, role in people if role == Role.COORDINATOR)
    reviewers = [person for person, role in people if role == Role.REVIEWER]
    adjudicator = next(person for person, role in people if role == Role.ADJUDICATOR)
    before = at - timedelta(days=4)
    bank = fill_bank(
        BANK,
        records_of(all_questions(exams)),
        [exam.path_of(view) for exam in exams for view in VIEWS],
        lambda: expose_all(exams, folder, tell=tell, processes=processes),
        folder=folder,
        coordinator=coordinator,
        at=before,
        watch=lambda done, total: tell("Taking the images in and searching them for text", done, total),
    )
    check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=coordinator, at=before)
    _rehearse(bank, reviewers, adjudicator, exams, coordinator=coordinator, at=at, tell=tell)
    build_parts(bank, exams=exams, folder=folder, coordinator=coordinator, at=at, tell=tell)
    set_gate(bank, ("difficulty", "identifiers", "expert"), name="Release", actor=coordinator, at=at)
    with transaction.atomic():
        record(BUILT, actor=coordinator, at=at, subject=bank)
    return True


@transaction.atomic
def add_people(*, at: datetime) -> list[tuple[User, Role]]:
    """The people of the demonstration with their known passwords; those who are there keep theirs."""
    people = []
    founder: User | None = None
    for account in all_accounts():
        person = User.objects.filter(email=account.email).first()
        if person is None:
            person = User.objects.create_user(account.email, account.password, name=account.name)
            record("person.added", actor=founder, at=at, subject=person)
        founder = founder or person
        if account.role in SITE_ROLES:
            add_role(person, account.role, None, granted_by=founder, actor=founder, at=at)
        people.append((person, account.role))
    return people


def fill_bank(
    name: str,
    records: dict[str, dict[str, Any]],
    paths: Sequence[str],
    draw: Callable[[], None],
    *,
    folder: Path,
    coordinator: User,
    at: datetime,
    watch: Callable[[int, int], None],
) -> QuestionBank:
    """Import the questions, take in the images of these ``paths``, which ``draw`` writes into the folder, say who made
    them. What is there already is left alone. Raises DemonstrationRefused.
    """
    with _empty_again(folder):
        questions = folder / "questions.json"
        questions.write_text(json.dumps(records, ensure_ascii=False))
        result = import_questions(
            locate(questions), bank_name=name, actor=coordinator, clock=lambda: at, simulated=True
        )
        if not result.stored:
            raise DemonstrationRefused("questions", f"The questions were refused: {result.as_json()['errors'][:3]}")
        bank = QuestionBank.objects.get(name=name)
        if Image.objects.filter(exam__bank=bank, state=ImageState.PENDING).exists():
            draw()
            taken = ingest_paths(
                [folder / "images"],
                bank=bank,
                actor=coordinator,
                at=at,
                simulated=True,
                watch=watch,
                search_text=lambda image: search_drawn(image, actor=coordinator, at=at),
            )
            if taken.refusals:
                sentence = f"An image was refused: {taken.refusals[0].as_json()['message']}"
                raise DemonstrationRefused("images", sentence)
    for image in Image.objects.filter(exam__bank=bank, state=ImageState.CHECKING):
        search_drawn(image, actor=coordinator, at=at)
    if Image.objects.filter(exam__bank=bank, attribution="").exists():
        rows = [Credit(n, path, ATTRIBUTION, LICENCE, None) for n, path in enumerate(paths, 2)]
        credit_images(rows, bank=bank, actor=coordinator, at=at)
    return bank


def search_drawn(image: Image, *, actor: User, at: datetime) -> None:
    """As every image that comes in, then released in any case: the search may take bones for text, or not be here."""
    if check_text(image, at=at) == ImageState.QUARANTINED:
        release(image, reason=DRAWN, actor=actor, at=at)


@contextmanager
def _empty_again(folder: Path) -> Iterator[None]:
    """``folder`` empty before and gone afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rehearse(
    bank: QuestionBank,
    reviewers: Sequence[User],
    adjudicator: User,
    exams: Sequence[DemonstrationExam],
    *,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> None:
    """All rounds, each review counted; then what people say about the questions."""
    questions = all_questions(exams)
    total, done = len(questions) * min(2, len(reviewers)), 0

    def tick() -> None:
        nonlocal done
        done += 1
        tell("Simulating reviews", min(done, total), total)

    rehearsal = Rehearsal(
        bank=bank,
        questions=questions,
        coordinator=coordinator,
        reviewers=reviewers,
        adjudicator=adjudicator,
        tick=tick,
    )
    finished_round(rehearsal, at=at - timedelta(days=3))
    open_round_under_way(rehearsal, at=at - timedelta(days=1))
    disputes = round_in_adjudication(rehearsal, at=at - timedelta(days=2))
    adjudicate_first(rehearsal, disputes, at=at - timedelta(hours=20))
    _tag(bank, questions, coordinator=coordinator, at=at - timedelta(hours=18))
    _comment(bank, questions, coordinator=coordinator, at=at - timedelta(hours=17))


def _tag(bank: QuestionBank, questions: Sequence[DemonstrationQuestion], *, coordinator: User, at: datetime) -> None:
    """A handful of tags; those that are there stay."""
    calibrating = SampledQuestion.objects.filter(plan__rounds__name=SHARED_ANSWERS)
    calibration = set(calibrating.values_list("revision__question__number", flat=True))
    tagged: dict[str, Callable[[int, DemonstrationQuestion], bool]] = {
        "calibration": lambda number, _one: number in calibration,
        "two right answers": lambda _number, one: one.fault == Flag.SEVERAL_VALID,
        "needs a prior": lambda _number, one: one.fault == Flag.NEEDS_PRIOR,
        "devices": lambda _number, one: one.category in ("Tubes and Lines", "Implanted Devices"),
        "for teaching": lambda _number, one: one.fault is None and one.difficulty == "hard",
    }
    for word, belongs in tagged.items():
        numbers = [number for number, one in enumerate(questions, start=1) if belongs(number, one)]
        found = Question.objects.filter(bank=bank, number__in=numbers)
        add_tag(found, word, bank=bank, actor=coordinator, at=at)


def _comment(
    bank: QuestionBank, questions: Sequence[DemonstrationQuestion], *, coordinator: User, at: datetime
) -> None:
    """Two comments with a mention, one of which asks for something; on reviewed questions that nobody judges now."""
    judged = Assignment.objects.filter(revision__question__bank=bank, state=AssignmentState.SUBMITTED)
    known = Question.objects.filter(pk__in=judged.values("revision__question"))
    free = known.exclude(pk__in=judged_questions()).order_by("number")
    for fault, text in COMMENTS.items():
        question = next((one for one in free if questions[one.number - 1].fault == fault), None)
        if question is None or QuestionComment.objects.filter(question__bank=bank, text=text).exists():
            continue
        reviewer = judged.filter(revision__question=question).select_related("reviewer").order_by("pk")[0].reviewer
        is_todo = fault == Flag.SEVERAL_VALID
        author, other = (coordinator, reviewer) if is_todo else (reviewer, coordinator)
        add_comment(question, text, mentioned=[other.pk], is_todo=is_todo, actor=author, at=at)
