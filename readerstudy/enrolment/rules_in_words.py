"""The rules of a study as its readers read them: one sentence each, and the keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.case.kernels.display import DisplayUsed
from annotation.enums import Word
from readerstudy.design.kernels.documents import CHANCES, Rules
from readerstudy.enrolment.kernels.steps import Exposure, Training
from readerstudy.enums import Information


def rules_in_words(rules: Rules, *, n_practice: int, n: int, information: str) -> list[str]:
    """Everything that a reader has to know of the rules of this study, in the order in which it matters."""
    sentences = [
        ngettext("You read %(n)s case.", "You read %(n)s cases, in an order drawn for you.", n) % {"n": n},
        *_practice(rules, n_practice),
        _source(information),
        _("Submit it; a submitted answer cannot be changed."),
        _time(rules),
        *_extras(rules),
        *_breaks(rules),
        _("Use no other source: no search, no report, no colleague, no program."),
        _("Your name is shown in the results to the coordinators, and in figures.") if rules.reader_names else "",
    ]
    return [sentence for sentence in sentences if sentence]


def _practice(rules: Rules, n_practice: int) -> list[str]:
    if not n_practice:
        return []
    sentences = ngettext(
        "Before that there is %(n)s practice case. It shows the correct answer afterwards and never counts.",
        "Before that there are %(n)s practice cases. They show the correct answer afterwards and never count.",
        n_practice,
    ) % {"n": n_practice}
    if rules.practice_pass is None:
        return [sentences]
    passed = ngettext(
        "You need %(n)s correct answer among them to continue.",
        "You need %(n)s correct answers among them to continue.",
        rules.practice_pass,
    )
    return [sentences, passed % {"n": rules.practice_pass}]


def _source(information: str) -> str:
    if information == Information.INDICATION:
        return _("Choose the one best option from the images, the age and sex of the patient and the indication.")
    if information == Information.AGE_SEX:
        return _("Choose the one best option from the images and the age and sex of the patient.")
    return _("Choose the one best option from the images alone.")


def _time(rules: Rules) -> str:
    if rules.time_limit_s is None:
        return _("There is no time limit. Your time is measured from the moment the whole case is on screen.")
    return ngettext(
        "You have %(n)s second for each case, from the moment the whole case is on screen. A clock counts down.",
        "You have %(n)s seconds for each case, from the moment the whole case is on screen. A clock counts down.",
        rules.time_limit_s,
    ) % {"n": rules.time_limit_s}


def _extras(rules: Rules) -> list[str]:
    sentences = []
    if rules.cannot_tell:
        sentence = _(
            "You may choose “cannot tell”. It counts as incorrect; you are then asked for your best guess, and the "
            "results are shown both ways."
        )
        sentences.append(sentence)
    if rules.confidence:
        chances = ", ".join(str(one) for one in CHANCES)
        sentence = _("After each answer you rate how likely you are to be right: %(chances)s\N{NO-BREAK SPACE}%%.")
        sentences.append(sentence % {"chances": chances})
    if rules.questionnaire:
        sentences.append(_("After the last case you are asked some questions; you need not answer them."))
    if rules.slips:
        sentence = _(
            "If you pressed the wrong key, report it before the next answer: it is noted, and your answer itself stays "
            "unchanged."
        )
        sentences.append(sentence)
    return sentences


def _breaks(rules: Rules) -> list[str]:
    sentences = []
    if rules.break_every:
        sentences.append(
            ngettext(
                "A break is offered after every case.", "A break is offered after every %(n)s cases.", rules.break_every
            )
            % {"n": rules.break_every}
        )
    if rules.may_pause:
        sentence = _("You may pause and come back later, also on another device: you continue with the same case.")
        return [*sentences, sentence]
    return [*sentences, _("There is no pause. You may leave and come back between sessions.")]


def facts_in_words(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a reader stated about themselves, as pairs of a name and a value; empty before they did."""
    shown = {
        _("Training"): _label(Training, facts.get("training")),
        _("Years of experience"): facts.get("years"),
        _("Chest fellowship"): _yes_or_no(facts.get("chest_fellowship")),
        _("Chest radiographs per week"): facts.get("films_per_week"),
        _("Display"): _label(DisplayUsed, facts.get("display")),
        _("Saw the bank before"): _label(Exposure, facts.get("exposure")),
        _("Where it was seen"): facts.get("exposure_text") or None,
    }
    closing = facts.get("closing") or {}
    shown |= {**closing.get("answers", {}), _("Remarks"): closing.get("remarks")}
    return [(name, str(value)) for name, value in shown.items() if value is not None]


def _label(kind: type[Word], value: object) -> str | None:
    return _(kind(value).label) if value in kind.values() else None


def _yes_or_no(value: object) -> str | None:
    return None if value is None else _("yes") if value else _("no")
