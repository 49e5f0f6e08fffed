"""Results are seen for the first time; what studies tell of a question, and how many readers had it right."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.call_enums import OF_SERVER, BatchState, SentImages
from annotation.contributions import WithoutImages
from annotation.enums import HistoryKind, KeySource, OptionLetter
from annotation.models import AnswerKey, AuditEvent, ModelCall, Question, QuestionBank, Revision, User
from annotation.questionbank.answers import note_seen_keys
from annotation.review.history import Event
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from readerstudy.design.kernels.documents import read_rules
from readerstudy.enums import OVER, Aid, Block, EntryState, ResponseState, StudyState
from readerstudy.models import Enrolment, ModelRun, Prediction, ReaderStudy, Response, StudyCase
from readerstudy.predictions.entries import benchmarked_banks, is_benchmarked
from readerstudy.predictions.runs import mark_planned
from readerstudy.study.kernels.states import counted_state, is_correct
from readerstudy.study.overview import studies_known_to
from readerstudy.study.permissions import StudyRefused, lock_study

SHORTEST_REASON = 20  # characters
GLASS_BROKEN = "study.glass_broken"
UNBLINDED = "study.unblinded"


def unblind(study: ReaderStudy, *, actor: User | None, at: datetime, because: str) -> None:
    """Note that a result is seen, if it is the first time; what is chosen after it is post hoc, in every study.

    The runs that represent their models now are the planned ones, whatever becomes of them.
    Runs in the transaction of the act that shows the result, before that act writes anything of its own to the audit
    log: whoever holds the log waits for no study.
    """
    if ReaderStudy.objects.filter(pk=study.pk, unblinded_at__isnull=True).update(unblinded_at=at):
        study.unblinded_at = at
        mark_planned(study)
        record(UNBLINDED, actor=actor, at=at, subject=study, facts={"by": because})


class Look(Struct, frozen=True):
    """Results were seen before closing: by whom, when, why."""

    who: str
    at: datetime
    reason: str


def looks_before_closing(study: ReaderStudy) -> list[Look]:
    """Every time that the glass was broken, oldest first; one query, none for a study that nobody looked into."""
    if study.unblinded_at is None:
        return []
    rows = AuditEvent.objects.filter(act=GLASS_BROKEN, subject_type="readerstudy", subject_id=str(study.pk))
    return [
        Look(one.actor.name if one.actor else "", one.at, one.facts.get("reason", ""))
        for one in rows.select_related("actor").order_by("pk")
    ]


def is_over(study: ReaderStudy) -> bool:
    return study.state in OVER


def may_see_results(study: ReaderStudy) -> bool:
    """After closing; and where nobody reads here, because all readings were made elsewhere and imported."""
    return is_over(study) or is_read_elsewhere(study)


def is_seen(study: ReaderStudy) -> bool:
    """Whether pages show results by a plain link: they may be seen, and somebody has unblinded the study before."""
    return study.unblinded_at is not None and may_see_results(study)


def is_read_elsewhere(study: ReaderStudy) -> bool:
    """Frozen, never opened, with readings from files only: there is nobody whom a result could influence."""
    if study.state != StudyState.FROZEN:
        return False
    return study.enrolments.exists() and not study.enrolments.filter(reader__isnull=False).exists()


def with_seen_results(studies: QuerySet[ReaderStudy]) -> QuerySet[ReaderStudy]:
    """Those whose results may be seen, as may_see_results says, and somebody has seen before."""
    enrolments = Enrolment.objects.filter(study=OuterRef("pk"))
    elsewhere = Exists(enrolments) & ~Exists(enrolments.filter(reader__isnull=False)) & Q(state=StudyState.FROZEN)
    return studies.filter(Q(state__in=OVER) | elsewhere, unblinded_at__isnull=False)


@transaction.atomic
def view_interim_results(study: ReaderStudy, reason: str, *, actor: User, at: datetime) -> list[ReaderTally]:
    """Interim results of an open study. Each look is logged with its reason; the first one unblinds the study.

    Raises StudyRefused for a reason that is too short, and for a study that is not open.
    """
    lock_study(study)
    reason = " ".join(reason.split())
    if study.state != StudyState.OPEN:
        raise StudyRefused("not_open", _("Only an open study has interim results."))
    if len(reason) < SHORTEST_REASON:
        sentence = _("Give a reason of at least %(n)s characters: it is kept and reported.") % {"n": SHORTEST_REASON}
        raise StudyRefused("reason_too_short", sentence)
    unblind(study, actor=actor, at=at, because="glass broken")
    record(GLASS_BROKEN, actor=actor, at=at, subject=study, facts={"reason": reason})
    return tallies(study)


# --- how many cases readers have right ------------------------------------------------------------
class ScoredReading(Struct, frozen=True):
    """A reading that counts, right or wrong."""

    enrolment_id: int
    case_id: int
    is_right: bool


def scored_readings(study: ReaderStudy, enrolments: Collection[int] | None = None) -> Iterator[ScoredReading]:
    """Of the main block, without voided cases; a confirmed response goes before the newest other. Two queries."""
    rows = Response.objects.filter(
        reading__enrolment__study=study, reading__case__block=Block.MAIN, reading__case__voiding__isnull=True
    )
    if enrolments is not None:
        rows = rows.filter(reading__enrolment__in=enrolments)
    columns = ("reading_id", "reading__enrolment_id", "reading__case_id", "reading__case__revision_id")
    final = {
        row[0]: row for row in rows.order_by("is_confirmed", "pk").values_list(*columns, "state", "option")
    }  # the last one stays
    revisions = study.cases.filter(block=Block.MAIN).values("revision")
    keys = dict(AnswerKey.objects.filter(revision__in=revisions).values_list("revision_id", "key"))
    for _reading, enrolment_id, case_id, revision_id, state, option in final.values():
        is_right = is_correct(counted_state(state), option, keys[revision_id])
        if is_right is not None:
            yield ScoredReading(enrolment_id, case_id, is_right)


class ReaderTally(Struct, frozen=True):
    """One reader's accuracy over the cases answered so far, with Wilson's interval."""

    enrolment: Enrolment
    accuracy: Estimate


def tallies(study: ReaderStudy) -> list[ReaderTally]:
    """Of every reader, also of those who have left."""
    right, n = Counter[int](), Counter[int]()
    for one in scored_readings(study):
        n[one.enrolment_id] += 1
        right[one.enrolment_id] += one.is_right
    rows = study.enrolments.select_related("reader").order_by("pk")
    return [ReaderTally(one, share(right[one.pk], n[one.pk])) for one in rows]


def accuracy_of(enrolment: Enrolment) -> Estimate:
    found = [one.is_right for one in scored_readings(enrolment.study, [enrolment.pk])]
    return share(sum(found), len(found))


class OwnCase(Struct, frozen=True):
    """A case as its reader sees it afterwards; an answer that was not given is empty."""

    position: int
    stem: str
    answer: str
    key: str
    is_voided: bool

    @property
    def is_right(self) -> bool:
        return self.answer == self.key


def own_cases(enrolment: Enrolment, *, at: datetime) -> list[OwnCase]:
    """Those of the main block in their order, where the rules show them; noted as keys that the reader saw."""
    if enrolment.reader is None or not read_rules(enrolment.study.rules).show_cases:
        return []
    key = AnswerKey.objects.filter(pk=OuterRef("reading__case__revision")).values("key")
    rows = Response.objects.filter(reading__enrolment=enrolment, reading__case__block=Block.MAIN)
    rows = rows.order_by("is_confirmed", "pk").select_related("reading__case__revision", "reading__case__voiding")
    final = {row.reading_id: (row, row.truth) for row in rows.annotate(truth=key)}
    shown = [row.reading.case.revision.question_id for row, _truth in final.values()]
    questions = Question.objects.filter(pk__in=shown)
    note_seen_keys(enrolment.reader, questions, source=KeySource.STUDY, subject=enrolment.study, at=at)
    cases = []
    for row, truth in final.values():  # of each reading the last one, a confirmed one before others
        case = row.reading.case
        options = dict(zip(OptionLetter.values(), case.revision.options, strict=False))
        is_voided = hasattr(case, "voiding")
        texts = (case.revision.stem, options.get(row.option, ""), options[truth])
        cases.append(OwnCase(row.reading.position or 0, *texts, is_voided=is_voided))
    return sorted(cases, key=lambda one: one.position)


def readers_right_on(bank: QuestionBank) -> dict[int, tuple[int, int]]:
    """By wording: how many of how many confirmed answers are the key, unaided, where results were seen and may be.

    Practice, voided cases and readers who withdrew or were replaced do not count.
    """
    studies = with_seen_results(ReaderStudy.objects.filter(bank=bank)).order_by()
    key = AnswerKey.objects.filter(revision=OuterRef("reading__case__revision")).values("key")
    rows = Response.objects.filter(
        is_confirmed=True,
        state=ResponseState.ANSWERED,
        reading__case__study__in=studies.values("pk"),
        reading__case__block=Block.MAIN,
        reading__case__voiding=None,
        reading__arm__aid=Aid.NONE,
        reading__enrolment__withdrawn_at=None,
        reading__enrolment__replaced_at=None,
    ).annotate(key_letter=Subquery(key), wording=F("reading__case__revision"))
    found: dict[int, list[bool]] = defaultdict(list)
    for wording, option, letter in rows.order_by().values_list("wording", "option", "key_letter"):
        found[wording].append(option == letter)
    return {wording: (sum(right), len(right)) for wording, right in found.items()}


def right_without_images(bank: QuestionBank, revisions: QuerySet[Revision]) -> Iterator[WithoutImages]:
    """By the newest complete run without images of each listed model, on the bank and on each study.

    The first order and repeat count; refused and cut answers are wrong. Nothing of a study whose results nobody has
    seen, nor of a bank on what such a study asks, nor by runs on a bank that is a benchmark. Two queries.
    """
    studies = ReaderStudy.objects.filter(bank=bank)
    seen = with_seen_results(studies).order_by().values("pk")
    runs = ModelRun.objects.filter(
        Q(study=None) | Q(study__in=seen),
        batch__bank=bank,
        batch__images=SentImages.NONE,
        batch__state=BatchState.COMPLETE,
        entry__state=EntryState.LISTED,
    ).exclude(study=None, batch__bank__in=benchmarked_banks())
    newest = {(run.entry_id, run.study_id): run for run in runs.select_related("entry", "study").order_by("batch_id")}
    if not newest:
        return
    secret = StudyCase.objects.filter(study__frozen_at__isnull=False, block=Block.MAIN, voiding=None)
    secret = secret.filter(study__in=studies).exclude(study__in=seen).order_by()
    key = AnswerKey.objects.filter(pk=OuterRef("revision")).values("key")
    batches, asked = [run.pk for run in newest.values()], revisions.order_by().values("pk")
    calls = ModelCall.objects.filter(batch__in=batches, rotation=0, repeat=0, revision__in=asked)
    calls = calls.exclude(outcome__in=OF_SERVER)
    calls = calls.exclude(batch__model_run__study=None, revision__question__in=secret.values("revision__question"))
    calls = calls.annotate(letter=Subquery(key)).exclude(letter=None).exclude(letter="").order_by()
    counted = calls.values("batch").annotate(n=Count("pk"), right=Count("pk", filter=Q(option=F("letter"))))
    found = {batch: (n, right) for batch, n, right in counted.values_list("batch", "n", "right")}
    for run in newest.values():
        if run.pk in found:
            name = f"{run.entry} ({run.study.name})" if run.study else str(run.entry)
            yield WithoutImages(name, *found[run.pk])


def events_of_studies(question: Question, person: User) -> Iterator[Event]:
    """Studies that froze the question, and once their results were seen how many models answered it correctly there.

    Nothing of a study in which this person reads.
    """
    cases = StudyCase.objects.filter(revision__question=question, study__frozen_at__isnull=False)
    cases = cases.filter(study__in=studies_known_to(person)).select_related("study", "revision", "voiding")
    shown, is_secret = [], False
    for case in cases:
        study = case.study
        sentence = _("Revision %(n)s was frozen in the reader study “%(name)s”.")
        if case.block == Block.PRACTICE:
            sentence = _("Revision %(n)s was frozen in the reader study “%(name)s”, for practice.")
        assert study.frozen_at is not None
        yield Event(
            at=study.frozen_at,
            kind=HistoryKind.STUDY,
            sentence=sentence % {"n": case.revision.number, "name": study.name},
            url=reverse("study", args=[study.slug]),
        )
        if case.block == Block.MAIN and not hasattr(case, "voiding"):
            is_seen = study.unblinded_at is not None and may_see_results(study)
            is_secret = is_secret or not is_seen
            if is_seen:
                shown.append(study)
    is_secret = is_secret or is_benchmarked(question.bank_id)
    yield from _models(question, shown, with_bank=not is_secret)


def _models(question: Question, studies: list[ReaderStudy], *, with_bank: bool) -> Iterator[Event]:
    """By the run of each listed model that is named; an answer that could not be extracted is no correct one."""
    on = Q(run__study__in=studies) | Q(run__study=None) if with_bank else Q(run__study__in=studies)
    rows = Prediction.objects.filter(
        on, revision__question=question, run__is_named=True, run__withdrawn_at=None, run__entry__state=EntryState.LISTED
    )
    answers: dict[tuple[ReaderStudy | None, int], list[Prediction]] = defaultdict(list)
    for row in rows.select_related("run__study", "revision").order_by("pk"):
        answers[row.run.study, row.revision_id].append(row)
    keys = dict(AnswerKey.objects.filter(revision__question=question).values_list("revision_id", "key"))
    for (study, revision), given in answers.items():
        n_right = sum(one.option == keys[revision] for one in given)
        times = [one.run.imported_at for one in given] + ([study.unblinded_at] if study and study.unblinded_at else [])
        facts = {"k": n_right, "of": len(given), "n": given[0].revision.number, "name": study.name if study else ""}
        sentence = (
            ngettext(
                "In the reader study “%(name)s” %(k)s of %(of)s model answered revision %(n)s correctly.",
                "In the reader study “%(name)s” %(k)s of %(of)s models answered revision %(n)s correctly.",
                len(given),
            )
            if study
            else ngettext(
                "%(k)s of %(of)s model answered revision %(n)s correctly, outside of any reader study.",
                "%(k)s of %(of)s models answered revision %(n)s correctly, outside of any reader study.",
                len(given),
            )
        )
        url = reverse("study-results", args=[study.slug]) if study else reverse("models-compare")
        yield Event(at=max(times), kind=HistoryKind.MODEL, sentence=sentence % facts, url=url)
