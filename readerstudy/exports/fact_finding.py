"""What the database knows of a study beside its analysis, and the flow of cases, readers and models that follows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count, Q

from annotation.case.kernels.display import in_words
from annotation.enums import ImportState, Word
from annotation.models import Revision
from readerstudy.analysis.kernels.result import ALL_TASKS, DECLARED, MODEL, READER, StoredAnalysis, plain
from readerstudy.design.checking import statement_on
from readerstudy.design.kernels.documents import read_rules
from readerstudy.enrolment.kernels.steps import Exposure, Training
from readerstudy.enrolment.participation import display_of
from readerstudy.enrolment.progress import order_balance
from readerstudy.enums import Aid, Block, Information
from readerstudy.exports.methods import CaseFacts, ModelFacts, ReaderFlow, ReportedReaders, StudyFacts, counted
from readerstudy.models import Analysis, Enrolment, PredictionRun, ReaderStudy
from readerstudy.predictions.looks import looks_before_closing
from readerstudy.results.kernels.flow_figures import Box, Flow
from readerstudy.results.kernels.stored import is_by_plan, kinds_of, post_hoc_models, runs_of

NOT_REPORTED = "not reported"
MOST_REASONS, LONGEST_REASON = 6, 60
STATES = {
    "n_answered": "answered",
    "n_unconfirmed": "unconfirmed",
    "n_declined": "declined",
    "n_timed_out": "time ended",
    "n_late": "late",
    "n_failed": "no option extracted",
    "n_missing": "missing",
}


def facts_of(analysis: Analysis, result: StoredAnalysis) -> StudyFacts:
    """Ten queries or so, however large the study."""
    study = analysis.study
    arm = study.arms.get()
    readers = [name for name, kind in kinds_of(result).items() if kind == READER]
    orders = study.orders.values_list("rule", flat=True)
    return StudyFacts(
        name=study.name,
        simulated=study.simulated,
        protocol_sha256=study.protocol_sha256,
        information=arm.get_information_display(),
        indications_read=bool(statement_on(study)) if arm.information == Information.INDICATION else None,
        aid=arm.get_aid_display(),
        unaided=arm.aid == Aid.NONE,
        rules=read_rules(study.rules),
        n_orders=study.n_orders,
        order_rule=orders.first() or "",
        balance=order_balance(study, readers),
        frozen_at=study.frozen_at,
        opened_at=study.opened_at,
        closed_at=study.closed_at,
        looked_before_closing=bool(looks_before_closing(study)),
        cases=_cases(study),
        flow=_flow(study, result),
        readers=_readers(study, readers),
        models=_models(study, result),
        software=analysis.software,
        forecast=json.loads(study.protocol).get("forecast") if study.protocol else None,
    )


def _cases(study: ReaderStudy) -> CaseFacts:
    blocks = dict(study.cases.values_list("block").annotate(n=Count("pk")).order_by())
    draw = study.draw
    return CaseFacts(
        bank=study.bank.name,
        n_bank=_n_bank(study),
        n_pool=draw.get("n_pool"),
        pool_reason=str(draw.get("accepted_because") or ""),
        n_quotas=len(draw.get("quotas") or []),
        n_main=blocks.get(Block.MAIN, 0),
        n_practice=blocks.get(Block.PRACTICE, 0),
        n_sets=study.sets.count(),
        seed=study.seed,
    )


def _n_bank(study: ReaderStudy) -> int | None:
    """Questions that were in the bank when the study was frozen; a later import does not change that."""
    if study.frozen_at is None:
        return None
    there = Q(bank_import__state=ImportState.PUBLISHED, bank_import__finished_at__lte=study.frozen_at)
    return Revision.objects.filter(there, bank=study.bank_id, number=1).order_by().count() or None


def _flow(study: ReaderStudy, result: StoredAnalysis) -> ReaderFlow:
    """Whoever was replaced after withdrawing counts as withdrawn, as in the list of what the analysis leaves out."""
    left = Counter(one["reason"] for one in result["excluded"] if one["kind"] == "reader")
    counts = study.enrolments.aggregate(here=Count("pk", Q(reader__isnull=False)), n=Count("pk"))
    return ReaderFlow(
        n_planned=study.n_readers,
        n_invited=study.invitations.count(),
        n_enrolled=counts["here"],
        n_imported=counts["n"] - counts["here"],
        n_withdrawn=left["withdrawn"],
        n_replaced=left["replaced"],
        n_without_answers=left["no answers"],
        n_analysed=sum(kind == READER for kind in kinds_of(result).values()),
    )


def _readers(study: ReaderStudy, pseudonyms: Iterable[str]) -> ReportedReaders:
    rows = Enrolment.objects.filter(study=study, pseudonym__in=list(pseudonyms)).order_by("pseudonym")
    reported: list[Mapping[str, Any]] = [one.facts for one in rows]
    return ReportedReaders(
        training=_words(Training, reported, "training"),
        years=sorted(one["years"] for one in reported if one.get("years") is not None),
        films_per_week=sorted(one["films_per_week"] for one in reported if one.get("films_per_week") is not None),
        n_chest_fellowship=sum(bool(one.get("chest_fellowship")) for one in reported),
        exposure=_words(Exposure, reported, "exposure"),
        n_reported=sum(bool(one) for one in reported),
        conditions=in_words(display_of(one) for one in rows),
    )


def _words(kind: type[Word], reported: Iterable[Mapping[str, Any]], name: str) -> dict[str, int]:
    """How often each word was reported, in the order of the vocabulary."""
    counts = Counter(str(one.get(name) or "") for one in reported)
    found = {word.label: counts[word.value] for word in kind if counts[word.value]}
    return {**found, **({NOT_REPORTED: counts[""]} if counts[""] else {})}


def _models(study: ReaderStudy, result: StoredAnalysis) -> list[ModelFacts]:
    """The models of the analysis by the runs that it names."""
    named = {run: name for name, run in runs_of(result).items()}
    runs = PredictionRun.objects.filter(public_id__in=list(named)).select_related("entry").order_by("pk")
    live = PredictionRun.objects.filter(study=study, withdrawn_at__isnull=True).order_by()
    n_runs = dict(live.values_list("entry").annotate(n=Count("pk")))
    place = {name: row for row, name in enumerate(named.values())}
    by_plan = {one["name"]: one["planned_run"] for one in result["raters"] if is_by_plan(one)}
    return sorted((_model(run, named[run.public_id], n_runs, by_plan) for run in runs), key=lambda one: place[one.name])


def _model(run: PredictionRun, name: str, n_runs: Mapping[int, int], by_plan: Mapping[str, str]) -> ModelFacts:
    entry = run.entry
    return ModelFacts(
        name=name,
        entry=str(entry),
        dated_on=entry.dated_on.isoformat() if entry.dated_on else "",
        prompt=entry.prompt,
        decoding=entry.decoding,
        link=entry.link,
        run=run.public_id,
        run_number=run.number,
        n_runs=n_runs.get(entry.pk, 1),
        imported_on=run.imported_at.date().isoformat(),
        named_on=run.named_at.date().isoformat() if run.named_at else "",
        named_before_unblinding=run.named_before_unblinding,
        by_plan=by_plan.get(name, ""),
        extraction=run.rule,
        duplicates=run.duplicates,
        n_read=run.n_read,
        n_failed=run.n_failed,
        n_missing=run.n_missing,
    )


def flow_of(result: StoredAnalysis, facts: StudyFacts) -> Flow:
    columns = [("Cases", _case_boxes(result, facts)), ("Readers", _reader_boxes(result, facts))]
    if facts.models:
        columns.append(("Models", _model_boxes(result)))
    kinds = [one["kind"] for one in result["raters"]]
    who = f"{counted(kinds.count(READER), 'reader')}, {counted(kinds.count(MODEL), 'model')}"
    return Flow(columns, f"Analysed: {counted(result['panels'][ALL_TASKS]['n'], 'question')}, {who}")


def _case_boxes(result: StoredAnalysis, facts: StudyFacts) -> list[Box]:
    cases, asked = facts.cases, result["questions"]
    boxes = []
    if cases.n_bank is not None:
        boxes.append(Box(f"Question bank: {cases.n_bank:,}"))
    if cases.n_pool is not None:
        pool = "all questions were candidates" if cases.pool_reason else "accepted in review"
        boxes.append(Box(f"Pool of the draw: {cases.n_pool:,} ({pool})"))
    how = "Drawn" if cases.n_pool is not None else "Listed"
    boxes.append(Box(f"{how} for the study: {asked['n_cases']}", _voided(result)))
    scored = f"Scored: {asked['n_scored']}"
    if asked["n_voided_after_unblinding"]:
        scored += f" (of these voided after unblinding, kept: {asked['n_voided_after_unblinding']})"
    return [*boxes, Box(scored)]


def _voided(result: StoredAnalysis) -> list[str]:
    """How many cases are left out of everything and why, those of an older study first."""
    declared = result["questions"].get("n_voided_declared", 0)
    here = result["questions"]["n_voided_before_unblinding"] - declared
    lines = [f"Voided in the original study, as declared: {declared}", *_reasons(result, DECLARED)] if declared else []
    return [*lines, *([f"Voided before unblinding: {here}", *_reasons(result, "before_unblinding")] if here else [])]


def _reasons(result: StoredAnalysis, decided: str) -> list[str]:
    """The most frequent reasons with their number; the others as one line."""
    counts = Counter(one["reason"].strip() for one in result["excluded"] if one.get("decided") == decided)
    shown = counts.most_common(MOST_REASONS)
    lines = [f"{_short(reason.rstrip('.'))}: {n}" for reason, n in shown]
    rest = counts.total() - sum(n for _, n in shown)
    return [*lines, f"Other reasons: {rest}"] if rest else lines


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def _reader_boxes(result: StoredAnalysis, facts: StudyFacts) -> list[Box]:
    flow = facts.flow
    boxes = [Box(f"Invited: {flow.n_invited}")] if flow.n_invited else []
    came = [f"Enrolled: {flow.n_enrolled}"] if flow.n_enrolled or not flow.n_imported else []
    came += [f"Read elsewhere, imported: {flow.n_imported}"] if flow.n_imported else []
    gone = {"Withdrawn": flow.n_withdrawn, "Replaced": flow.n_replaced, "Without an answer": flow.n_without_answers}
    boxes.append(Box("; ".join(came), [f"{what}: {n}" for what, n in gone.items() if n]))
    return [*boxes, Box(f"Analysed: {flow.n_analysed}; {_answers(result, READER)}")]


def _model_boxes(result: StoredAnalysis) -> list[Box]:
    n = sum(one["kind"] == MODEL for one in result["raters"])
    late = [f"Main run chosen after results were seen: {len(found)}"] if (found := post_hoc_models(result)) else []
    return [Box(f"With a main run: {n}", late), Box(f"Analysed: {n}; {_answers(result, MODEL)}")]


def _answers(result: StoredAnalysis, kind: str) -> str:
    raters = [plain(one) for one in result["panels"][ALL_TASKS]["raters"] if one["kind"] == kind]
    counts = {word: sum(one[name] for one in raters) for name, word in STATES.items()}
    return ", ".join(f"{n:,} {word}" for word, n in counts.items() if n) or "no answer"
