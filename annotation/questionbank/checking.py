"""Checks of questions before a radiologist reads them: what is found is stored, and a person dismisses it.

Nothing is left out because of a finding unless a person says so of the bank (validity.py). Findings may tell the
key: they are for coordinators.

What the checks say of a whole bank: how many questions each rule is about, and what shows only over all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from django.db import connection, models, transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.enums import FindingPlace, OptionLetter
from annotation.jobs.queueing import JobKind
from annotation.models import (
    AnswerKey,
    ClassScore,
    Finding,
    Question,
    QuestionBank,
    QuestionVector,
    Release,
    Revision,
    User,
)
from annotation.questionbank.kernels.identifiers import IDENTIFIERS, Identifier
from annotation.questionbank.kernels.question_checks import BIAS, IDENTIFIER_FREE, check
from annotation.questionbank.kernels.rules import (
    BANKWIDE,
    CLASSIFIED,
    CLASSIFIED_BIAS,
    CLASSIFIED_IDENTIFIER,
    MIN_EXPLANATION,
    NEAR_DUPLICATE,
    NEAR_EMBEDDED,
    PUBLIC_TWIN,
    RELEASED_TWIN,
    RULES,
    BankWide,
    CheckedQuestion,
    Flaw,
    Rule,
    bank_wide,
)
from annotation.refusals import Refused
from annotation.site.sorted_tables import analyze
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

BATCH_SIZES = {"sqlite": 500, "postgresql": 2_000}  # SQLite has one writer, for whom others wait
LONGEST_REASON = 500
Watch = Callable[[int, int], object]  # questions checked, questions in all; may raise to stop
FOUND = ("rule_version", "detail", "other_id", "verdict")  # what is said of a question
_KEYS = ("key", "explanation", "report__indication", "report__comparison", "report__findings", "report__impression")


class DuplicatesParams(TypedDict):
    """``across``: with questions of public banks; ``released``: with released ones. ``actor`` is who asked,
    ``threshold`` the usual one where missing.
    """

    bank: int
    across: NotRequired[bool]
    released: NotRequired[bool]
    actor: NotRequired[int]
    threshold: NotRequired[float]


COMPARISON: JobKind[DuplicatesParams] = JobKind("find_duplicates")


class QualityRefused(Refused):
    """A check cannot be made, or a finding not be dismissed; the sentence says why and what to do."""


class CheckResult(Struct):
    """What a run did: ``rules`` counts the questions in which each rule fired."""

    n_questions: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    added: int = 0
    renewed: int = 0
    removed: int = 0

    def as_json(self) -> dict[str, Any]:
        changes = {name: getattr(self, name) for name in ("added", "renewed", "removed")}
        return {"questions": self.n_questions, "rules": dict(sorted(self.rules.items())), **changes}


def check_revisions(
    bank: QuestionBank,
    revisions: models.QuerySet[Revision],
    *,
    actor: User | None,
    at: datetime,
    min_explanation: int = MIN_EXPLANATION,
    watch: Watch | None = None,
) -> CheckResult:
    """Check these revisions of a bank in batches, each stored in a transaction of its own.

    What is found by a newer version of a rule takes the place of what an older one found, and stays dismissed if that
    was. What is found no longer goes, unless a person dismissed it. A second run changes nothing.
    """
    result = CheckResult()
    total = revisions.count() if watch else 0
    for batch in _batches(revisions):
        found = {pk: check(question, min_explanation) for pk, question in batch}
        with transaction.atomic():
            store_found(bank, found, result, at=at, of=None)
        result.n_questions += len(found)
        for flaws in found.values():
            result.rules.update({one.rule for one in flaws})
        if watch is not None:
            watch(result.n_questions, total)
    analyze(result.added + result.removed, Finding)
    if result.added or result.renewed or result.removed:
        with transaction.atomic():
            record("bank.checked", actor=actor, at=at, subject=bank, facts=result.as_json())
    return result


def _batches(revisions: models.QuerySet[Revision]) -> Iterator[list[tuple[int, CheckedQuestion]]]:
    """By primary key, so that questions of one exam come together."""
    rows = revisions.order_by("pk").values_list("pk", "stem", "options", "question__exam__prior_id")
    last, size = 0, BATCH_SIZES[connection.vendor]
    while page := list(rows.filter(pk__gt=last)[:size]):
        last = page[-1][0]
        keys = _keys([row[0] for row in page])
        yield [(pk, _question(stem, options, prior, keys.get(pk))) for pk, stem, options, prior in page]


def _keys(revisions: list[int]) -> dict[int, tuple[Any, ...]]:
    rows = AnswerKey.objects.filter(pk__in=revisions).values_list("pk", *_KEYS)
    return {row[0]: row[1:] for row in rows}


def _question(stem: str, options: list[str], prior: int | None, truth: tuple[Any, ...] | None) -> CheckedQuestion:
    key, explanation, *report = truth or ("", "")
    index = OptionLetter.values().index(key) if key else None
    return CheckedQuestion(stem, tuple(options), index, explanation, "\n".join(filter(None, report)), prior is not None)


def store_found(
    bank: QuestionBank, found: dict[int, list[Flaw]], result: CheckResult, *, at: datetime, of: Collection[str] | None
) -> None:
    """Bring the stored findings of these revisions in line with what was found now.

    ``of``: the rules that were asked; None: all that need the question alone.
    """
    stored = Finding.objects.of_rules().filter(revision__in=found)
    stored = stored.exclude(rule__in=(*BANKWIDE, *CLASSIFIED)) if of is None else stored.filter(rule__in=of)
    flaws = ((pk, RULES[one.rule], one.place, one.detail) for pk, of_one in found.items() for one in of_one)
    made = (finding_of_rule(bank, *one, at=at) for one in flaws)
    added, renewed, removed = settle(stored, made)
    result.added, result.renewed = result.added + added, result.renewed + renewed
    result.removed += removed


def finding_of_rule(
    bank: QuestionBank, revision: int, rule: Rule, place: FindingPlace, detail: str, *, at: datetime, **more: Any
) -> Finding:
    """Of a rule, not stored yet. ``more``: of a comparison, the other question."""
    return Finding(
        bank=bank,
        revision_id=revision,
        rule=rule.code,
        rule_version=rule.version,
        place=place,
        detail=detail,
        found_at=at,
        **more,
    )


def settle(stored: QuerySet[Finding], found: Iterable[Finding]) -> tuple[int, int, int]:
    """Make the stored findings those that were found now; how many were added, renewed and removed.

    A renewed one stays dismissed unless it names another question now; a dismissed one is not removed.
    """
    known = {(one.revision_id, one.rule, one.place): one for one in stored.order_by("rule_version")}
    new, changed = list[Finding](), list[Finding]()
    for one in found:
        old = known.pop((one.revision_id, one.rule, one.place), None)
        if old is None:
            new.append(one)
        elif any(getattr(old, name) != getattr(one, name) for name in FOUND):
            if old.other_id != one.other_id:
                old.dismissed_at, old.dismissed_by, old.dismiss_reason = None, None, ""
            for name in (*FOUND, "found_at"):
                setattr(old, name, getattr(one, name))
            changed.append(old)
    gone = [one.pk for one in known.values() if one.dismissed_at is None]
    Finding.objects.bulk_create(new, ignore_conflicts=True)  # another run may be at it
    Finding.objects.bulk_update(changed, [*FOUND, "found_at", "dismissed_at", "dismissed_by", "dismiss_reason"])
    Finding.objects.filter(pk__in=gone).delete()
    return len(new), len(changed), len(gone)


@transaction.atomic
def dismiss(finding: Finding, *, reason: str, actor: User, at: datetime) -> None:
    """Say why a finding is none. Twice changes nothing: the first reason stays. Refused without a reason."""
    reason = reason.strip()
    if not reason:
        raise QualityRefused("no_reason", _("Say why this finding is none."), status=422, field="reason")
    if len(reason) > LONGEST_REASON:
        sentence = _("The reason is longer than %(n)s characters.") % {"n": LONGEST_REASON}
        raise QualityRefused("reason_too_long", sentence, status=422, field="reason")
    locked = Finding.objects.select_for_update().get(pk=finding.pk)
    if locked.dismissed_at is None:
        locked.dismissed_at, locked.dismissed_by, locked.dismiss_reason = at, actor, reason
        locked.save(update_fields=["dismissed_at", "dismissed_by", "dismiss_reason"])
        facts = {"rule": locked.rule, "version": locked.rule_version, "reason": reason}
        record("finding.dismissed", actor=actor, at=at, subject=locked, facts=facts)
    finding.refresh_from_db()


def findings_of(revisions: Iterable[int]) -> models.QuerySet[Finding]:
    """What speaks against these revisions, open ones first."""
    found = (
        Finding.objects.against().filter(revision__in=revisions).select_related("dismissed_by", "other__question__bank")
    )
    return found.order_by("revision", models.F("dismissed_at").asc(nulls_first=True), "rule", "place")


def public_banks_beside(bank: QuestionBank) -> dict[int, str]:
    """The names of all public banks, with whose questions those of a bank that is not public are compared.

    Raises QualityRefused (``is_public``, ``none_public``).
    """
    if bank.is_public:
        sentence = _("“%(bank)s” is public itself: twins are sought for the questions of banks that are not.")
        raise QualityRefused("is_public", sentence % {"bank": bank.name})
    public = dict(QuestionBank.objects.filter(is_public=True).values_list("pk", "name"))
    if not public:
        sentence = _("No bank is marked as public. A coordinator marks one on its page “Terms”.")
        raise QualityRefused("none_public", sentence)
    return public


def check_is_released() -> None:
    """Raises QualityRefused (``none_released``) where this site holds no release to compare with."""
    if not Release.objects.exists():
        raise QualityRefused("none_released", _("Nothing was released on this site yet."))


# --- What the checks say of a whole bank: how many questions each rule is about, and --------------
CHUNK = 2_000


class RuleCount(Struct, frozen=True):
    """``questions``: the share of all current questions in which the rule fired; ``dismissed`` of its findings.

    A rule over whole banks that nobody has run on this one has no share, flagged ``not_asked``.
    """

    rule: Rule
    questions: Estimate
    n_findings: int
    n_dismissed: int


class IdentifierCount(Struct, frozen=True):
    """Of one of the 18: how many questions have an open finding of its rule, and how many one that was dismissed."""

    identifier: Identifier
    n_open: int
    n_dismissed: int


class BankSummary(Struct, frozen=True):
    n_questions: int
    rules: list[RuleCount]  # all of them, in the order of the table
    whole: BankWide


def summarise(bank: QuestionBank) -> BankSummary:
    """Computed anew each time, from the current questions and their stored findings."""
    current = Revision.objects.in_bank(bank).current()
    n = current.count()
    return BankSummary(n, _rule_counts(bank, current, n), bank_wide(_lengths_and_keys(current)))


def count_identifiers(bank: QuestionBank, hidden: QuerySet[Question]) -> list[IdentifierCount]:
    """All 18, over the current questions without those that are hidden from the person who asks; one query."""
    current = Revision.objects.in_bank(bank).current().exclude(question__in=hidden)
    codes = [one.code for one in IDENTIFIERS]
    rows = Finding.objects.of_rules().filter(bank=bank, rule__in=codes, revision__in=current.order_by().values("pk"))
    counted = (
        rows.order_by()
        .values_list("rule")
        .annotate(
            n_open=Count("revision", filter=Q(dismissed_at=None), distinct=True),
            n_dismissed=Count("revision", filter=Q(dismissed_at__isnull=False), distinct=True),
        )
    )
    found = {rule: numbers for rule, *numbers in counted}
    return [IdentifierCount(one, *found.get(one.code, (0, 0))) for one in IDENTIFIERS]


def _compared(bank: QuestionBank, current: QuerySet[Revision]) -> dict[str, bool]:
    """Of each rule over whole banks whether it was ever run on this one."""
    asked = QuestionBank.objects.values_list("compared_at", "twins_sought_at", "releases_sought_at").get(pk=bank.pk)
    ran = dict(zip((NEAR_DUPLICATE, PUBLIC_TWIN, RELEASED_TWIN), map(bool, asked), strict=True))
    vectors = QuestionVector.objects.filter(revision__in=current.order_by().values("pk"))
    embedded = vectors.exclude(embedding__threshold=None).exists()
    scored = ClassScore.objects.filter(revision__in=current.order_by().values("pk"))
    parts = set(scored.order_by().values_list("classifier__thresholds__part", flat=True).distinct())
    classified = {CLASSIFIED_IDENTIFIER: IDENTIFIER_FREE in parts, CLASSIFIED_BIAS: BIAS in parts}
    return {**ran, NEAR_EMBEDDED: embedded, **classified}


def _rule_counts(bank: QuestionBank, current: QuerySet[Revision], n: int) -> list[RuleCount]:
    rows = Finding.objects.of_rules().filter(revision__in=current.order_by().values("pk")).order_by()
    counted = rows.values_list("rule").annotate(
        n_questions=Count("revision", distinct=True),
        n=Count("pk"),
        gone=Count("pk", filter=Q(dismissed_at__isnull=False)),
    )
    found = {rule: numbers for rule, *numbers in counted}
    counts, compared = [], _compared(bank, current)
    for code, rule in RULES.items():
        questions, findings, dismissed = found.get(code, (0, 0, 0))
        ran = bool(findings) or compared.get(code, True)
        counts.append(RuleCount(rule, share(questions, n if ran else 0, asked=ran), findings, dismissed))
    return counts


def _lengths_and_keys(current: QuerySet[Revision]) -> Iterator[tuple[list[int], str]]:
    rows, last = current.order_by("pk").values_list("pk", "options"), 0
    while page := list(rows.filter(pk__gt=last)[:CHUNK]):
        last = page[-1][0]
        keys = dict(AnswerKey.objects.filter(pk__in=[pk for pk, _options in page]).values_list("pk", "key"))
        yield from (([len(option) for option in options], keys.get(pk, "")) for pk, options in page)
