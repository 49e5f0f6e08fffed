"""Questions of a bank as vectors of a model, and near-duplicates by the threshold of this model.

What comparisons found in a bank, for its page: near-duplicates, and twins in public banks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import asdict

from annotation.audit.recording import record
from annotation.contributions import reads_in_bank
from annotation.endpoints.client import Limits
from annotation.hashes import sha256_of
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue, job_under_way
from annotation.models import Embedding, Finding, Job, QuestionBank, QuestionVector, Revision, User
from annotation.questionbank.checking import (
    COMPARISON,
    DuplicatesParams,
    QualityRefused,
    check_is_released,
    public_banks_beside,
)
from annotation.questionbank.kernels.rules import BANKWIDE, NEAR_EMBEDDED, RULES, compared_text
from annotation.review.onlookers import similarity_hidden_from, withheld_questions
from annotation.validators.vector_sources import Clock, EmbeddingRefused, VectorSource, Wait, asking, source_named

if TYPE_CHECKING:
    from annotation.validators.kernels.near_vectors import Vectors


class EmbeddingParams(TypedDict):
    bank: int
    endpoint: str
    model: str
    actor: int


KIND: JobKind[EmbeddingParams] = JobKind("embed_questions")
AT_ONCE = 64  # texts in a request
CHUNK = 500  # vectors read at once


class EmbeddingPlan(Struct, frozen=True):
    """``missing``: for each text without a vector, its hash and the wordings that have it."""

    bank: QuestionBank
    source: VectorSource
    n_questions: int
    missing: dict[str, list[int]]

    @property
    def n_to_send(self) -> int:
        """To an endpoint; from a folder nothing leaves this process."""
        return len(self.missing) if self.source.folder is None else 0

    def as_json(self) -> dict[str, Any]:
        return {
            "bank": self.bank.slug,
            "endpoint": self.source.endpoint,
            "model": self.source.model,
            "questions": self.n_questions,
            "texts_without_vector": len(self.missing),
            "texts_to_send": self.n_to_send,
            "requests": -(-self.n_to_send // AT_ONCE),
            "permission": self.source.permission,
        }


def plan_embedding(bank: QuestionBank, endpoint: str, model: str, *, at: datetime) -> EmbeddingPlan:
    """What is missing, of an endpoint or ``folder:NAME``. Raises EmbeddingRefused, EndpointRefused, SendingRefused."""
    if bank.archived_at is not None:
        raise EmbeddingRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    source = source_named(bank, endpoint, model, at=at)
    known = Embedding.objects.filter(endpoint=source.endpoint, model=source.model).first()
    current = Revision.objects.in_bank(bank).current().order_by("question__number")
    missing: dict[str, list[int]] = {}
    have = QuestionVector.objects.filter(embedding=known).values("revision")
    for pk, stem, options in current.exclude(pk__in=have).values_list("pk", "stem", "options").iterator():
        missing.setdefault(sha256_of(compared_text(stem, options)), []).append(pk)
    if not current.exists():
        raise EmbeddingRefused("no_questions", _("“%(bank)s” holds no question.") % {"bank": bank.name})
    return EmbeddingPlan(bank, source, current.count(), missing)


def embed_questions(
    plan: EmbeddingPlan,
    *,
    actor: User | None,
    clock: Clock,
    progress: Progress,
    limits: Limits | None = None,
    wait: Wait | None = None,
) -> Embedding:
    """Ask for the vectors that are missing and store each answer at once, so that a second run goes on where one ended.

    The permission is looked at before each request to an endpoint. One that fails in passing is made up to five times.
    Raises EmbeddingRefused and SendingRefused; what came until then is kept.
    """
    embedding = _begin(plan, actor=actor, at=clock())
    copied = _copy_known(embedding, plan.missing)
    hashes = [one for one in plan.missing if one not in copied]
    with asking(plan.source, plan.bank, clock=clock, limits=limits, wait=wait) as ask:
        for start in range(0, len(hashes), AT_ONCE):
            progress.report(start, len(hashes), _("texts embedded"))
            batch = hashes[start : start + AT_ONCE]
            _store(embedding, plan, batch, ask(_texts_of(plan, batch)))
    progress.report(len(hashes), len(hashes))
    embedding.refresh_from_db()
    return embedding


@transaction.atomic
def _begin(plan: EmbeddingPlan, *, actor: User | None, at: datetime) -> Embedding:
    known, _is_new = Embedding.objects.get_or_create(
        endpoint=plan.source.endpoint, model=plan.source.model, defaults={"created_at": at}
    )
    if plan.missing:
        facts = {**plan.as_json(), "embedding": known.public_id}
        record("embedding.asked", actor=actor, at=at, subject=plan.bank, facts=facts)
    return known


def _texts_of(plan: EmbeddingPlan, batch: Sequence[str]) -> list[str]:
    firsts = [plan.missing[one][0] for one in batch]
    rows = Revision.objects.filter(pk__in=firsts).values_list("pk", "stem", "options")
    texts = {pk: compared_text(stem, options) for pk, stem, options in rows}
    return [texts[pk] for pk in firsts]


def _copy_known(embedding: Embedding, missing: Mapping[str, list[int]]) -> set[str]:
    """Wordings whose text another one has, also in another bank, get its vector; the hashes of those texts."""
    hashes, copied = list(missing), set[str]()
    for start in range(0, len(hashes), CHUNK):
        rows = QuestionVector.objects.filter(embedding=embedding, text_sha256__in=hashes[start : start + CHUNK])
        known = {sha256: bytes(vector) for sha256, vector in rows.values_list("text_sha256", "vector")}
        _create(embedding, [(pk, one, vector) for one, vector in known.items() for pk in missing[one]])
        copied |= known.keys()
    return copied


def _create(embedding: Embedding, rows: Sequence[tuple[int, str, bytes]]) -> None:
    QuestionVector.objects.bulk_create(
        (
            QuestionVector(embedding=embedding, revision_id=pk, text_sha256=sha256, vector=vector)
            for pk, sha256, vector in rows
        ),
        ignore_conflicts=True,  # another run may be at it
    )


@transaction.atomic
def _store(embedding: Embedding, plan: EmbeddingPlan, batch: Sequence[str], vectors: Vectors) -> None:
    locked = Embedding.objects.select_for_update().get(pk=embedding.pk)
    dimension = vectors.shape[1]
    if locked.dimension is None:
        locked.dimension = dimension
        locked.save(update_fields=["dimension"])
    if locked.dimension != dimension:
        sentence = _(
            "“%(model)s” gives vectors of %(now)d numbers, and those stored have %(before)d: another model is "
            "behind this name now. Ask for it by another name."
        )
        facts = {"model": plan.source.model, "now": dimension, "before": locked.dimension}
        raise EmbeddingRefused("other_dimension", sentence % facts)
    rows = zip(batch, vectors, strict=True)
    _create(embedding, [(pk, one, vector.tobytes()) for one, vector in rows for pk in plan.missing[one]])


# --- comparing ---
class EmbeddedResult(Struct, frozen=True):
    """``threshold`` None: none is set for this embedding, and nothing was compared."""

    embedding: str
    threshold: float | None
    n_questions: int
    n_duplicates: int = 0
    n_pairs: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def compare_embedded(
    bank: QuestionBank, embedding: Embedding, *, actor: User | None, at: datetime, progress: Progress
) -> EmbeddedResult:
    """Near-duplicates of a bank as findings, by the threshold of this embedding; without one, none.

    Findings by another embedding, or by this one before, are replaced by those that are found now.
    Raises EmbeddingRefused (``no_vectors``) where a question has no vector.
    """
    n_questions = Revision.objects.in_bank(bank).current().count()
    if embedding.threshold is None:
        return EmbeddedResult(str(embedding), None, n_questions)
    from annotation.questionbank.duplicates import BankTexts, near_ones, note_compared, store_nearest
    from annotation.validators.kernels.near_vectors import near_vectors  # numpy and scikit-learn

    revisions, numbers, vectors = vectors_of(bank, embedding)
    found = near_vectors(vectors, embedding.threshold, progress.report)
    read = BankTexts(revisions, numbers)
    made = near_ones(found, read, read, embedding=embedding)
    n_changed = store_nearest(bank, RULES[NEAR_EMBEDDED], revisions, made, at=at)
    n_pairs, facts = found.n_pairs, {"embedding": str(embedding)}
    note_compared(bank, n_changed, embedding.threshold, n_pairs, actor=actor, at=at, **facts)
    QuestionBank.objects.filter(pk=bank.pk).update(compared_at=at)
    return EmbeddedResult(str(embedding), embedding.threshold, n_questions, len(made), n_pairs)


def vectors_of(bank: QuestionBank, embedding: Embedding) -> tuple[list[int], list[int], Vectors]:
    """Of all current questions, withdrawn ones last, else by number: wordings, numbers, vectors.

    Raises EmbeddingRefused (``no_vectors``).
    """
    import numpy as np

    columns = ("pk", "question__number")
    from annotation.questionbank.duplicates import WITHDRAWN_LAST

    in_order = Revision.objects.in_bank(bank).current().order_by(WITHDRAWN_LAST, "question__number")
    current = list(in_order.values_list(*columns))
    place = {pk: row for row, (pk, _number) in enumerate(current)}
    vectors = np.zeros((len(current), embedding.dimension or 1), dtype=np.float32)
    rows = Revision.objects.in_bank(bank).current().order_by().values("pk")
    stored = QuestionVector.objects.filter(embedding=embedding, revision__in=rows).values_list("revision", "vector")
    n_found = 0
    for pk, vector in stored.iterator(chunk_size=CHUNK):
        vectors[place[pk]] = np.frombuffer(vector, dtype="<f4")
        n_found += 1
    if n_found < len(current):
        sentence = _("%(n)d questions of “%(bank)s” have no vector of “%(embedding)s” yet: ask for them first.")
        facts = {"n": len(current) - n_found, "bank": bank.name, "embedding": embedding}
        raise EmbeddingRefused("no_vectors", sentence % facts)
    return [pk for pk, _number in current], [number for _pk, number in current], vectors


# --- in the background ---
def ask_for_embedding(bank: QuestionBank, endpoint: str, model: str, *, actor: User, at: datetime) -> Job:
    """A job that asks for what is missing, and compares where a threshold is set; one under way is enough.

    Raises what ``plan_embedding`` does.
    """
    plan = plan_embedding(bank, endpoint, model, at=at)
    asked = {"bank": bank.pk, "endpoint": plan.source.endpoint, "model": plan.source.model}
    params = EmbeddingParams(bank=bank.pk, endpoint=plan.source.endpoint, model=plan.source.model, actor=actor.pk)
    by = plan.source.folder.name if plan.source.folder else plan.source.model
    title = _("Vectors of “%(bank)s” by %(model)s") % {"bank": bank.name[:80], "model": by[:80]}
    return job_under_way(KIND, **asked) or enqueue(KIND, title, params, actor=actor, at=at)


def embed_in_background(progress: Progress, params: EmbeddingParams) -> Result:
    """The handler. Run again it asks only for what is missing."""
    bank, actor = QuestionBank.objects.get(pk=params["bank"]), User.objects.get(pk=params["actor"])
    plan = plan_embedding(bank, params["endpoint"], params["model"], at=timezone.now())
    embedding = embed_questions(plan, actor=actor, clock=timezone.now, progress=progress)
    found = compare_embedded(bank, embedding, actor=actor, at=timezone.now(), progress=progress)
    page = reverse("bank-near-duplicates", args=[bank.slug])
    return {"page": page, "texts_sent": plan.n_to_send, **found.as_json()}


# --- shown ---
class EmbeddingRow(Struct, frozen=True):
    """An embedding, and how many current questions of a bank have its vector."""

    embedding: Embedding
    n_vectors: int
    n_questions: int

    @property
    def is_whole(self) -> bool:
        return 0 < self.n_questions == self.n_vectors


def embeddings_of(bank: QuestionBank) -> list[EmbeddingRow]:
    """Those that know a question of the bank; three queries, and one for each."""
    current = Revision.objects.in_bank(bank).current().order_by()
    n_questions, rows = current.count(), list[EmbeddingRow]()
    for one in Embedding.objects.select_related("threshold_set_by"):
        n_vectors = QuestionVector.objects.filter(embedding=one, revision__in=current.values("pk")).count()
        if n_vectors:
            rows.append(EmbeddingRow(one, n_vectors, n_questions))
    return rows


# --- What comparisons found in a bank, for its page: near-duplicates, and twins in ----------------
def ask_for_comparison(
    bank: QuestionBank, *, across: bool = False, released: bool = False, actor: User, at: datetime
) -> Job:
    """A job that compares its questions with each other, with those of public banks (``across``) or with ``released``
    ones; one under way is enough.

    Raises QualityRefused (``archived``, ``is_public``, ``none_public``, ``none_released``).
    """
    if bank.archived_at is not None:
        raise QualityRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    title = _("Near-duplicates in “%(bank)s”")
    if released:
        check_is_released()
        title = _("Twins of “%(bank)s” in releases")
    elif across:
        public_banks_beside(bank)
        title = _("Twins of “%(bank)s” in public banks")
    params = DuplicatesParams(bank=bank.pk, across=across, released=released)
    if under_way := job_under_way(COMPARISON, **params):
        return under_way
    params["actor"] = actor.pk
    return enqueue(COMPARISON, title % {"bank": bank.name[:100]}, params, actor=actor, at=at)


def similar_found(bank: QuestionBank, person: User) -> QuerySet[Finding]:
    """Open findings of comparisons, by rule and number, of which the person may hear.

    Left out: pairs with a question that the person reviews, those with one of a pair that the person has still to judge
    in a trial of an embedding, and those with a bank of which the person reads questions
    in a study that is not over.
    """
    hidden = withheld_questions(person)
    current = Revision.objects.in_bank(bank).current().exclude(question__in=hidden).order_by()
    found = Finding.objects.open().filter(bank=bank, rule__in=BANKWIDE, revision__in=current.values("pk"))
    found = found.exclude(other__question__in=hidden).exclude(similarity_hidden_from(person))
    banks = found.exclude(other__bank=bank).order_by().values_list("other__bank", flat=True).distinct()
    read = [pk for pk in banks if reads_in_bank(person.pk, pk)]
    found = found.exclude(other__bank__in=read).select_related("revision__question", "other__question__bank")
    return found.order_by("rule", "revision__question__number")


def counts_of_similar(found: QuerySet[Finding]) -> Counter[str]:
    """By rule."""
    return Counter(found.order_by().values_list("rule", flat=True))
