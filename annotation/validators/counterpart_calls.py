"""Bias: each question is asked as it is, once more, and with each counterpart; the answers are compared.

A counterpart is made again from the wording each time it is sent, and is stored nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from annotation.call_enums import CallOutcome
from annotation.generation.kernels.answer_forms import NotInForm, read_form
from annotation.model_calls.attempts import answers_of
from annotation.models import AnswerKey, ModelCall, Revision, ValidatorRun
from annotation.validators.asked_about import AskedAbout, FoundQuestions
from annotation.validators.kernels.counterparts import (
    ChangedWord,
    bias_verdict,
    changes_of,
    counted,
    counterpart,
    why_none,
)
from annotation.validators.kernels.validator_prompts import WrittenAnswer

CHANGE = "change"  # in the values of a call: what differs
CHUNK = 1_000
CountsByChange = dict[str, dict[str, int]]


def counterpart_calls(found: FoundQuestions) -> list[tuple[AskedAbout, int, dict[str, str]]]:
    """The calls of each question that has a counterpart, one after the other; the others are left out, with why."""
    kept, calls = list[AskedAbout](), []
    places = {change: place for place, change in enumerate(ChangedWord)}
    for start in range(0, len(found.asked), CHUNK):
        some = found.asked[start : start + CHUNK]
        wordings = Revision.objects.only("stem", "options").in_bulk([one.revision for one in some])
        for one in some:
            wording = wordings[one.revision]
            if changes := changes_of(wording.stem, wording.options):
                kept.append(one)
                asked = (ChangedWord.NONE, ChangedWord.AGAIN, *changes)
                calls += [(one, places[change], {CHANGE: change.value}) for change in asked]
            else:
                why = why_none(wording.stem, wording.options)
                found.left_out.append({"question": one.number, "why": why})
    found.asked = kept
    return calls


def changed_stem(call: ModelCall) -> str | None:
    """None for a call that is about no counterpart."""
    change = (call.values or {}).get(CHANGE)
    if change is None:
        return None
    assert call.revision is not None
    return counterpart(call.revision.stem, call.revision.options, change)


def compared(run: ValidatorRun, by_change: CountsByChange) -> Iterator[tuple[ModelCall, str, str]]:
    """Of each question whose calls are all answered: the call as it is, the verdict and its reason.

    Counts by change are added to ``by_change``.
    """
    asked = ModelCall.objects.filter(batch=run.batch).order_by().values("revision")
    keys = dict(AnswerKey.objects.filter(pk__in=asked).values_list("pk", "key"))
    for revision, calls in groupby(answers_of(run.batch), key=lambda one: one[0].revision_id):
        answers: dict[str, str] = {}
        plain: ModelCall | None = None
        asked_about = list(calls)
        if any(call.outcome == CallOutcome.NOT_ASKED for call, _text in asked_about):
            continue  # of a run that was stopped: nothing to compare
        for call, text in asked_about:
            change = (call.values or {})[CHANGE]
            answers[change] = _option_in(text)
            plain = call if change == ChangedWord.NONE else plain
        assert plain is not None
        for change in answers.keys() - {ChangedWord.NONE.value}:
            counted(change, answers, keys.get(revision or 0, ""), by_change.setdefault(change, {}))
        yield plain, *bias_verdict(answers)


def _option_in(text: str | None) -> str:
    try:
        return "" if text is None else read_form(text, WrittenAnswer).answer
    except NotInForm:
        return ""
