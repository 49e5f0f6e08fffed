"""A mark of the inputs of an analysis, made without reading them: in nine queries, however many answers there are.

The same mark means the same inputs, because of what can change in a study that is no draft:

- cases, sets, arms, the design, keys and wording: nothing changes, by triggers; task, category and difficulty of a
  revision and the pseudonyms of exams are written once;
- answers, remarks and voidings: rows are only added, by triggers. Each has a number of its own, and a later one
  may be stored before an earlier one, so the mark has their count beside the highest number;
- blind answers of reviewers: final once stored, and counted from the submission of the review on;
- predictions: written with their run and never afterwards. Which runs count is read in full, and so are the readers;
- whether a result over the readings was seen elsewhere: another study that is seen for the first time changes the mark.

Another mark means nothing yet: a practice answer makes one too. Then the inputs are read and hashed.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Max

from annotation import VERSION
from readerstudy.analysis.gathering import gather
from readerstudy.analysis.kernels.arrays import StudyArrays
from readerstudy.analysis.kernels.computing import RULE
from readerstudy.analysis.main_block import expert_answers
from readerstudy.design.kernels.documents import canonical, read_rules, sha256_of
from readerstudy.models import Enrolment, InputsMark, PredictionRun, ReaderStudy, Remark, Response, Voiding

READER = ("pk", "pseudonym", "case_set_id", "reader_id", "withdrawn_at", "replaced_at", "finished_at")
RUN = (
    *("pk", "public_id", "number", "rule", "file_sha256", "n_matched"),
    *("named_before_unblinding", "named_at", "imported_at", "is_named"),
    *("withdrawn_at", "entry__state", "entry__withdrawn_because", "entry__replaced_by_id"),
    *("entry_id", "entry__public_id", "entry__name", "entry__version", "entry__renamed_at"),
)


def mark_of(study: ReaderStudy) -> str:
    """A hash over how far the tables have grown, and over the few rows of them that can change."""
    added = (
        Response.objects.filter(reading__enrolment__study=study),
        Remark.objects.filter(reading__enrolment__study=study),
        Voiding.objects.filter(case__study=study),
        expert_answers(study),
    )
    seen = ReaderStudy.everywhere.filter(unblinded_at__isnull=False).exclude(pk=study.pk)
    parts: dict[str, Any] = {
        "program": [VERSION, RULE],
        "study": [study.name, study.slug, study.protocol_sha256, study.simulated, study.analysis, study.draw],
        "arms": study.arms.count(),
        "asks_guesses": read_rules(study.rules).cannot_tell,
        "added": [rows.order_by().aggregate(n=Count("pk"), last=Max("pk")) for rows in added],
        "seen": _texts([[seen.aggregate(n=Count("pk"), last=Max("unblinded_at"))]]),
        "readers": _texts(Enrolment.objects.filter(study=study).order_by("pk").values_list(*READER)),
        "runs": _texts(PredictionRun.objects.for_analysis(study).values_list(*RUN)),
    }
    return sha256_of(canonical(parts))


def _texts(rows: Any) -> list[list[str]]:
    return [[str(value) for value in row] for row in rows]


def gathered(study: ReaderStudy) -> tuple[StudyArrays, str]:
    """The inputs and their hash, which is kept with the mark where nothing was stored while they were read."""
    before = mark_of(study)
    arrays = gather(study)
    inputs = arrays.sha256()
    if mark_of(study) == before:
        marked = {"mark_sha256": before, "inputs_sha256": inputs}
        InputsMark.objects.update_or_create(study=study, defaults=marked)
    return arrays, inputs


def kept_inputs(study: ReaderStudy) -> str | None:
    """The hash of the inputs, where it was taken at the mark at which the tables stand now."""
    kept = InputsMark.objects.filter(study=study, mark_sha256=mark_of(study))
    return kept.values_list("inputs_sha256", flat=True).first()
