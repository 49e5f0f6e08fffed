"""What the calls of a run say, and what they were answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.endpoints.kernels.completions import read_completion
from annotation.enums import CallOutcome
from annotation.generation.kernels.generation_prompts import finding_line
from annotation.generation.report_sources import text_of
from annotation.models import Bullet, CallAttempt, CallBatch, GenerationReport, ModelCall

AT_ONCE = 500


def fill_calls(calls: Sequence[ModelCall]) -> Iterable[dict[str, str]]:
    """The variables of our prompts, of calls that name their report: its text, its usable findings, how many to ask."""
    ids = [(call.values or {})["report"] for call in calls]
    reports = reports_with_texts(GenerationReport.objects.filter(pk__in=ids))
    usable = usable_bullets(ids)
    return [
        {
            "report": text_of(reports[pk]),
            "bullets": "\n".join(
                finding_line(one.number, one.polarity, one.statement, one.location) for one in usable[pk]
            ),
            "n_questions": str(reports[pk].run.per_exam),
        }
        for pk in ids
    ]


def reports_with_texts(rows: QuerySet[GenerationReport]) -> dict[int, GenerationReport]:
    """By id, with what text_of and exam_fields_of need."""
    return {one.pk: one for one in rows.select_related("answer_key__report", "run")}


def usable_bullets(reports: Iterable[int]) -> dict[int, list[Bullet]]:
    """By id of the report: the findings that no rule leaves out, by number."""
    found: dict[int, list[Bullet]] = defaultdict(list)
    for one in Bullet.objects.filter(report__in=list(reports), fault="").order_by("report", "number"):
        found[one.report_id].append(one)
    return found


@dataclass(frozen=True)
class Answer:
    """The answer of a call to the report that it names; ``text`` None: the model refused, or was cut."""

    call: ModelCall
    report: int
    text: str | None


def answers_of(batch: CallBatch) -> Iterator[Answer]:
    """By number of the call: the first answer of the model, which no later attempt takes back."""
    calls = ModelCall.objects.filter(batch=batch).order_by("number")
    last = 0
    while some := list(calls.filter(number__gt=last)[:AT_ONCE]):
        last = some[-1].number
        attempts = CallAttempt.objects.filter(call__in=some).exclude(outcome=CallOutcome.NOT_ASKED)
        bodies: dict[int, CallAttempt] = {}
        for attempt in attempts.order_by("call", "number"):
            bodies.setdefault(attempt.call_id, attempt)
        for call in some:
            attempt_of = bodies.get(call.pk)
            is_answer = attempt_of is not None and attempt_of.outcome == CallOutcome.ANSWERED
            text = read_completion(attempt_of.body.encode()).text if attempt_of and is_answer else None
            yield Answer(call, (call.values or {})["report"], text)
