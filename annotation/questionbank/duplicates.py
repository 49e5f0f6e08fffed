"""Near-duplicates as findings, in a bank and across banks. Only commands and jobs load this module: scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Case, QuerySet, When
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import FindingPlace, QuestionState
from annotation.jobs.queueing import Progress, Result
from annotation.models import Finding, QuestionBank, ReleasedQuestion, Revision, User
from annotation.questionbank.checking import (
    DuplicatesParams,
    QualityRefused,
    check_is_released,
    finding_of_rule,
    public_banks_beside,
    settle,
)
from annotation.questionbank.kernels.neighbours import Neighbours, find_neighbours, find_twins
from annotation.questionbank.kernels.rules import (
    NEAR_DUPLICATE,
    PUBLIC_TWIN,
    RELEASED_TWIN,
    RULES,
    THRESHOLD,
    Rule,
    compared_text,
)

BATCH = 500
KEPT = "pass"  # of a finding: its question is the one of its group that is kept
WITHDRAWN_LAST = Case(When(question__state=QuestionState.WITHDRAWN, then=1), default=0)  # nobody keeps them for others
SHOWN_CHARS = 200
Watch = Callable[[int, int], object]  # pairs of questions compared, pairs in all; may raise to stop


@dataclass(frozen=True)
class ShownPair:
    """Two questions near the threshold, by their numbers in the bank."""

    similarity: float
    first: int
    second: int
    first_text: str
    second_text: str


@dataclass(frozen=True)
class ComparedBank:
    """How many questions of a bank were compared, and from which similarity on two are alike."""

    threshold: float
    n_questions: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class DuplicateResult(ComparedBank):
    """``n_duplicates`` questions have another one at or above the threshold; ``around``: pairs on both sides of it."""

    n_duplicates: int
    n_pairs: int
    around: list[ShownPair]


@dataclass(frozen=True)
class TwinResult(ComparedBank):
    """``n_twins`` questions of the bank have one in a public bank at or above the threshold."""

    n_public: int  # questions of public banks that they were compared with
    banks: list[str]
    n_twins: int
    n_pairs: int
    around: list[ShownPair]  # the second question is that of a public bank


@dataclass(frozen=True)
class ReleasedResult(ComparedBank):
    """``n_twins`` of the questions of a bank have one in a release at or above the threshold."""

    n_released: int  # wordings in releases of this and other banks that they were compared with
    n_twins: int
    newest: int  # of the wordings that were compared, by their number in the database


@dataclass
class BankTexts:
    """Questions as they are compared: stem and options, by number; ``banks`` for those of several."""

    revisions: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    banks: list[int] = field(default_factory=list)

    def without(self, numbers: Collection[int]) -> BankTexts:
        kept = [place for place, number in enumerate(self.numbers) if number not in numbers]
        return BankTexts(*([listed[place] for place in kept] for listed in vars(self).values()))


def check_duplicates(
    bank: QuestionBank, *, actor: User | None, at: datetime, threshold: float = THRESHOLD, watch: Watch | None = None
) -> DuplicateResult:
    """Compare all current questions of a bank; each that is like another one gets a finding that names the nearest.

    That of the first question of a group speaks not against it: of each group one is kept.

    Findings of an earlier run go where the question is like no other any more. A dismissed one stays dismissed as long
    as the nearest question is the same. A second run changes nothing. Refused for a threshold out of range.
    """
    _check_threshold(threshold)
    read = read_texts([bank])
    found = find_neighbours(read.texts, threshold, watch)
    made = near_ones(found, read, read)
    n_changed = store_nearest(bank, RULES[NEAR_DUPLICATE], read.revisions, made, at=at)
    note_compared(bank, n_changed, threshold, found.n_pairs, actor=actor, at=at)
    QuestionBank.objects.filter(pk=bank.pk).update(compared_at=at)
    return DuplicateResult(threshold, len(read.texts), len(made), found.n_pairs, list(_shown(read, read, found)))


def check_twins(
    bank: QuestionBank, *, actor: User | None, at: datetime, threshold: float = THRESHOLD, watch: Watch | None = None
) -> TwinResult:
    """Compare the current questions of a bank that is not public with those of all public banks, by the same rule.

    A model may have learned a question whose twin is public. Findings come and go as those of ``check_duplicates`` do.
    Raises QualityRefused for a bank that is public itself, where none is public, and for a threshold out of range.
    """
    _check_threshold(threshold)
    public = public_banks_beside(bank)
    read, others = read_texts([bank]), read_texts(list(QuestionBank.objects.filter(pk__in=public)))
    found = find_twins(read.texts, others.texts, threshold, watch)
    made = near_ones(found, read, others, public)
    n_changed = store_nearest(bank, RULES[PUBLIC_TWIN], read.revisions, made, at=at)
    n_pairs = int(found.n_similar.sum())
    note_compared(bank, n_changed, threshold, n_pairs, actor=actor, at=at, across=sorted(public.values()))
    QuestionBank.objects.filter(pk=bank.pk).update(twins_sought_at=at)
    n_public, names, around = len(others.texts), sorted(public.values()), list(_shown(read, others, found))
    return TwinResult(threshold, len(read.texts), n_public, names, len(made), n_pairs, around)


def find_released(
    bank: QuestionBank, *, threshold: float = THRESHOLD, watch: Watch | None = None
) -> tuple[ReleasedResult, BankTexts, dict[int, NearOne]]:
    """Compare the current questions of a bank with those in releases of other banks, and those that it never released
    with those that it did; nothing is stored. Raises QualityRefused for a threshold out of range.
    """
    _check_threshold(threshold)
    own, names = read_texts([bank]), dict(QuestionBank.objects.values_list("pk", "name"))
    was_released = set(_released(bank).values_list("question__number", flat=True))
    others = [one for one in QuestionBank.objects.filter(releases__isnull=False).distinct() if one != bank]
    made: dict[int, NearOne] = {}
    passes = (own.without(was_released), read_texts([bank], released=True)), (own, read_texts(others, released=True))
    for read, beside in passes:  # what another bank released counts where both are near
        made |= near_ones(find_twins(read.texts, beside.texts, threshold, watch), read, beside, names)
    n_released = sum(len(beside.texts) for read, beside in passes if read.texts)
    newest = max(own.revisions, default=0)
    return ReleasedResult(threshold, len(own.texts), n_released, len(made), newest), own, made


def check_released(
    bank: QuestionBank, *, actor: User | None, at: datetime, threshold: float = THRESHOLD, watch: Watch | None = None
) -> ReleasedResult:
    """As ``find_released``, with findings that come and go as those of ``check_duplicates`` do.

    Raises QualityRefused, also where nothing was released.
    """
    check_is_released()
    result, own, made = find_released(bank, threshold=threshold, watch=watch)
    n_changed = store_nearest(bank, RULES[RELEASED_TWIN], own.revisions, made, at=at)
    note_compared(bank, n_changed, threshold, len(made), actor=actor, at=at, released=result.n_released)
    QuestionBank.objects.filter(pk=bank.pk).update(releases_sought_at=at, near_releases=result.as_json())
    return result


def _check_threshold(threshold: float) -> None:
    if not 0.5 <= threshold <= 1:
        sentence = _("A similarity of %(threshold)s is no threshold: give a number from 0.5 to 1.")
        raise QualityRefused("out_of_range", sentence % {"threshold": threshold}, status=422)


def _released(bank: QuestionBank) -> QuerySet[Revision]:
    released = ReleasedQuestion.objects.filter(release__bank=bank)
    return Revision.objects.in_bank(bank).filter(pk__in=released.values("revision"))


def read_texts(banks: Collection[QuestionBank], *, released: bool = False) -> BankTexts:
    """Stem and options of the current questions, by bank and number, withdrawn ones last; or of released wordings."""
    read = BankTexts()
    columns = ("pk", "question__number", "stem", "options")
    for bank in banks:
        found = _released(bank) if released else Revision.objects.in_bank(bank).current()
        rows = found.order_by(WITHDRAWN_LAST, "question__number", "pk")
        for pk, number, stem, options in rows.values_list(*columns).iterator():
            read.revisions.append(pk)
            read.numbers.append(number)
            read.texts.append(compared_text(stem, options))
            read.banks.append(bank.pk)
    return read


# Of a revision: the most similar one, words of the rule, and whether it is the one of its group that is kept.
NearOne = tuple[int, Mapping[str, object], bool]


def near_ones(
    found: Neighbours, read: BankTexts, beside: BankTexts, names: Mapping[int, str] | None = None, **more: object
) -> dict[int, NearOne]:
    """Of each revision that has a near one ``beside``. ``names``: of other banks, where none of a group is kept."""
    made: dict[int, NearOne] = {}
    for row, place in enumerate(found.nearest.tolist()):
        if place >= 0:
            n_more, of_bank = int(found.n_similar[row]) - 1, {"bank": names[beside.banks[place]]} if names else {}
            words = {"number": beside.numbers[place], "similarity": f"{found.similarity[row]:.2f}", **of_bank, **more}
            words["more"] = f"; {n_more:,} more questions are at {found.threshold:g} or above" if n_more else ""
            made[read.revisions[row]] = beside.revisions[place], words, not names and bool(found.first_of[row] == row)
    return made


def _shown(read: BankTexts, others: BankTexts, found: Neighbours) -> Iterator[ShownPair]:
    for pair in found.around:
        numbers = read.numbers[pair.first], others.numbers[pair.second]
        texts = read.texts[pair.first][:SHOWN_CHARS], others.texts[pair.second][:SHOWN_CHARS]
        yield ShownPair(pair.similarity, *numbers, *texts)


def store_nearest(
    bank: QuestionBank, rule: Rule, revisions: list[int], made: Mapping[int, NearOne], *, at: datetime
) -> int:
    """Bring the stored findings of this rule in line for these revisions, in batches; how many rows that changed."""
    n_changed = 0
    for start in range(0, len(revisions), BATCH):
        batch = revisions[start : start + BATCH]
        found = (_finding(bank, rule, one, *made[one], at) for one in batch if one in made)
        with transaction.atomic():
            n_changed += sum(settle(Finding.objects.filter(revision__in=batch, rule=rule.code), found))
    return n_changed


def _finding(
    bank: QuestionBank, rule: Rule, revision: int, other: int, words: Mapping[str, object], is_kept: bool, at: datetime
) -> Finding:
    verdict = KEPT if is_kept else ""
    detail = rule.sentence(**words)
    return finding_of_rule(bank, revision, rule, FindingPlace.QUESTION, detail, at=at, other_id=other, verdict=verdict)


def note_compared(
    bank: QuestionBank,
    n_changed: int,
    threshold: float,
    pairs: int,
    *,
    actor: User | None,
    at: datetime,
    **more: object,
) -> None:
    """An audit event, where anything changed."""
    if n_changed:
        facts = {"threshold": threshold, "pairs": pairs, "changed": n_changed, **more}
        with transaction.atomic():
            record("bank.compared", actor=actor, at=at, subject=bank, facts=facts)


def find_duplicates(progress: Progress, params: DuplicatesParams) -> Result:
    """The job. Safe to run twice."""
    bank = QuestionBank.objects.get(pk=params["bank"])
    actor = User.objects.filter(pk=params["actor"]).first() if "actor" in params else None
    threshold = float(params.get("threshold", THRESHOLD))
    compare: Callable[..., DuplicateResult | TwinResult | ReleasedResult] = check_duplicates
    if params.get("released"):
        compare = check_released
    elif params.get("across"):
        compare = check_twins
    found = compare(bank, actor=actor, at=timezone.now(), threshold=threshold, watch=progress.report)
    return {"page": reverse("bank-near-duplicates", args=[bank.slug]), **found.as_json()}
