"""What the demonstration shows of models at work: a probe, a finished run, and questions made from reports.

The stand-in is asked by the ordinary acts, on a bank of its own, so that nothing else of the demonstration changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from annotation.calls.asking import ask_endpoint
from annotation.demonstration.registry import ACCOUNTS
from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.endpoints.kernels.simulated_models import OBEYS_SCHEMA
from annotation.endpoints.prices import price_on, set_price
from annotation.endpoints.probing import newest_probe, probe
from annotation.endpoints.sending_permissions import give_permission
from annotation.endpoints.simulated_endpoint import SIMULATED, port_file, served_stand_in
from annotation.enums import BatchState, Role
from annotation.generation.continuing import continue_run
from annotation.generation.generation_plans import GenerationWanted, begin_generation
from annotation.imaging.kernels.picture_policies import STORED
from annotation.models import EndpointLease, GenerationRun, QuestionBank, SendingPermission, User
from annotation.prompts.shipped import OUR_READING, store_shipped
from annotation.prompts.versions import prompt_named
from readerstudy.demonstration.small_exams import fill_small_bank, small_exams
from readerstudy.models import ModelRun
from readerstudy.predictions.listing import Target
from readerstudy.running.planning import RunWanted, plan_run
from readerstudy.running.publishing import publish
from readerstudy.running.starting import ask_first_questions, start_run

BANK = "Models at work (simulated)"
N_EXAMS, FIRST_EXAM = 6, 201  # 30 questions
MODEL = "Stand-in (simulated)"
N_REPORTS, PER_EXAM = 4, 3
REASON = "demonstration"
AGREEMENT = "None is needed: everything is simulated, and nothing leaves this machine."
VALID_FOR = timedelta(days=365)
SEED = 1


def add_models_at_work(
    bank: QuestionBank,
    *,
    exams: Sequence[DemonstrationExam],
    folder: Path,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> None:
    """Add what is missing, dated some hours before ``at``."""
    begun = at - timedelta(hours=3)
    shown = small_exams(exams, first=FIRST_EXAM, n=min(N_EXAMS, len(exams)))
    own = fill_small_bank(BANK, shown, of=bank, folder=folder, coordinator=coordinator, at=begun, tell=tell)
    administrator = User.objects.get(email=next(one.email for one in ACCOUNTS if one.role == Role.ADMINISTRATOR))
    with served_stand_in(port_file()):
        EndpointLease.objects.filter(endpoint=SIMULATED).delete()  # of a build that was broken off
        stages = _Stages(tell)
        _permit(administrator, begun)
        _price(administrator, begun)
        _probe(administrator, begun, stages)
        _run(own, coordinator, begun + timedelta(hours=1))
        stages.report(2, 3)
        _generate(own, min(N_REPORTS, len(shown)), coordinator, begun + timedelta(hours=2))
        stages.report(3, 3)


class _Stages:
    """The steps of this part, as a probe tells its own."""

    def __init__(self, tell: Stage) -> None:
        self.tell = tell

    def report(self, done: int, total: int, message: str = "") -> None:
        self.tell("Asking simulated models", done, total)


def _permit(administrator: User, at: datetime) -> None:
    """Everything that is simulated may be sent, so that runs, generation and checks can be tried at once."""
    for bank in QuestionBank.objects.filter(simulated=True):
        if not SendingPermission.objects.filter(bank=bank, endpoint=SIMULATED).exists():
            give_permission(
                bank,
                SIMULATED,
                questions=True,
                images=True,
                reports=True,
                reason=REASON,
                agreement=AGREEMENT,
                accepted_terms="",
                expires_at=at + VALID_FOR,
                actor=administrator,
                at=at,
            )


def _price(administrator: User, at: datetime) -> None:
    if price_on(SIMULATED, OBEYS_SCHEMA, at.date()) is None:
        set_price(
            SIMULATED,
            OBEYS_SCHEMA,
            currency="EUR",
            per_million_input=Decimal("0.5"),
            per_million_cached=Decimal("0.05"),
            per_million_output=Decimal(2),
            valid_from=at.date(),
            actor=administrator,
            at=at,
        )


def _probe(administrator: User, at: datetime, stages: _Stages) -> None:
    if newest_probe(SIMULATED, OBEYS_SCHEMA) is None:
        probe(endpoint_named(SIMULATED), OBEYS_SCHEMA, actor=administrator, at=at, progress=stages)


def _run(bank: QuestionBank, coordinator: User, at: datetime) -> None:
    store_shipped(at=at)
    run = ModelRun.objects.filter(batch__bank=bank, batch__endpoint=SIMULATED).first()
    if run is None:
        wanted = RunWanted(
            name=MODEL,
            target=Target(bank),
            endpoint=SIMULATED,
            model=OBEYS_SCHEMA,
            prompt=prompt_named(OUR_READING),
            picture_policy=STORED,
            chat=ChatSettings(temperature=0),
        )
        run = plan_run(wanted, actor=coordinator, at=at).run
        assert run is not None
        ask_first_questions(run, actor=coordinator, at=at)
    _ask(at)
    run = ModelRun.objects.get(pk=run.pk)
    if run.batch.state == BatchState.PLANNED:
        start_run(run, actor=coordinator, at=at)
        _ask(at)
    publish(ModelRun.objects.get(pk=run.pk), actor=coordinator, at=at)


def _generate(bank: QuestionBank, n_exams: int, coordinator: User, at: datetime) -> None:
    run = GenerationRun.objects.filter(bank=bank).first()
    if run is None:
        wanted = GenerationWanted(
            bank=bank, endpoint=SIMULATED, model=OBEYS_SCHEMA, per_exam=PER_EXAM, seed=SEED, n_exams=n_exams
        )
        run = begin_generation(wanted, actor=coordinator, at=at).run
        assert run is not None
    for _batch in ("findings", "questions"):
        _ask(at)
        continue_run(GenerationRun.objects.get(pk=run.pk), clock=lambda: at)


def _ask(at: datetime) -> None:
    ask_endpoint(SIMULATED, clock=lambda: at)
