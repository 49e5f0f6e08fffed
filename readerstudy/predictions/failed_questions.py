"""Questions that models failed, as a filter of the bank.

Counted are the main runs of listed models: on studies whose results were seen, and on the bank for questions that no
study keeps secret and no leaderboard asks. The counts are kept, and made anew when any of that has changed since.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha256

from django.core.cache import cache
from django.db import transaction
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Value
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.models import AnswerKey, QuestionBank
from annotation.questionbank.bulk import insert_rows
from annotation.questionbank.filters import BankFilter, BankSearch, Choices, Rows, Sought
from annotation.questionbank.listing import MOST_LISTED
from annotation.review.commenting import coordinators
from annotation.review.onlookers import questions_hidden_from
from readerstudy.enums import OVER, Block, EntryState
from readerstudy.models import Enrolment, FailureCount, FailureCounts, Prediction, PredictionRun, ReaderStudy, StudyCase
from readerstudy.predictions.entries import benchmarked_banks
from readerstudy.predictions.looks import with_seen_results

MOST = 8  # models that can be asked for by number
RULE = "failures-1"
KEPT_SECONDS = 60


@dataclass(frozen=True)
class _Inputs:
    """What the counts of a bank are made from; ``sha256`` says whether any of it has changed."""

    runs: list[int]
    hiding: list[int]  # studies whose questions are secret
    n_predictions: int
    sha256: str
    is_counted: bool


def _inputs_of(bank: QuestionBank) -> _Inputs:
    """In one query, since it is asked for a page."""
    studies = ReaderStudy.objects.filter(bank=bank).order_by()
    seen = with_seen_results(studies)
    runs = PredictionRun.objects.filter(
        Q(study=None) | Q(study__in=seen), bank=bank, is_named=True, withdrawn_at=None, entry__state=EntryState.LISTED
    ).exclude(study=None, bank__in=benchmarked_banks())
    hiding = studies.filter(frozen_at__isnull=False).exclude(pk__in=seen.values("pk"))
    rows = (
        runs.order_by()
        .values_list(Value("run"), "pk", "n_matched", Value(""))
        .union(
            hiding.values_list(Value("study"), "pk", Count("cases__voiding"), Value("")),
            FailureCounts.objects.filter(bank=bank).values_list(Value("counts"), "pk", Value(0), "inputs_sha256"),
            all=True,
        )
    )
    found = defaultdict[str, list[tuple[int, int, str]]](list)
    for what, *row in rows:
        found[what].append((row[0], row[1], row[2]))
    counted = sorted(pk for pk, _n, _text in found["run"])
    hidden_by = sorted((pk, n_voided) for pk, n_voided, _text in found["study"])
    digest = sha256(f"{RULE} {counted} {hidden_by}".encode()).hexdigest()
    return _Inputs(
        runs=counted,
        hiding=[pk for pk, _n in hidden_by],
        n_predictions=sum(n for _pk, n, _text in found["run"]),
        sha256=digest,
        is_counted=digest in {text for _pk, _n, text in found["counts"]},
    )


def count_failures(bank: QuestionBank) -> None:
    """Bring the counts of a bank up to date; one query where they are, none within a minute for a large bank.

    A model failed a question if none of its main runs gave the key; an answer that could not be extracted gave none.
    """
    kept = f"failures:{bank.pk}"
    if cache.get(kept):
        return
    inputs = _inputs_of(bank)
    if not inputs.is_counted:
        _store(bank, inputs, _count(inputs))
    if inputs.n_predictions > MOST_LISTED:
        cache.set(kept, True, KEPT_SECONDS)


def _count(inputs: _Inputs) -> list[tuple[int, int, int]]:
    """Of each revision that a model answered: its id, how many models, and how many of them had it right."""
    key = AnswerKey.objects.filter(revision=OuterRef("revision")).values("key")
    secret = StudyCase.objects.filter(study__in=inputs.hiding, block=Block.MAIN, voiding=None).order_by()
    given = Prediction.objects.filter(run__in=inputs.runs)
    given = given.exclude(run__study=None, revision__question__in=secret.values("revision__question"))
    rows = (
        given.order_by()
        .values("revision")
        .annotate(
            n=Count("run__entry", distinct=True),
            right=Count("run__entry", distinct=True, filter=Q(option=Subquery(key))),
        )
    )
    return list(rows.values_list("revision", "n", "right"))


@transaction.atomic
def _store(bank: QuestionBank, inputs: _Inputs, counts: list[tuple[int, int, int]]) -> None:
    """Unless another request has counted meanwhile, or what was counted has changed: then the next one counts."""
    QuestionBank.objects.select_for_update(no_key=True).get(pk=bank.pk)
    now = _inputs_of(bank)
    if now.is_counted or now.sha256 != inputs.sha256:
        return
    FailureCount.objects.filter(bank=bank).delete()
    insert_rows(
        FailureCount,
        ("bank_id", "revision_id", "n_models", "n_failed", "percent"),
        [(bank.pk, revision, n, n - right, 100 * (n - right) // n) for revision, n, right in counts],
    )
    FailureCounts.objects.update_or_create(bank=bank, defaults={"inputs_sha256": inputs.sha256})


def _condition(value: str) -> Q:
    match value:
        case "all":
            return Q(percent=100)
        case "half":
            return Q(percent__gte=50)
        case "none":
            return Q(n_failed=0)
    return Q(n_failed__gte=int(value))


def _may_be_known(search: BankSearch, question: str) -> Q:
    """Not of what the person judges or reads; without a person, of nothing that any coordinator judges or reads."""
    reading = Enrolment.objects.filter(reader__in=[search.person.pk] if search.person else coordinators())
    reading = reading.exclude(study__state__in=OVER)
    read = StudyCase.objects.filter(study__in=reading.values("study")).order_by().values("revision__question")
    name = f"{question}__in"
    return ~Q(**{name: read}) & ~Q(**{name: questions_hidden_from(search.person)})


def _counts(search: BankSearch) -> QuerySet[FailureCount]:
    """Brought up to date by the first that asks of a request."""
    if "failures" not in search.kept:
        count_failures(search.bank)
        search.kept["failures"] = True
    return FailureCount.objects.filter(bank=search.bank).order_by()


def _narrow(rows: Rows, search: BankSearch, value: str) -> Rows:
    """By two look-ups for each row, so that no database begins with all the counts."""
    of_row = _counts(search).filter(revision=OuterRef("pk"))
    counts = {name: Subquery(of_row.values(name)) for name in ("n_failed", "percent")}
    return rows.alias(**counts).filter(_condition(value), _may_be_known(search, "question"))


def _seek(search: BankSearch, value: str) -> Sought | None:
    found = _counts(search).filter(_condition(value), _may_be_known(search, "revision__question"))
    return "pk__in", found.values("revision")


def _choices(_search: BankSearch) -> Choices:
    at_least = [
        (str(n), ngettext("by at least %(n)s model", "by at least %(n)s models", n) % {"n": n})
        for n in range(1, MOST + 1)
    ]
    half = ("half", _("by at least half of the models"))
    return [("all", _("by every model")), half, *at_least, ("none", _("by no model"))]


FAILED = BankFilter(
    name="failed",
    label=gettext_lazy("Failed by models"),
    choices=_choices,
    narrow=_narrow,
    seek=_seek,
    of_coordinators=True,
)
