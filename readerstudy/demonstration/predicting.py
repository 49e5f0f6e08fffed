"""What the simulated models answer to a study and to the whole bank behind it, as files that were sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from annotation.models import AnswerKey, Revision, User
from readerstudy.comparison.comparing_models import compare_models
from readerstudy.demonstration.answering import Predicted, SimulatedCase, asked_again, simulate
from readerstudy.models import ModelEntry, ReaderStudy
from readerstudy.predictions.importing import SentFile, import_predictions
from readerstudy.predictions.targets import Target
from readerstudy.study.locking import StudyRefused

ASKED_TWICE = "Simulated model C"


def asked_of(revisions: Iterable[Revision]) -> list[SimulatedCase]:
    """The questions of ``revisions``, in their order; each needs a key."""
    found = list(revisions)
    keys = AnswerKey.objects.in_bulk([one.pk for one in found])
    return [SimulatedCase(one.question.number, keys[one.pk].key, one.difficulty) for one in found]


def send_predictions(
    name: str, answers: Sequence[Predicted], target: Target, *, about: str, actor: User, at: datetime
) -> None:
    """One file of the model ``name``."""
    file = SentFile(f"{name.lower().replace(' ', '_')}{about}.jsonl", _as_jsonl(name, answers).encode())
    entry = ModelEntry.objects.filter(name=name).first() or ModelEntry(name=name)
    taken = import_predictions(entry, target, file, actor=actor, at=at)
    if taken.is_refused:
        raise StudyRefused("demonstration", f"The simulated predictions were refused: {taken.problems[:1]}")


def predict_bank(study: ReaderStudy, in_study: dict[str, list[Predicted]], *, coordinator: User, at: datetime) -> None:
    """The whole bank of ``study``, its own questions as they were answered there; one model twice; compared."""
    numbers = {one.asked.question for answers in in_study.values() for one in answers}
    current = Revision.objects.in_bank(study.bank).current().select_related("question").order_by("question__number")
    _readers, others = simulate(asked_of(one for one in current if one.question.number not in numbers))
    target = Target(study.bank)
    for name, answers in in_study.items():
        whole = [*answers, *others[name]]
        send_predictions(name, whole, target, about="_whole_bank", actor=coordinator, at=at)
        if name == ASKED_TWICE:
            send_predictions(name, asked_again(whole), target, about="_asked_again", actor=coordinator, at=at)
    compare_models(study.bank, actor=coordinator, at=at)


def _as_jsonl(name: str, answers: Sequence[Predicted]) -> str:
    lines = [
        {"id": str(one.asked.question), "pred_answer": one.raw, "explanation": f"Simulated explanation of {name}."}
        for one in answers
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)
