"""The rules of a study as its readers are told them: one sentence each, and the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.enums import Word
from readerstudy.design.kernels.rules import CHANCES, Rules
from readerstudy.enrolment.kernels.reader_facts import DisplayUsed, Exposure, Training
from readerstudy.enums import Information


@dataclass(frozen=True)
class Key:
    keys: tuple[str, ...]
    meaning: str


def rules_in_words(rules: Rules, *, n_practice: int, n: int, information: str) -> list[str]:
    """Everything that a reader has to know of the rules of this study, in the order in which it matters."""
    said = [
        ngettext("You read %(n)s case.", "You read %(n)s cases, in an order of your own.", n) % {"n": n},
        *_practice(rules, n_practice),
        _source(information),
        _("Submit it; a submitted answer cannot be changed."),
        _time(rules),
        *_extras(rules),
        *_breaks(rules),
        _("Use no other source: no search, no report, no colleague, no program."),
        _("Your name is shown in the results to the coordinators, and in figures.") if rules.reader_names else "",
    ]
    return [sentence for sentence in said if sentence]


def keys_of(rules: Rules) -> list[Key]:
    keys = [
        Key(("1", "2", "3", "4"), _("choose an option; A to D do the same")),
        Key(("Enter",), _("submit the choice; the next case follows at once")),
    ]
    if rules.cannot_tell:
        keys.insert(1, Key(("0",), _("you cannot tell")))
        keys.append(Key(("1", "2", "3", "4"), _("after “cannot tell”: your best guess; A to D do the same")))
    if rules.confidence:
        keys.append(Key(tuple(str(n) for n in range(1, len(CHANCES) + 1)), _("after it: how likely you are right")))
    if rules.slips:
        keys.append(Key(("M",), _("a slip: in the last case you meant another option")))
    keys.append(Key(("G",), _("report the case as faulty")))
    if rules.may_pause:
        keys.append(Key(("T",), _("pause, after the case or at once")))
    keys.append(Key(("?",), _("all keys, those of the image tools included")))
    return keys


def _practice(rules: Rules, n_practice: int) -> list[str]:
    if not n_practice:
        return []
    said = ngettext(
        "Before that there is %(n)s practice case. It shows the right answer afterwards and never counts.",
        "Before that there are %(n)s practice cases. They show the right answer afterwards and never count.",
        n_practice,
    ) % {"n": n_practice}
    if rules.practice_pass is None:
        return [said]
    passed = ngettext(
        "%(n)s of them must be right before you go on.",
        "%(n)s of them must be right before you go on.",
        rules.practice_pass,
    )
    return [said, passed % {"n": rules.practice_pass}]


def _source(information: str) -> str:
    if information == Information.INDICATION:
        return _("Choose the one best option from the images, the age and sex of the patient and the indication.")
    if information == Information.AGE_SEX:
        return _("Choose the one best option from the images and the age and sex of the patient.")
    return _("Choose the one best option from the images alone.")


def _time(rules: Rules) -> str:
    if rules.time_limit_s is None:
        return _(
            "There is no time limit. The time that you take is measured from the moment in which everything shows."
        )
    return ngettext(
        "You have %(n)s second for each case, from the moment in which everything shows. A clock counts down.",
        "You have %(n)s seconds for each case, from the moment in which everything shows. A clock counts down.",
        rules.time_limit_s,
    ) % {"n": rules.time_limit_s}


def _extras(rules: Rules) -> list[str]:
    said = []
    if rules.cannot_tell:
        said.append(
            _(
                "You may say that you cannot tell. It counts as not right; then you are asked for your best guess, and "
                "the results are shown both ways."
            )
        )
    if rules.confidence:
        chances = ", ".join(str(one) for one in CHANCES)
        said.append(
            _("After each answer you say how likely you are right: %(chances)s\N{NO-BREAK SPACE}%%.")
            % {"chances": chances}
        )
    if rules.slips:
        said.append(_("If your finger slipped, say so before the next answer: it is noted beside your answer."))
    return said


def _breaks(rules: Rules) -> list[str]:
    said = []
    if rules.break_every:
        said.append(
            ngettext(
                "After every %(n)s case a break is offered.",
                "After every %(n)s cases a break is offered.",
                rules.break_every,
            )
            % {"n": rules.break_every}
        )
    if rules.may_pause:
        said.append(_("You may pause and come back later, on another device as well: you go on at the same case."))
    else:
        said.append(_("There is no pause within a case. Between sittings you may leave and come back."))
    return said


def facts_in_words(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a reader told about themselves, as pairs of a name and a value; empty before they did."""
    shown = {
        _("Training"): _label(Training, facts.get("training")),
        _("Years of chest radiographs"): facts.get("years"),
        _("Chest fellowship"): _yes_or_no(facts.get("chest_fellowship")),
        _("Films per week"): facts.get("films_per_week"),
        _("Display"): _label(DisplayUsed, facts.get("display")),
        _("Saw the bank before"): _label(Exposure, facts.get("exposure")),
        _("Where"): facts.get("exposure_text") or None,
    }
    return [(name, str(value)) for name, value in shown.items() if value is not None]


def _label(kind: type[Word], value: object) -> str | None:
    return _(kind(value).label) if value in kind.values() else None


def _yes_or_no(value: object) -> str | None:
    return None if value is None else _("yes") if value else _("no")
