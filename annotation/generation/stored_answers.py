"""What the calls of a run say, and what they were answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.generation.kernels.generation_prompts import finding_line
from annotation.generation.report_sources import text_of
from annotation.model_calls.attempts import answers_of as texts_of
from annotation.models import Bullet, CallBatch, GenerationReport, ModelCall


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
    """By number of the call."""
    for call, text in texts_of(batch):
        yield Answer(call, (call.values or {})["report"], text)
