"""The rows of the review form as the templates draw them: labels, anchors, keys, what is chosen, what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from annotation.case.kernels.keys import key_of
from annotation.enums import Degree, Difficulty, Disagreement, Flag, GradeName, Verdict, Word
from annotation.review.kernels.form import CANNOT_JUDGE, FormProblem, differs
from annotation.review.kernels.form_design import (
    CHOICE_LABELS,
    DIFFICULTY_ANCHORS,
    DISAGREEMENT_ANCHORS,
    FOLLOWING,
    GRADE_QUESTIONS,
    GRADES,
    FormDesign,
)
from annotation.review.showing import ShownCase
from annotation.templatetags.pages import kept_fragment

# A chip is short; its full words are shown on focus and are its name for screen readers. Others are short enough.
SHORT_FLAGS = {
    Flag.SEVERAL_VALID: _lazy("several valid"),
    Flag.KEY_WRONG: _lazy("key wrong"),
    Flag.NO_VALID_OPTION: _lazy("no valid option"),
    Flag.NEEDS_PRIOR: _lazy("needs prior"),
    Flag.HALLUCINATED: _lazy("not in report"),
    Flag.NOT_VISIBLE: _lazy("not visible"),
    Flag.OTHER_EXAM: _lazy("wrong exam/side"),
    Flag.UNSOUND: _lazy("clinically unsound"),
    Flag.GIVES_AWAY: _lazy("cue in wording"),
    Flag.IDENTIFIES: _lazy("patient identifiable"),
}
PARTS = "annotation/review/"
GIVEN_GRADES = tuple(str(grade) for grade in GRADES)
GIVEN_DEGREES = tuple(degree for degree in Degree if degree != Degree.CANNOT_JUDGE)
FIRST_FOLLOWING = 9  # keys 1 to 8 are for the others, in order; those after the eighth have none
FOLLOWING_KEYS = {Flag.SEVERAL_VALID: "9", Flag.KEY_WRONG: "0", Flag.NO_VALID_OPTION: "N"}


def case_form(
    case: ShownCase, *, problems: Sequence[FormProblem] = (), sent: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """What the form shows: what was just sent, else what is stored for this case."""
    values = sent if sent is not None else case.values
    found = {problem.field: _(problem.message) for problem in reversed(problems)}
    if case.is_blind:
        difficulty = kept_fragment(PARTS + "_difficulty.html", _difficulties, _known(values, "difficulty", Difficulty))
        return {"values": values, "problems": found, "difficulty": difficulty}
    design = case.design
    asked = tuple(flag for flag in design.flags if case.own is None or flag not in FOLLOWING)
    chosen = (_all_known(values, "flags"), _all_known(values, "withdrawn_flags"))
    return {
        "values": values,
        "problems": found,
        "rows": [
            *_disagreement(case, values),
            *(_grade(design, values, name) for name in design.grades),
            *(_degree(design, values, name) for name in design.choices),
        ],
        "flags": kept_fragment(PARTS + "_flags.html", _flags, asked, case.following, *chosen, case.report_opened),
        "verdicts": kept_fragment(PARTS + "_verdicts.html", _verdicts, _known(values, "verdict", Verdict)),
        "reasoning_due": differs(case.own, case.key),
    }


# --- what is chosen, as far as the form knows it ----------------------------------------------------
def _known(values: Mapping[str, Any], name: str, words: type[Word]) -> str:
    value = values.get(name)
    return value if isinstance(value, str) and value in words.values() else ""


def _chosen_grade(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if value in (*GIVEN_GRADES, CANNOT_JUDGE) else ""


def _all_known(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    chosen = values.get(name) or ()
    return tuple(flag for flag in Flag.values() if flag in chosen)


# --- the parts ------------------------------------------------------------------------------------
def _grade(design: FormDesign, values: Mapping[str, Any], name: GradeName) -> str:
    anchors = tuple(design.anchor(name, str(grade)) for grade in reversed(GRADES))
    return kept_fragment(PARTS + "_row.html", _grade_row, name, anchors, _chosen_grade(values, name))


def _degree(design: FormDesign, values: Mapping[str, Any], name: str) -> str:
    anchors = tuple(design.anchor(name, degree) for degree in GIVEN_DEGREES)
    return kept_fragment(PARTS + "_row.html", _degree_row, name, anchors, _known(values, name, Degree))


def _choice(word: Word, chosen: str) -> dict[str, Any]:
    return {"value": word.value, "label": _(word.label), "checked": chosen == word.value}


def _difficulties(chosen: str) -> dict[str, Any]:
    choices = [
        {**_choice(word, chosen), "key": key_of(word), "anchor": _(DIFFICULTY_ANCHORS[word])}
        for word in Difficulty
        if word.value
    ]
    return {"difficulties": choices}


def _verdicts(chosen: str) -> dict[str, Any]:
    return {"verdicts": [{**_choice(verdict, chosen), "key": key_of(verdict)} for verdict in Verdict]}


def _grade_row(name: GradeName, anchors: tuple[str, ...], chosen: str) -> dict[str, Any]:
    row = {
        "name": name.value,
        "label": _(name.label),
        "question": _(GRADE_QUESTIONS[name]) if name in GRADE_QUESTIONS else "",
        "choices": [
            *({"value": grade, "label": grade, "checked": chosen == grade, "key": grade} for grade in GIVEN_GRADES),
            _cannot_judge(chosen),
        ],
        "anchors": [(str(grade), _(text)) for grade, text in zip(reversed(GRADES), anchors, strict=True)],
    }
    return {"row": row}


def _disagreement(case: ShownCase, values: Mapping[str, Any]) -> list[str]:
    """The row that is asked first where the blind answer is not the key."""
    if case.own is None or not differs(case.own, case.key):
        return []
    chosen = _known(values, "disagreement", Disagreement)
    return [kept_fragment(PARTS + "_row.html", _disagreement_row, case.own.best, case.key, chosen)]


def _disagreement_row(best: str, key: str, chosen: str) -> dict[str, Any]:
    possible = [one for one in Disagreement if one.value and (best or one != Disagreement.BOTH)]
    row = {
        "name": "disagreement",
        "label": _("You: %(best)s, key: %(key)s") % {"best": best or _("none"), "key": key},
        "choices": [{**_choice(one, chosen), "key": str(i)} for i, one in enumerate(possible, start=1)],
        "anchors": [(str(i), _(DISAGREEMENT_ANCHORS[one])) for i, one in enumerate(possible, start=1)],
    }
    return {"row": row}


def _degree_row(name: str, anchors: tuple[str, ...], chosen: str) -> dict[str, Any]:
    choices = [
        *({**_choice(degree, chosen), "key": str(i)} for i, degree in enumerate(GIVEN_DEGREES, start=1)),
        _cannot_judge(chosen),
    ]
    shown = [(_(degree.label), _(text)) for degree, text in zip(GIVEN_DEGREES, anchors, strict=True)]
    return {"row": {"name": name, "label": _(CHOICE_LABELS[name]), "choices": choices, "anchors": shown}}


def _cannot_judge(chosen: str) -> dict[str, Any]:
    return {
        "value": CANNOT_JUDGE,
        "label": "–",
        "name": _("cannot judge"),
        "checked": chosen == CANNOT_JUDGE,
        "key": "-",
    }


def _flag(flag: Flag) -> dict[str, Any]:
    return {"value": flag.value, "label": SHORT_FLAGS.get(flag, _(flag.label)), "full": _(flag.label)}


def _flags(
    asked: tuple[Flag, ...],
    following: tuple[str, ...],
    chosen: tuple[str, ...] = (),
    withdrawn: tuple[str, ...] = (),
    report_opened: bool = False,
) -> dict[str, Any]:
    """Flags that follow come first and can be withdrawn; then those that are open to choice."""
    follow = [
        {
            **_flag(flag),
            "name": "withdrawn_flags",
            "follows": True,
            "checked": flag.value in withdrawn,
            "key": FOLLOWING_KEYS[flag],
        }
        for flag in FOLLOWING
        if flag.value in following
    ]
    choice = [
        {
            **_flag(flag),
            "name": "flags",
            "checked": flag.value in chosen,
            "key": FOLLOWING_KEYS.get(flag) or (str(number) if number < FIRST_FOLLOWING else ""),
            "needs_report": flag == Flag.HALLUCINATED,
        }
        for number, flag in enumerate(asked, start=1)
    ]
    return {"flags": follow + choice, "report_opened": report_opened}
