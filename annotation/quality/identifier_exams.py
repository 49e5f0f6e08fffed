"""How good the rules for identifiers are: what they find of planted ones, and how often they fire in a bank.

Identifiers are planted in made-up questions. A rule that fires in the bank raises a false alarm unless an identifier
is there, which no rule knows: what a person dismissed is one for sure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import FindingPlace
from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue_once, job_under_way
from annotation.models import AnswerKey, Finding, IdentifierExam, Job, QuestionBank, Revision, User
from annotation.quality.checking import QualityRefused
from annotation.quality.kernels.identifiers import IDENTIFIERS, Identifier, spot_identifiers
from annotation.quality.kernels.planted_identifiers import FoundForm, examine_planted, rule_versions
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

KIND = "examine_identifier_rules"  # of the job
N_PLANTED, MOST_PLANTED = 100, 2_000  # of each form
LARGEST_SEED = 2**31 - 1
ANY = "any"  # question in which at least one rule fires
CHUNK = 500
Watch = Callable[[int, int], object]  # questions looked at, questions in all; may raise to stop


def check_numbers(n: int, seed: int) -> None:
    """Raises QualityRefused."""
    if not 1 <= n <= MOST_PLANTED:
        sentence = _("Plant each form 1 to %(most)s times, not %(n)s.") % {"most": MOST_PLANTED, "n": n}
        raise QualityRefused("bad_planted", sentence, status=422, field="planted")
    if not 0 <= seed <= LARGEST_SEED:
        sentence = _("The seed is a number from 0 to %(most)s.") % {"most": LARGEST_SEED}
        raise QualityRefused("bad_seed", sentence, status=422, field="seed")


def examine_rules(
    bank: QuestionBank, *, n: int, seed: int, actor: User | None, at: datetime, watch: Watch | None = None
) -> IdentifierExam:
    """Plant, look at every current question of the bank, and store what was found. Raises QualityRefused."""
    check_numbers(n, seed)
    planted = examine_planted(n=n, seed=seed)
    n_questions, fired = _fired_in(bank, watch)
    with transaction.atomic():
        exam = IdentifierExam.objects.create(
            bank=bank,
            seed=seed,
            rules=rule_versions(),
            planted=[list(one) for one in planted],
            n_questions=n_questions,
            fired=fired,
            created_by=actor,
            created_at=at,
        )
        facts = {"bank": bank.slug, "seed": seed, "planted": n, "questions": n_questions}
        record("identifier_rules.examined", actor=actor, at=at, subject=exam, facts=facts)
    return exam


def _fired_in(bank: QuestionBank, watch: Watch | None) -> tuple[int, dict[str, list[int]]]:
    """In stem, options and explanation; a report may well hold what belongs there."""
    current = Revision.objects.in_bank(bank).current()
    gone = Finding.objects.of_rules().filter(bank=bank, rule__in=rule_versions(), dismissed_at__isnull=False)
    dismissed = set(gone.exclude(place=FindingPlace.REPORT).order_by().values_list("revision", "rule"))
    n_fired, n_dismissed = Counter[str](), Counter[str]()
    total, done, last = current.count(), 0, 0
    rows = current.order_by("pk").values_list("pk", "stem", "options")
    while page := list(rows.filter(pk__gt=last)[:CHUNK]):
        last = page[-1][0]
        explanations = dict(AnswerKey.objects.filter(pk__in=[row[0] for row in page]).values_list("pk", "explanation"))
        for pk, stem, options in page:
            codes = {
                one.identifier.code
                for text in (stem, *options, explanations.get(pk, ""))
                for one in spot_identifiers(text)
            }
            gone_here = {code for code in codes if (pk, code) in dismissed}
            n_fired.update([*codes, *([ANY] if codes else ())])
            n_dismissed.update([*gone_here, *([ANY] if codes and codes == gone_here else ())])
        done += len(page)
        if watch is not None:
            watch(done, total)
    return done, {code: [n_fired[code], n_dismissed[code]] for code in (*rule_versions(), ANY)}


# --- by a job ---
def examine_later(bank: QuestionBank, *, actor: User | None, at: datetime, n: int = N_PLANTED, seed: int = 1) -> Job:
    """A worker does it. Raises QualityRefused."""
    if bank.archived_at is not None:
        raise QualityRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    check_numbers(n, seed)
    title = _("Rules for identifiers on “%(bank)s”") % {"bank": bank.name}
    params = {"bank": bank.pk, "planted": n, "seed": seed, "actor": actor.pk if actor else None}
    return enqueue_once(KIND, title[:200], params, about="bank", actor=actor, at=at)


def examination_under_way(bank: QuestionBank) -> Job | None:
    return job_under_way(KIND, bank=bank.pk)


def run_examination(progress: Progress, params: Params) -> Result:
    """The job. Killed and run again it stores one exam more at worst, and the newest counts."""
    bank = QuestionBank.objects.get(pk=params["bank"])
    actor = User.objects.filter(pk=params["actor"]).first()
    exam = examine_rules(
        bank, n=params["planted"], seed=params["seed"], actor=actor, at=timezone.now(), watch=progress.report
    )
    return {"exam": exam.public_id, "questions": exam.n_questions}


# --- what was found ---
@dataclass(frozen=True)
class FormShares:
    """Of the planted identifiers of one form, how many any rule finds, and how many that of their own kind."""

    label: str
    found: Estimate
    by_own: Estimate


@dataclass(frozen=True)
class IdentifierRow:
    """One of the 18. ``version``: of its rule when it was examined, else as it is; None without a rule.

    ``fired`` is the share of questions in which it fires, None without an exam of a bank; ``n_dismissed`` of those.
    """

    identifier: Identifier
    version: int | None
    forms: list[FormShares]
    fired: Estimate | None = None
    n_dismissed: int = 0


def identifier_rows(
    planted: Iterable[Sequence[Any]] = (),
    versions: Mapping[str, int] | None = None,
    fired: Mapping[str, Sequence[int]] | None = None,
    n_questions: int = 0,
) -> list[IdentifierRow]:
    """All 18, in the order of the regulation."""
    versions = rule_versions() if versions is None else versions
    by_letter = {
        letter: [FormShares(one.label, share(one.found, one.n), share(one.by_own, one.n)) for one in found]
        for letter, found in groupby((FoundForm(*one) for one in planted), key=lambda one: one.letter)
    }
    rows = []
    for one in IDENTIFIERS:
        k, n_dismissed = (fired or {}).get(one.code, (0, 0))
        estimate = share(k, n_questions) if fired is not None and one.patterns else None
        rows.append(IdentifierRow(one, versions.get(one.code), by_letter.get(one.letter, []), estimate, n_dismissed))
    return rows


def rows_of(exam: IdentifierExam | None) -> list[IdentifierRow]:
    """Without an exam: the rules as they are."""
    if exam is None:
        return identifier_rows()
    return identifier_rows(exam.planted, exam.rules, exam.fired, exam.n_questions)


def any_rule(exam: IdentifierExam) -> tuple[Estimate, int]:
    """The share of questions in which at least one fires, and in how many of them a person dismissed all of it."""
    k, n_dismissed = exam.fired[ANY]
    return share(k, exam.n_questions), n_dismissed


def newest_exam(bank: QuestionBank) -> IdentifierExam | None:
    return IdentifierExam.objects.filter(bank=bank).select_related("created_by").first()


def changed_since(exam: IdentifierExam) -> list[str]:
    """Labels of the rules that have another version by now."""
    now = rule_versions()
    return [one.label for one in IDENTIFIERS if one.patterns and exam.rules.get(one.code) != now[one.code]]


def share_as_json(share: Estimate) -> dict[str, Any]:
    return {"count": share.count, **share.as_json()}


def rows_as_json(rows: Sequence[IdentifierRow]) -> list[dict[str, Any]]:
    return [
        {
            "letter": row.identifier.letter,
            "identifier": row.identifier.label,
            "rule": row.identifier.code if row.version else None,
            "version": row.version,
            "why_none": row.identifier.why or None,
            "planted": [
                {"form": one.label, "found": share_as_json(one.found), "by_own_rule": share_as_json(one.by_own)}
                for one in row.forms
            ],
            "fires": share_as_json(row.fired) if row.fired else None,
            "dismissed": row.n_dismissed if row.fired else None,
        }
        for row in rows
    ]
