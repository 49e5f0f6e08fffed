"""A run is planned: which questions a model is asked, in which order of the options, how often. Nothing is sent yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import PromptPurpose, SentImages
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.imaging.kernels.picture_policies import BLANK, QUARTER
from annotation.ingest.model_pictures import policy_for
from annotation.model_calls.campaigns import Asking, CallPlan, check_purpose, permitted_and_priced, store_batch
from annotation.models import ModelCall, Price, PromptVersion, SendingPermission, User
from annotation.questionbank.bulk import Row, insert_rows
from readerstudy.model_runs.asked_questions import (
    WITH_IMAGES_OF_PEOPLE,
    AskedQuestion,
    RunningRefused,
    asked_questions,
    check_images,
    swap_exams,
)
from readerstudy.model_runs.kernels.estimates import first_questions
from readerstudy.model_runs.run_access import check_may_run, coordinates, read_beside
from readerstudy.models import ModelEntry, ModelRun
from readerstudy.predictions.entries import enter_model, find_entry
from readerstudy.predictions.importing import check_takes_predictions
from readerstudy.predictions.listing import Target, targets_for

PLANNED = "model_run.planned"
ORDERS = (1, 4)
MOST_REPEATS = 20
MOST_CALLS = 2_000_000
LONGEST_NAME, LONGEST_VERSION = 200, 100  # of a model entry
AT_ONCE = 20_000  # rows in one statement
_COLUMNS = ("batch_id", "number", "revision_id", "exam_id", "rotation", "repeat")


@dataclass(frozen=True, kw_only=True)
class RunWanted(Asking):
    """What a person asks for. ``images`` None: those of the prompt."""

    name: str  # of the model entry, which is made where it is not listed
    version: str = ""
    target: Target
    prompt: PromptVersion
    images: SentImages | None = None
    picture_policy: str = QUARTER  # of images of people; a bank that holds quarters sends them as they are
    n_orders: int = 1
    n_repeats: int = 1
    seed: int = 1

    @property
    def sent_images(self) -> SentImages:
        return self.images or SentImages(self.prompt.images)

    @property
    def sent_policy(self) -> str:
        """How its images become pictures; empty where none are sent. Raises PictureRefused for a wrong one."""
        policy = policy_for(self.target.bank, self.picture_policy).name
        return {SentImages.NONE: "", SentImages.BLANK: BLANK}.get(self.sent_images, policy)


@dataclass(frozen=True)
class RunPlan(CallPlan[RunWanted, ModelRun]):
    asked: Sequence[AskedQuestion]
    first: Sequence[AskedQuestion]

    @property
    def n_calls(self) -> int:
        return len(self.asked) * self.wanted.n_orders * self.wanted.n_repeats

    def as_json(self) -> dict[str, Any]:
        wanted = self.wanted
        return {
            "run": self.run.batch.public_id if self.run else None,
            "model": wanted.name,
            "version": wanted.version,
            "endpoint": wanted.endpoint,
            "endpoint_model": wanted.model,
            "study" if wanted.target.study else "bank": wanted.target.slug,
            "prompt": str(wanted.prompt),
            "images": wanted.sent_images.value,
            "picture_policy": wanted.sent_policy,
            "orders": wanted.n_orders,
            "repeats": wanted.n_repeats,
            "seed": wanted.seed,
            "questions": len(self.asked),
            "calls": self.n_calls,
            "pictures": sum(len(one.images) for one in self.asked) * wanted.n_orders * wanted.n_repeats,
            "first": [one.number for one in self.first],
            **self.terms(),
        }


def plan_run(wanted: RunWanted, *, actor: User | None, at: datetime) -> RunPlan:
    """One call for each question, rotation and repeat. It stores nothing; whatever is wrong is refused in a sentence.

    The calls of twenty questions come first, by which the rest is estimated; the others follow by number.
    """
    entry = find_entry(wanted.name, wanted.version) or ModelEntry(name=wanted.name, version=wanted.version)
    permission, price = _check(wanted, entry, actor=actor, at=at)
    asked = asked_questions(wanted.target, wanted.sent_images)
    if not asked:
        raise RunningRefused("no_questions", _("“%(name)s” holds no question.") % {"name": wanted.target.name})
    check_images(asked, wanted.sent_images)
    if wanted.sent_images == SentImages.SWAPPED:
        asked = swap_exams(asked, wanted.target.bank, seed=wanted.seed)
    number_of = {one.revision_id: one for one in asked}
    drawn = first_questions({one.revision_id: len(one.images) for one in asked}, seed=wanted.seed)
    plan = RunPlan(wanted, permission, price, asked, [number_of[pk] for pk in drawn])
    if plan.n_calls > MOST_CALLS:
        sentence = _("These are %(n)d calls. Plan at most %(most)d at once.")
        raise RunningRefused("too_many", sentence % {"n": plan.n_calls, "most": MOST_CALLS}, status=422)
    return plan


def _check(
    wanted: RunWanted, entry: ModelEntry, *, actor: User | None, at: datetime
) -> tuple[SendingPermission, Price | None]:
    """What can be checked before the questions are looked at."""
    target = wanted.target
    check_may_run(actor, target)
    if not 0 < len(wanted.name) <= LONGEST_NAME or len(wanted.version) > LONGEST_VERSION:
        sentence = _("Give the model a name of 1 to %(name)d characters, and a version of %(version)d at most.")
        longest = {"name": LONGEST_NAME, "version": LONGEST_VERSION}
        raise RunningRefused("bad_name", sentence % longest, status=422, field="name")
    check_takes_predictions(entry, target)
    check_purpose(wanted.prompt, PromptPurpose.ANSWER)
    if wanted.n_orders not in ORDERS:
        sentence = _("Options stand in 1 order or in all 4 rotations.")
        raise RunningRefused("bad_orders", sentence, status=422, field="n_orders")
    if not 1 <= wanted.n_repeats <= MOST_REPEATS:
        sentence = _("Ask each question 1 to %(most)d times.") % {"most": MOST_REPEATS}
        raise RunningRefused("bad_repeats", sentence, status=422, field="n_repeats")
    policy_for(target.bank, wanted.picture_policy)
    has_people = wanted.sent_images in WITH_IMAGES_OF_PEOPLE
    return permitted_and_priced(target.bank, wanted, at=at, images=has_people)


@transaction.atomic
def store_run(plan: RunPlan, *, actor: User | None, at: datetime) -> RunPlan:
    """A planned run with its calls, which wait for the start."""
    wanted = plan.wanted
    entry = find_entry(wanted.name, wanted.version) or enter_model(_described(wanted), actor=actor, at=at)
    batch = store_batch(
        plan,
        wanted.target.bank,
        wanted.prompt,
        n_calls=plan.n_calls,
        images=wanted.sent_images,
        picture_policy=wanted.sent_policy,
        n_orders=wanted.n_orders,
        n_repeats=wanted.n_repeats,
        seed=wanted.seed,
        actor=actor,
        at=at,
    )
    by_images = Counter(len(one.images) for one in plan.asked)
    estimate = {"questions_by_images": {str(n_images): n for n_images, n in sorted(by_images.items())}}
    run = ModelRun.objects.create(batch=batch, entry=entry, study=wanted.target.study, estimate=estimate)
    rows = [(batch.pk, number, *of_call) for number, of_call in enumerate(_calls(plan), start=1)]
    for start in range(0, len(rows), AT_ONCE):
        insert_rows(ModelCall, _COLUMNS, rows[start : start + AT_ONCE])
    facts = {"model": str(entry), "on": wanted.target.name, "endpoint": wanted.endpoint, "calls": plan.n_calls}
    record(PLANNED, actor=actor, at=at, subject=batch, facts=facts)
    return plan.stored(run)


def _calls(plan: RunPlan) -> Iterator[Row]:
    """Revision, exam, rotation and repeat of each call: the first questions as they are, then all that is left."""
    wanted, images = plan.wanted, plan.wanted.sent_images
    exams = {one.revision_id: one.exam_id if images != SentImages.NONE else None for one in plan.asked}
    for one in plan.first:
        yield one.revision_id, exams[one.revision_id], 0, 0
    made = {one.revision_id for one in plan.first}
    for one in plan.asked:
        for rotation in range(wanted.n_orders):
            for repeat in range(wanted.n_repeats):
                if rotation or repeat or one.revision_id not in made:
                    yield one.revision_id, exams[one.revision_id], rotation, repeat


def _described(wanted: RunWanted) -> dict[str, str]:
    """A new entry, with what its first run asks it."""
    sent = wanted.chat.kept()
    decoding = ", ".join(f"{name} {value}" for name, value in sent.items())
    prompt = "\n\n".join(filter(None, (wanted.prompt.instruction, wanted.prompt.text)))
    return {"name": wanted.name, "version": wanted.version, "prompt": prompt, "decoding": decoding}


# --- what a run can be planned with ---
def prompts_to_answer() -> QuerySet[PromptVersion]:
    """By name, the newest version of each first."""
    return PromptVersion.objects.filter(purpose=PromptPurpose.ANSWER).order_by("name", "-number")


def model_at(endpoint: str, given: str) -> str:
    """What the endpoint calls the model. Raises RunningRefused where neither says so."""
    named = given.strip() or endpoint_named(endpoint).model
    if not named:
        sentence = _("Say what the endpoint “%(name)s” calls the model.")
        raise RunningRefused("no_model", sentence % {"name": endpoint}, status=422, field="endpoint_model")
    return named


def targets_to_run(person: User) -> list[Target]:
    """Studies first: what this person coordinates and does not read."""
    return [one for one in targets_for(person) if coordinates(person, one) and read_beside(person, one) is None]
