"""Near-duplicates of a bank as findings. Only commands and jobs load this module: it loads scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import FindingPlace
from annotation.jobs.handlers import Params, Progress, Result
from annotation.models import Finding, QuestionBank, Revision, User
from annotation.quality.checking import QualityRefused
from annotation.quality.kernels.neighbours import Neighbours, find_neighbours
from annotation.quality.kernels.rules import NEAR_DUPLICATE, RULES, THRESHOLD

BATCH = 500
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
class DuplicateResult:
    """``n_duplicates`` questions have another one at or above the threshold; ``around``: pairs on both sides of it."""

    threshold: float
    n_questions: int
    n_duplicates: int
    n_pairs: int
    around: list[ShownPair]

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "around": [vars(pair) for pair in self.around]}


@dataclass(frozen=True)
class _Texts:
    revisions: list[int]
    numbers: list[int]
    texts: list[str]


def check_duplicates(
    bank: QuestionBank,
    *,
    actor: User | None,
    at: datetime,
    threshold: float = THRESHOLD,
    watch: Watch | None = None,
) -> DuplicateResult:
    """Compare all current questions of a bank; each that is like another one gets a finding that names the nearest.

    Findings of an earlier run go where the question is like no other any more. A dismissed one stays dismissed as long
    as the nearest question is the same. A second run changes nothing. Refused for a threshold out of range.
    """
    if not 0.5 <= threshold <= 1:
        sentence = _("A similarity of %(threshold)s is no threshold: give a number from 0.5 to 1.")
        raise QualityRefused("out_of_range", sentence % {"threshold": threshold}, status=422)
    read = _read(bank)
    found = find_neighbours(read.texts, threshold, watch)
    _store(bank, read, found, actor=actor, at=at)
    QuestionBank.objects.filter(pk=bank.pk).update(compared_at=at)
    return DuplicateResult(
        threshold, len(read.texts), int((found.nearest >= 0).sum()), found.n_pairs, list(_shown(read, found))
    )


def _read(bank: QuestionBank) -> _Texts:
    """Stem and options of the current questions, by number."""
    read = _Texts([], [], [])
    rows = Revision.objects.in_bank(bank).current().order_by("question__number")
    for pk, number, stem, options in rows.values_list("pk", "question__number", "stem", "options").iterator():
        read.revisions.append(pk)
        read.numbers.append(number)
        read.texts.append("\n".join((stem, *options)))
    return read


def _shown(read: _Texts, found: Neighbours) -> Iterator[ShownPair]:
    for pair in found.around:
        numbers = read.numbers[pair.first], read.numbers[pair.second]
        texts = read.texts[pair.first][:SHOWN_CHARS], read.texts[pair.second][:SHOWN_CHARS]
        yield ShownPair(pair.similarity, *numbers, *texts)


def _store(bank: QuestionBank, read: _Texts, found: Neighbours, *, actor: User | None, at: datetime) -> None:
    n_changed = 0
    for start in range(0, len(read.revisions), BATCH):
        rows = range(start, min(start + BATCH, len(read.revisions)))
        with transaction.atomic():
            n_changed += _store_batch([read.revisions[row] for row in rows], _findings(bank, read, found, rows, at))
    if n_changed:
        facts = {"threshold": found.threshold, "pairs": found.n_pairs, "changed": n_changed}
        with transaction.atomic():
            record("bank.compared", actor=actor, at=at, subject=bank, facts=facts)


def _findings(bank: QuestionBank, read: _Texts, found: Neighbours, rows: range, at: datetime) -> list[Finding]:
    rule, made = RULES[NEAR_DUPLICATE], []
    for row in rows:
        nearest, n_more = int(found.nearest[row]), int(found.n_similar[row]) - 1
        if nearest >= 0:
            more = f"; {n_more:,} more questions are at {found.threshold:g} or above" if n_more else ""
            detail = rule.sentence(similarity=f"{found.similarity[row]:.2f}", number=read.numbers[nearest], more=more)
            made.append(
                Finding(
                    bank=bank,
                    revision_id=read.revisions[row],
                    rule=rule.code,
                    rule_version=rule.version,
                    place=FindingPlace.QUESTION,
                    detail=detail,
                    other_id=read.revisions[nearest],
                    found_at=at,
                )
            )
    return made


def _store_batch(revisions: list[int], found: list[Finding]) -> int:
    """Bring the stored findings of these revisions in line; how many rows that changed."""
    known = {one.revision_id: one for one in Finding.objects.filter(revision__in=revisions, rule=NEAR_DUPLICATE)}
    new, changed = list[Finding](), list[Finding]()
    for one in found:
        old = known.pop(one.revision_id, None)
        if old is None:
            new.append(one)
        elif (old.rule_version, old.other_id, old.detail) != (one.rule_version, one.other_id, one.detail):
            changed.append(_renewed(old, one))
    Finding.objects.bulk_create(new, ignore_conflicts=True)  # another run may be at it
    columns = ["rule_version", "detail", "other", "found_at", "dismissed_at", "dismissed_by", "dismiss_reason"]
    Finding.objects.bulk_update(changed, columns)
    gone = [one.pk for one in known.values() if one.dismissed_at is None]
    Finding.objects.filter(pk__in=gone).delete()
    return len(new) + len(changed) + len(gone)


def _renewed(old: Finding, one: Finding) -> Finding:
    """The stored row with what was found now: open again where it names another question."""
    if old.other_id != one.other_id:
        old.dismissed_at, old.dismissed_by, old.dismiss_reason = None, None, ""
    old.rule_version, old.detail, old.other_id, old.found_at = one.rule_version, one.detail, one.other_id, one.found_at
    return old


def find_duplicates(progress: Progress, params: Params) -> Result:
    """The job: parameters ``bank`` (its key) and, if not the usual one, ``threshold``. Safe to run twice."""
    bank = QuestionBank.objects.get(pk=params["bank"])
    threshold = float(params.get("threshold", THRESHOLD))
    found = check_duplicates(bank, actor=None, at=timezone.now(), threshold=threshold, watch=progress.report)
    return found.as_json()
