"""What the demonstration shows of models at work: a probe, a finished run and a variant of it, questions made from
reports, and a validator's verdicts.

The stand-in is asked by the ordinary acts, on a bank of its own, so that nothing else of the demonstration changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from annotation.call_enums import BatchState, SentImages
from annotation.demonstration.registry import ACCOUNTS
from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.endpoints.prices import price_on, set_price
from annotation.endpoints.probing import newest_probe, probe
from annotation.endpoints.sending_permissions import give_permission
from annotation.endpoints.simulated_endpoint import JUDGE, SIMULATED, WRITER, port_file, served_simulation
from annotation.enums import Role
from annotation.generation.continuing import continue_run
from annotation.generation.generation_plans import GenerationWanted, begin_generation, plan_generation
from annotation.imaging.kernels.picture_policies import STORED
from annotation.model_calls.asking import ask_endpoint
from annotation.models import (
    EndpointLease,
    GenerationRun,
    QuestionBank,
    SendingPermission,
    User,
    ValidatorRun,
)
from annotation.prompts.versions import OUR_READING, prompt_named, store_shipped
from annotation.quality.kernels.validity_parts import C3
from annotation.validators.taking_verdicts import take_verdicts
from annotation.validators.validator_overview import act_on_run
from annotation.validators.validator_plans import CheckWanted, begin_checks, plan_checks
from readerstudy.demonstration.small_exams import fill_small_bank, small_exams
from readerstudy.model_runs.planning import RunWanted, plan_run, store_run
from readerstudy.model_runs.publishing import is_plain, publish
from readerstudy.model_runs.starting import ask_first_questions, start_run
from readerstudy.models import ModelRun
from readerstudy.predictions.listing import Target

BANK = "Models at work (simulated)"
N_EXAMS, FIRST_EXAM = 6, 201  # 30 questions
MODEL = "Stand-in (simulated)"
N_REPORTS, PER_EXAM = 4, 3
REASON = "demonstration"
ASKING = "Asking simulated models"  # what it says that it does
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
    with served_simulation(port_file()):
        EndpointLease.objects.filter(endpoint=SIMULATED).delete()  # of a build that was broken off
        _permit(administrator, begun)
        _price(administrator, begun)
        _probe(administrator, begun)
        tell(ASKING, 1, 4)
        _run(own, SentImages.ALL, coordinator, begun + timedelta(hours=1))
        _run(own, SentImages.NONE, coordinator, begun + timedelta(hours=1))
        tell(ASKING, 2, 4)
        made = begun + timedelta(hours=2)
        _generate(own, min(N_REPORTS, len(shown)), coordinator, made)
        tell(ASKING, 3, 4)
        _check(own, coordinator, made)
        tell(ASKING, 4, 4)


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
    if price_on(SIMULATED, WRITER, at.date()) is None:
        set_price(
            SIMULATED,
            WRITER,
            currency="EUR",
            per_million_input=Decimal("0.5"),
            per_million_cached=Decimal("0.05"),
            per_million_output=Decimal(2),
            valid_from=at.date(),
            actor=administrator,
            at=at,
        )


def _probe(administrator: User, at: datetime) -> None:
    if newest_probe(SIMULATED, WRITER) is None:
        probe(endpoint_named(SIMULATED), WRITER, actor=administrator, at=at)


def _run(bank: QuestionBank, images: SentImages, coordinator: User, at: datetime) -> None:
    """With all images it is the plain run, and is published; without one a variant, compared with it."""
    store_shipped(at=at)
    run = ModelRun.objects.filter(batch__bank=bank, batch__endpoint=SIMULATED, batch__images=images).first()
    if run is None:
        wanted = RunWanted(
            name=MODEL,
            target=Target(bank),
            endpoint=SIMULATED,
            model=WRITER,
            prompt=prompt_named(OUR_READING),
            images=images,
            picture_policy=STORED,
            chat=ChatSettings(temperature=0),
        )
        run = store_run(plan_run(wanted, actor=coordinator, at=at), actor=coordinator, at=at).stored_run
        ask_first_questions(run, actor=coordinator, at=at)
    _ask(at)
    run = ModelRun.objects.get(pk=run.pk)
    if run.batch.state == BatchState.PLANNED:
        start_run(run, actor=coordinator, at=at)
        _ask(at)
    run = ModelRun.objects.get(pk=run.pk)
    if is_plain(run):
        publish(run, actor=coordinator, at=at)


def _generate(bank: QuestionBank, n_exams: int, coordinator: User, at: datetime) -> None:
    run = GenerationRun.objects.filter(bank=bank).order_by("pk").first()
    if run is None:
        wanted = GenerationWanted(
            bank=bank, endpoint=SIMULATED, model=WRITER, per_exam=PER_EXAM, seed=SEED, n_exams=n_exams
        )
        run = begin_generation(plan_generation(wanted, at=at), actor=coordinator, at=at).stored_run
    _make_all([run], at)


def _make_all(runs: Sequence[GenerationRun], at: datetime) -> None:
    for _batch in ("findings", "questions"):
        _ask(at)
        for run in runs:
            continue_run(GenerationRun.objects.get(pk=run.pk), clock=lambda: at)


def _check(bank: QuestionBank, coordinator: User, at: datetime) -> None:
    """Whether each question is sound, by another simulated model."""
    runs = ValidatorRun.objects.filter(bank=bank)
    if not runs.exists():
        wanted = CheckWanted(bank=bank, validator=C3, endpoint=SIMULATED, model=JUDGE)
        begin_checks(plan_checks([wanted], actor=coordinator, at=at), actor=coordinator, at=at)
    for run in runs.filter(batch__state=BatchState.PLANNED):  # of a build that was broken off
        act_on_run(run, "resume", actor=coordinator, at=at)
    _ask(at)
    for run in runs:
        take_verdicts(run, at=at)


def _ask(at: datetime) -> None:
    ask_endpoint(SIMULATED, clock=lambda: at)
