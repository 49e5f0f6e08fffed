"""The models of the demonstration at work, and the small exams that they are asked.

The stand-in is asked by the ordinary acts, on a bank of its own, so that nothing else of the demonstration changes.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Picture

from annotation.call_enums import BatchState, SentImages
from annotation.demonstration.building import fill_bank
from annotation.demonstration.kernels.phantom_thorax import Projection
from annotation.demonstration.questions import DemonstrationQuestion, questions_of, records_of
from annotation.demonstration.registry import ACCOUNTS
from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.endpoints.configured_endpoints import endpoint_named, price_on, set_price
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.endpoints.sending_permissions import give_permission
from annotation.endpoints.simulated_endpoint import JUDGE, SIMULATED, WRITER, port_file, served_simulation
from annotation.enums import RenditionKind, Role
from annotation.generation.generation_plans import GenerationWanted, begin_generation, plan_generation
from annotation.generation.making import continue_run
from annotation.imaging.kernels.picture_policies import STORED
from annotation.ingest import storage
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.probing import newest_probe, probe
from annotation.model_calls.versions import OUR_READING, prompt_named, store_shipped
from annotation.models import (
    EndpointLease,
    GenerationRun,
    QuestionBank,
    Rendition,
    SendingPermission,
    User,
    ValidatorRun,
)
from annotation.questionbank.kernels.question_checks import C3
from annotation.validators.taking_verdicts import act_on_run, take_verdicts
from annotation.validators.validator_plans import CheckWanted, begin_checks, plan_checks
from readerstudy.model_runs.following import ask_first_questions, start_run
from readerstudy.model_runs.planning import RunWanted, plan_run, store_run
from readerstudy.model_runs.publishing import is_for_benchmark, is_plain, publish
from readerstudy.models import ModelRun
from readerstudy.predictions.listing import Target

HEIGHT = 256  # pixels; the search for text in larger ones would keep the first start waiting
VIEW: Projection = "PA"
EXPLANATION = "Simulated: the key follows from what the simulated chest was made to show."
IN_ONE_VIEW = {
    "these frontal and lateral chest radiographs": "this frontal chest radiograph",
    "these radiographs": "this radiograph",
}


@dataclass(frozen=True)
class SmallExam(DemonstrationExam):
    """An exam of one frontal view, a small picture of a chest that is in the demonstration already."""

    def path_of(self, view: Projection) -> str:
        return f"images/exam{self.number}/{view.lower()}.png"


def small_exams(exams: Sequence[DemonstrationExam], *, first: int, n: int) -> list[SmallExam]:
    """So many exams of other ages with the chests of ``exams``, in that order and then again; two are of one patient
    where those in ``exams`` are.

    ``first``: the number of the first, and the seed of their ages.
    """
    rng, earlier = np.random.default_rng(first), [one.number for one in exams]
    found: list[SmallExam] = []
    for place, exam in enumerate(islice(cycle(exams), n)):
        age = int(np.clip(exam.spec.age + rng.integers(-6, 7), 18, 92))
        prior = None
        if exam.prior in earlier:
            at = earlier.index(exam.prior)
            before = found[place - place % len(exams) + at]
            age, prior = before.spec.age + exam.spec.age - exams[at].spec.age, before.number
        found.append(SmallExam(first + place, replace(exam.spec, age=age), exam.indication, exam.marker, prior))
    return found


def records_of_one_view(exams: Sequence[SmallExam]) -> dict[str, dict[str, Any]]:
    """The questions of ``exams`` in the ReXVQA form, asked about the frontal view alone."""
    questions = [_in_one_view(question) for exam in exams for question in questions_of(exam)]
    first = ("ImagePath", "ImageViewPosition", "ImageModality", "ImageBodyPart")
    return {
        key: record | {name: record[name][:1] for name in first} | {"StudyDescription": "SIMULATED CHEST 1 VIEW"}
        for key, record in records_of(questions).items()
    }


def _in_one_view(question: DemonstrationQuestion) -> DemonstrationQuestion:
    stem = question.stem
    for of_two, of_one in IN_ONE_VIEW.items():
        stem = stem.replace(of_two, of_one)
    return replace(question, stem=stem, explanation=EXPLANATION)


def small_picture(content: bytes, seed: int) -> bytes:
    """A picture as a small PNG: cut a little at its edges, brighter or darker, with noise, as ``seed`` has it."""
    rng = np.random.default_rng(seed)
    picture = Picture.open(io.BytesIO(content)).convert("L")
    cut = picture.width * float(rng.uniform(0, 0.03))
    box = (cut, cut * picture.height / picture.width, picture.width - cut, picture.height * (1 - cut / picture.width))
    size = round(HEIGHT * picture.width / picture.height), HEIGHT
    greys = np.asarray(picture.resize(size, Picture.Resampling.BILINEAR, box=box), dtype=np.float32) / 255
    greys = greys ** rng.uniform(0.85, 1.15) + rng.normal(0, 0.008, greys.shape)
    stream = io.BytesIO()
    Picture.fromarray((np.clip(greys, 0, 1) * 255).astype(np.uint8)).save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def fill_small_bank(
    name: str,
    exams: Sequence[SmallExam],
    *,
    of: QuestionBank,
    folder: Path,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> QuestionBank:
    """Add what is missing of the bank of this name: its questions, and its images, which are frontal views ``of``
    another bank, in its order.

    ``folder`` holds the files for as long as this takes.
    """
    return fill_bank(
        name,
        records_of_one_view(exams),
        [exam.path_of(VIEW) for exam in exams],
        lambda: _draw_small(of, exams, folder),
        folder=folder,
        coordinator=coordinator,
        at=at,
        watch=lambda done, total: tell(f"Taking in the images of “{name}”", done, total),
    )


def _draw_small(bank: QuestionBank, exams: Sequence[SmallExam], folder: Path) -> None:
    """The files of ``exams``: the frontal views of the bank, in its order and then again."""
    frontal: dict[int, str] = {}
    shown = Rendition.objects.filter(kind=RenditionKind.PREVIEW, image__exam__bank=bank)
    for exam_id, name in shown.order_by("image__exam", "image").values_list("image__exam", "name"):
        frontal.setdefault(exam_id, name)
    for exam, name in zip(exams, cycle(frontal.values()), strict=False):
        path = folder / exam.path_of(VIEW)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(small_picture(storage.load(name), seed=exam.number))


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
    with simulated_models(QuestionBank.objects.filter(simulated=True), begun):
        if newest_probe(SIMULATED, WRITER) is None:
            probe(endpoint_named(SIMULATED), WRITER, actor=administrator(), at=begun)
        tell(ASKING, 1, 4)
        run_simulated(own, SentImages.ALL, coordinator, begun + timedelta(hours=1))
        run_simulated(own, SentImages.NONE, coordinator, begun + timedelta(hours=1))
        tell(ASKING, 2, 4)
        made = begun + timedelta(hours=2)
        _generate(own, min(N_REPORTS, len(shown)), coordinator, made)
        tell(ASKING, 3, 4)
        _check(own, coordinator, made)
        tell(ASKING, 4, 4)


def administrator() -> User:
    return User.objects.get(email=next(one.email for one in ACCOUNTS if one.role == Role.ADMINISTRATOR))


@contextmanager
def simulated_models(banks: Iterable[QuestionBank], at: datetime) -> Iterator[None]:
    """While they are served, with a price. Everything of these banks, which are simulated, may be sent, so that runs,
    generation and checks can be tried at once.
    """
    with served_simulation(port_file()):
        EndpointLease.objects.filter(endpoint=SIMULATED).delete()  # of a build that was broken off
        for bank in banks:
            _permit(bank, at)
        _state_price(at)
        yield


def _permit(bank: QuestionBank, at: datetime) -> None:
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
            actor=administrator(),
            at=at,
        )


def _state_price(at: datetime) -> None:
    if price_on(SIMULATED, WRITER, at.date()) is None:
        set_price(
            SIMULATED,
            WRITER,
            currency="EUR",
            per_million_input=Decimal("0.5"),
            per_million_cached=Decimal("0.05"),
            per_million_output=Decimal(2),
            valid_from=at.date(),
            actor=administrator(),
            at=at,
        )


def run_simulated(bank: QuestionBank, images: SentImages, coordinator: User, at: datetime) -> ModelRun:
    """With all images it is the plain run, and is published unless a leaderboard asks the bank; without one a variant,
    compared with it.
    """
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
    if is_plain(run) and not is_for_benchmark(run):
        publish(run, actor=coordinator, at=at)
    return run


def _generate(bank: QuestionBank, n_exams: int, coordinator: User, at: datetime) -> None:
    run = GenerationRun.objects.filter(bank=bank).order_by("pk").first()
    if run is None:
        wanted = GenerationWanted(
            bank=bank, endpoint=SIMULATED, model=WRITER, per_exam=PER_EXAM, seed=SEED, n_exams=n_exams
        )
        run = begin_generation(plan_generation(wanted, at=at), actor=coordinator, at=at).stored_run
    make_all([run], at)


def make_all(runs: Sequence[GenerationRun], at: datetime) -> None:
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
