"""Who may run models, and a run as it is planned: which questions, in which order of the options, how often.

What is kept of who opened a raw answer: readerstudy/model_runs/asked_questions.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.call_enums import BatchState, PromptPurpose, SentImages
from annotation.endpoints.configured_endpoints import endpoint_named, endpoints
from annotation.enums import Role
from annotation.imaging.kernels.picture_policies import BLANK, QUARTER
from annotation.ingest.serving import policy_for
from annotation.model_calls.attempts import Asking, CallPlan, check_purpose, permitted_and_priced, store_batch
from annotation.model_calls.call_batches import sent_parts
from annotation.models import ModelCall, Price, PromptVersion, SendingPermission, User
from annotation.questionbank.bulk import Row, insert_rows
from annotation.site.permissions import acts_as, is_coordinator, within_reach
from annotation.site.sorted_tables import analyze
from readerstudy.enums import OVER
from readerstudy.model_runs.asked_questions import (
    AskedQuestion,
    RunningRefused,
    asked_questions,
    check_images,
    swap_exams,
)
from readerstudy.model_runs.kernels.estimates import first_questions
from readerstudy.model_runs.publishing import asks_plainly, is_for_benchmark, is_plain
from readerstudy.models import Enrolment, ModelEntry, ModelRun, ReaderStudy, StudyCase
from readerstudy.predictions.entries import edit_model, enter_model, find_entry
from readerstudy.predictions.importing import check_takes_predictions
from readerstudy.predictions.listing import Target, targets_for
from readerstudy.predictions.looks import may_see_results
from readerstudy.study.permissions import may_coordinate_study

EXAM, PRIOR = "revision__question__exam", "revision__question__exam__prior"


def check_may_run(person: User | None, target: Target) -> None:
    """Refused for who does not coordinate, and for who reads the questions or their exams. None: the command line."""
    if person is None:
        return
    if not coordinates(person, target):
        raise RunningRefused("not_coordinator", _("Models are run by people who coordinate."), status=403)
    study = read_beside(person, target)
    if study is not None:
        sentence = _(
            "You read these questions, or others on their images, in the study “%(study)s”. Somebody else runs models "
            "on them until it is over."
        )
        raise RunningRefused("reads_them", sentence % {"study": study.name}, status=403)


def coordinates(person: User, target: Target) -> bool:
    """Coordinators of the site; of a study also its own, unless they read in it."""
    return is_coordinator(person) if target.study is None else may_coordinate_study(person, target.study)


def read_beside(person: User, target: Target) -> ReaderStudy | None:
    """A study that is not over in which the person reads questions of the target, or their exams, be it as prior.

    A run on a bank asks all its questions, so that any study of the bank is one.
    """
    read = ReaderStudy.objects.filter(pk__in=_reads(person).values("study"), bank=target.bank).exclude(state__in=OVER)
    for study in read:
        if target.study is None or study == target.study or exams_of(study) & exams_of(target.study):
            return study
    return None


def read_of_bank(person_id: int, bank_id: int) -> str:
    """The name of a study that is not over in which the person reads questions of the bank; empty: none."""
    read = ReaderStudy.objects.filter(pk__in=_reads(person_id).values("study"), bank=bank_id).exclude(state__in=OVER)
    return read.values_list("name", flat=True).first() or ""


def exams_of(study: ReaderStudy) -> set[int]:
    """Those that its cases show, the practice block and priors included. One query."""
    rows = StudyCase.objects.filter(study=study).values_list(EXAM, PRIOR)
    return {exam for row in rows for exam in row if exam is not None}


def _reads(person: User | int) -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(reader=person, withdrawn_at=None, replaced_at=None)


def runs_seen_by(person: User) -> QuerySet[ModelRun]:
    """Newest first. To who reads in a study its runs do not exist, nor while it goes on those on its exams.

    A token reaches those of its place, as a coordinator alone.
    """
    found = ModelRun.objects.select_related("batch__bank", "batch__prompt", "batch__price", "entry", "study")
    found = found.exclude(study__in=ReaderStudy.objects.filter(enrolments__reader=person))
    runs: QuerySet[ModelRun] = within_reach(person, found, bank="batch__bank", study="study")
    if not is_coordinator(person):
        runs = runs.filter(study__coordinators__user=person) if acts_as(person, Role.COORDINATOR) else runs.none()
    reading = ReaderStudy.objects.filter(pk__in=_reads(person).values("study")).exclude(state__in=OVER)
    for study in reading:
        runs = runs.exclude(Q(study=None, batch__bank=study.bank_id) | Q(study__in=_beside(study)))
    return runs


def _beside(study: ReaderStudy) -> list[int]:
    """The studies with a run that show an exam of this one."""
    exams = exams_of(study)
    others = ReaderStudy.objects.filter(bank=study.bank_id, model_runs__isnull=False).distinct()
    return [other.pk for other in others if exams_of(other) & exams]


def shows_results(run: ModelRun) -> bool:
    """Whether it may be seen how often the model is right.

    In a study that is a result of it: not before it is closed and somebody has unblinded it on its own pages. On a
    benchmark it is told by the editions.
    """
    if run.study is None:
        return not is_for_benchmark(run)
    return run.study.unblinded_at is not None and may_see_results(run.study)


PLANNED = "model_run.planned"
ORDERS = (1, 4)
MOST_REPEATS = 20
MOST_CALLS = 2_000_000
LONGEST_NAME, LONGEST_VERSION = 200, 100  # of a model entry
AT_ONCE = 20_000  # rows in one statement
_COLUMNS = ("batch_id", "number", "revision_id", "exam_id", "rotation", "repeat")


class RunWanted(Asking, frozen=True, kw_only=True):
    """What a person asks for. ``images`` None: those of the prompt."""

    name: str  # of the model entry, which is made where it is not listed
    version: str = ""  # without one, that of a listed entry without one, else what the endpoint calls the model
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
    def is_plain(self) -> bool:
        """Whether its answers become predictions of the model."""
        return asks_plainly(self.prompt, self.sent_images)

    @property
    def sent_policy(self) -> str:
        """How its images become pictures; empty where none are sent. Raises PictureRefused for a wrong one."""
        policy = policy_for(self.target.bank, self.picture_policy).name
        return {SentImages.NONE: "", SentImages.BLANK: BLANK}.get(self.sent_images, policy)


@dataclass(frozen=True)
class RunPlan(CallPlan[RunWanted, ModelRun]):
    entry: ModelEntry  # not stored yet where the run is the first of it
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
            "version": self.entry.version,
            "endpoint": wanted.endpoint,
            "endpoint_model": wanted.model,
            "study" if wanted.target.study else "bank": wanted.target.slug,
            "prompt": str(wanted.prompt),
            "images": wanted.sent_images.value,
            "picture_policy": wanted.sent_policy,
            "published": wanted.is_plain,
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
    entry = _entry_of(wanted)
    permission, price = _check(wanted, entry, actor=actor, at=at)
    asked = asked_questions(wanted.target, wanted.sent_images)
    if not asked:
        raise RunningRefused("no_questions", _("“%(name)s” holds no question.") % {"name": wanted.target.name})
    check_images(asked, wanted.sent_images)
    if wanted.sent_images == SentImages.SWAPPED:
        asked = swap_exams(asked, wanted.target.bank, seed=wanted.seed)
    number_of = {one.revision_id: one for one in asked}
    drawn = first_questions({one.revision_id: len(one.images) for one in asked}, seed=wanted.seed)
    plan = RunPlan(wanted, permission, price, entry, asked, [number_of[pk] for pk in drawn])
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
    _check_asks_alike(wanted, entry)
    return permitted_and_priced(target.bank, wanted, at=at, **sent_parts(wanted.prompt, wanted.sent_images))


@transaction.atomic
def store_run(plan: RunPlan, *, actor: User | None, at: datetime) -> RunPlan:
    """A planned run with its calls, which wait for the start."""
    wanted = plan.wanted
    entry = _entry_of(wanted)
    is_first = entry._state.adding or not entry.runs.exists()
    said = _described(wanted) if wanted.is_plain and is_first else {}
    if entry._state.adding:
        entry = enter_model({"name": entry.name, "version": entry.version, **said}, actor=actor, at=at)
    elif unsaid := {name: words for name, words in said.items() if words and not getattr(entry, name)}:
        entry = edit_model(entry, unsaid, actor=actor, at=at)
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
    analyze(len(rows), ModelCall)
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


def _entry_of(wanted: RunWanted) -> ModelEntry:
    """The listed one, else a new one that is not stored yet."""
    version = wanted.version or wanted.model[:LONGEST_VERSION]
    listed = find_entry(wanted.name, wanted.version) or find_entry(wanted.name, version)
    return listed or ModelEntry(name=wanted.name, version=version)


def _check_asks_alike(wanted: RunWanted, entry: ModelEntry) -> None:
    """Refused where plain runs of the entry ask by another prompt or with other images."""
    if entry._state.adding or not wanted.is_plain:
        return
    runs = ModelRun.objects.filter(entry=entry).exclude(batch__state=BatchState.STOPPED).select_related("batch__prompt")
    asked = (wanted.prompt.pk, wanted.sent_images)
    other = next((one for one in runs if is_plain(one) and (one.batch.prompt_id, one.batch.images) != asked), None)
    if other is not None:
        sentence = _(
            "“%(entry)s” is what figures call the model with the prompt “%(prompt)s” and %(images)s. Give this run a "
            "version of its own, such as “%(version)s”."
        )
        own = f"{wanted.prompt}, {_(wanted.sent_images.label)}"
        facts = {"entry": entry, "prompt": other.batch.prompt, "images": other.batch.get_images_display()}
        raise RunningRefused("asks_otherwise", sentence % {**facts, "version": own}, field="version")


def _described(wanted: RunWanted) -> dict[str, str]:
    """What an entry says of how its model is asked, by its first plain run."""
    sent = [f"{name} {value}" for name, value in wanted.chat.kept().items()]
    pictures = [f"{_(wanted.sent_images.label)}, {wanted.sent_policy}"] if wanted.sent_policy else []
    decoding = "; ".join([", ".join(sent) or _("settings of the endpoint"), *pictures])
    prompt = "\n\n".join(filter(None, (wanted.prompt.instruction, wanted.prompt.text)))
    return {"prompt": prompt, "decoding": decoding}


# --- what a run can be planned with ---
def model_at(endpoint: str, given: str) -> str:
    """What the endpoint calls the model. Raises RunningRefused where neither says so."""
    named = given.strip() or endpoint_named(endpoint).model
    if not named:
        sentence = _("Say what the endpoint “%(name)s” calls the model.")
        raise RunningRefused("no_model", sentence % {"name": endpoint}, status=422, field="endpoint_model")
    return named


class Need(Struct, frozen=True):
    """One thing without which a run cannot be planned, or nobody knows what it costs."""

    label: str
    words: str  # what there is; empty: missing
    url: str  # where it is seen and added


def needs_of_runs(targets: Sequence[Target], at: datetime) -> list[Need]:
    """An endpoint, permissions for banks of these targets, and prices, in the order in which they are seen to."""
    names, banks = [one.name for one in endpoints()], {one.bank.pk: one.bank for one in targets}
    permitted = SendingPermission.objects.filter(
        bank__in=banks, endpoint__in=names, questions=True, withdrawn_at=None, expires_at__gt=at
    )
    allowed = sorted({f"{bank} → {endpoint}" for bank, endpoint in permitted.values_list("bank__name", "endpoint")})
    priced = Price.objects.filter(endpoint__in=names).order_by("model").values_list("model", flat=True).distinct()
    sending = reverse("bank-sending", args=[next(iter(banks.values())).slug]) if banks else reverse("banks")
    return [
        Need(_("Endpoint"), ", ".join(names), reverse("model-endpoints")),
        Need(_("Permission to send"), ", ".join(allowed), sending),
        Need(_("Price"), ", ".join(priced), reverse("model-endpoints")),
    ]


def targets_to_run(person: User) -> list[Target]:
    """Studies first: what this person coordinates and does not read."""
    return [one for one in targets_for(person) if coordinates(person, one) and read_beside(person, one) is None]
