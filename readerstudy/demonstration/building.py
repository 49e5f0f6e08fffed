"""The two studies of the demonstration: one that waits for its readers, and a closed one with simulated readings.

Made by the ordinary acts from the questions that the reviewers of the finished round accept.
"""

from __future__ import annotations

import csv
import io
from datetime import datetime, timedelta
from random import Random

from annotation.models import AnswerKey, QuestionBank, User
from readerstudy.demonstration.accounts import ACCOUNTS
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.plan import Plan
from readerstudy.design.pool import pool_of
from readerstudy.design.rules import Rules
from readerstudy.design.studies import close_study, open_study
from readerstudy.enrolling.joining import enrol_reader
from readerstudy.enums import Block
from readerstudy.models import ReaderStudy
from readerstudy.reading.importing import import_responses

OPEN_STUDY = "Reader study"
CLOSED_STUDY = "Earlier reader study (simulated readings)"
N_CASES, N_PRACTICE = 20, 2
SIMULATED_READERS = {"R1": 0.85, "R2": 0.75, "R3": 0.7}  # the share of questions that each gets right
LETTERS = "ABCD"
INSTRUCTIONS = "Choose the best of four options for each case. Everything here is simulated."
CONSENT = (
    "This is a demonstration. You agree that your answers and the time that you take are stored on this machine. "
    "You can withdraw at any moment."
)


class DemonstrationRefused(Exception):
    """A study of the demonstration could not be made; the text says why."""


def add_studies(bank: QuestionBank, *, coordinator: User, at: datetime) -> None:
    """Add what is missing; nothing where the bank holds too few patients for a study."""
    patients = {candidate.patient for candidate in pool_of(bank)}
    n_practice = N_PRACTICE if len(patients) > 2 * N_PRACTICE else 0
    n_cases = min(N_CASES, len(patients) - n_practice)
    if n_cases < 1:
        return
    if not ReaderStudy.objects.filter(name=CLOSED_STUDY).exists():
        earlier = _frozen(bank, CLOSED_STUDY, n_cases, 0, seed=7, coordinator=coordinator, at=at - timedelta(days=2))
        _simulate_readings(earlier, coordinator=coordinator, at=at - timedelta(days=2))
        close_study(earlier, actor=coordinator, at=at - timedelta(days=1))
    if not ReaderStudy.objects.filter(name=OPEN_STUDY).exists():
        study = _frozen(bank, OPEN_STUDY, n_cases, n_practice, seed=11, coordinator=coordinator, at=at)
        open_study(study, actor=coordinator, at=at)
        for account in ACCOUNTS:
            reader = User.objects.get(email=account.email)
            enrol_reader(study, reader, study.sets.get(), actor=coordinator, at=at)


def _frozen(
    bank: QuestionBank, name: str, n_cases: int, n_practice: int, *, seed: int, coordinator: User, at: datetime
) -> ReaderStudy:
    plan = Plan(
        name=name,
        bank=bank.name,
        seed=seed,
        draw={"n": n_cases, "n_practice": n_practice},
        rules=Rules(confidence=True),
        n_readers=3,
        instructions=INSTRUCTIONS,
        consent=CONSENT,
        contact=coordinator.email,
        deadline_at=at + timedelta(days=60),
    )
    return freeze_study(create_study(plan, actor=coordinator, at=at), actor=coordinator, at=at)


def _simulate_readings(study: ReaderStudy, *, coordinator: User, at: datetime) -> None:
    """Readings from a file, as an older study would bring them; no time is made up."""
    cases = study.cases.filter(block=Block.MAIN).select_related("revision__question").order_by("number")
    keys = AnswerKey.objects.in_bulk([case.revision_id for case in cases])
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(("reader", "case", "option", "state", "position"))
    for reader, share in SIMULATED_READERS.items():
        chance = Random(f"{study.seed} {reader}")  # noqa: S311 - simulated answers, always the same
        for position, case in enumerate(cases, 1):
            key = keys[case.revision_id].key
            option = key if chance.random() < share else chance.choice(LETTERS.replace(key, ""))
            writer.writerow((reader, case.revision.question.number, option, "answered", position))
    result = import_responses(
        study, name="simulated_readings.csv", content=table.getvalue().encode(), actor=coordinator, at=at
    )
    if not result.stored:
        raise DemonstrationRefused(f"The simulated readings were refused: {result.problems[:1]}")
