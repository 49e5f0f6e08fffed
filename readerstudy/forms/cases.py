"""Which cases a study has: drawn from the bank, or named by their numbers."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.enums import Difficulty, Task
from annotation.refusals import Refused
from annotation.statistics.kernels.sampling import SEED_MAX
from readerstudy.design.case_selection import resolve, stored_cases_sha256
from readerstudy.design.kernels.documents import read_rules, sha256_of
from readerstudy.design.kernels.drawing import ANY, DrawRequest, Quota, read_request
from readerstudy.design.questions import Name, listed_names
from readerstudy.enums import Block
from readerstudy.forms.drafts import DraftForm, text_field
from readerstudy.models import ReaderStudy

DRAW, LIST = "draw", "list"
MOST_CASES, MOST_PRACTICE, MOST_SETS = 5_000, 100, 20
TASKS = (*Task, ANY)
DIFFICULTIES = (ANY, *Difficulty)
CELLS = [(task, difficulty) for task in TASKS for difficulty in DIFFICULTIES if (task, difficulty) != (ANY, ANY)]


def quota_name(task: str, difficulty: str) -> str:
    return f"quota-{task}-{difficulty or 'unknown'}"


def _whole(label: Any, least: int, most: int, sentence: Any = "", **options: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=least, max_value=most, help_text=sentence, **options)


class CasesForm(DraftForm):
    """What to draw, or what to take; ``seen`` is the draw that a person looked at before storing it.

    Another mark says which cases the study had when the page was shown.
    """

    mark_name = "before"

    how = forms.ChoiceField(
        label=_("Cases"),
        widget=forms.RadioSelect,
        choices=((DRAW, _("draw them by chance, with a seed")), (LIST, _("use a list of questions"))),
        initial=DRAW,
    )
    n = _whole(
        _("Cases to draw"), 1, MOST_CASES, _("Of the main block, all sets together."), initial=200, required=False
    )
    seed = _whole(_("Seed"), 0, SEED_MAX, _("Same seed, same draw. The orders are drawn with it, too."), initial=1)
    n_practice = _whole(
        _("Practice cases"),
        0,
        MOST_PRACTICE,
        _("Answered first, with feedback; never in the results, and of other patients."),
        initial=5,
        required=False,
    )
    several_per_patient = forms.BooleanField(
        label=_("Allow several questions per patient"),
        required=False,
        help_text=_("Otherwise one of each patient. Where no patient is known, an exam counts as one."),
    )
    n_sets = _whole(
        _("Sets"), 1, MOST_SETS, _("With several sets, readers of different sets read different cases."), initial=1
    )
    n_shared = _whole(
        _("Cases in every set"), 0, MOST_CASES, _("The overlap; the other cases are dealt out evenly."), initial=0
    )
    numbers = text_field(
        _("Questions"),
        _(
            "Own ids as in the imported file, question numbers, or ranges such as 12-40, with commas, blanks or lines "
            "between them. What is an own id is taken as one: write #12 for the number 12."
        ),
        most=1_000_000,
        rows=4,
    )
    practice_numbers = text_field(
        _("Questions of the practice block"), _("Empty: no practice block."), most=100_000, rows=4
    )
    accepted_because = text_field(
        _("Reason to take questions that no review has accepted"),
        _("Empty: only accepted questions. The protocol lists each such question with this reason."),
        most=1000,
        rows=2,
    )
    seen = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    OF_DRAW = ("n", "n_practice", "n_sets", "n_shared", *(quota_name(*cell) for cell in CELLS))

    def __init__(self, study: ReaderStudy, data: Any = None) -> None:
        self.study = study
        super().__init__(data, initial=initial_of(study))
        for task, difficulty in CELLS:
            label = gettext("Quota: %(task)s, %(difficulty)s") % {
                "task": word_of(Task, task),
                "difficulty": word_of(Difficulty, difficulty),
            }
            field = _whole(label, 0, MOST_CASES, required=False)
            field.widget.attrs["aria-label"] = label
            self.fields[quota_name(task, difficulty)] = field

    @property
    def stored_mark(self) -> str:
        """A hash of what was asked for and of the cases that came of it: a list is kept by its cases alone."""
        return sha256_of(json.dumps([self.initial, stored_cases_sha256(self.study)], sort_keys=True, default=str))

    def differs(self, name: str) -> bool:
        """The cases by those that come out; beside them only what is already stored in words or numbers."""
        if name == "how":
            return bool(self.cleaned_data["seen"] != stored_cases_sha256(self.study))
        both_drawn = bool(self.study.draw) and not self.is_list
        kept = name in ("seed", "several_per_patient") or (name == "accepted_because" and self.initial[name])
        return bool(kept or (both_drawn and name in self.OF_DRAW)) and super().differs(name)

    def quota_field(self, task: str, difficulty: str) -> forms.BoundField | None:
        """None for any task of any difficulty: that is the number of cases."""
        return self[quota_name(task, difficulty)] if (task, difficulty) in CELLS else None

    def clean(self) -> dict[str, Any]:
        asked = super().clean() or self.cleaned_data
        if asked.get("how") == DRAW and not asked.get("n") and "n" not in self.errors:
            self.add_error("n", gettext("Say how many cases to draw."))
        if asked.get("how") == LIST and "numbers" not in self.errors and not asked.get("numbers"):
            self.add_error("numbers", gettext("Name at least one question."))
        return asked

    def clean_numbers(self) -> list[Name]:
        return self._listed("numbers")

    def clean_practice_numbers(self) -> list[Name]:
        return self._listed("practice_numbers")

    def _listed(self, name: str) -> list[Name]:
        try:
            names = listed_names(self.study.bank, self.cleaned_data[name].splitlines())
            resolve(self.study.bank, names)  # here, so that the refusal is shown beside its field
        except Refused as refusal:
            raise forms.ValidationError(str(refusal)) from None
        return names

    @property
    def names_a_choice(self) -> bool:
        """Whether cases can be chosen by what was sent, even where these are not stored."""
        return self.is_bound and not set(self.errors) - {NON_FIELD_ERRORS}

    @property
    def is_list(self) -> bool:
        return bool(self.cleaned_data["how"] == LIST)

    def request(self) -> DrawRequest:
        """What was asked for, after is_valid()."""
        asked = self.cleaned_data
        quotas = [(asked.get(quota_name(*cell)), cell) for cell in CELLS]
        return DrawRequest(
            n=asked["n"] or 0,
            quotas=tuple(Quota(n, str(task), str(level)) for n, (task, level) in quotas if n is not None),
            n_practice=asked["n_practice"] or 0,
            n_sets=asked["n_sets"],
            n_shared=asked["n_shared"],
            several_per_patient=asked["several_per_patient"],
        )


def initial_of(study: ReaderStudy) -> dict[str, Any]:
    """What the study holds already."""
    rules = read_rules(study.rules)
    initial: dict[str, Any] = {"seed": study.seed, "several_per_patient": rules.several_per_patient}
    if not study.draw:
        return initial | _listed_in(study)
    asked = read_request(study.draw, rules)
    initial |= {name: getattr(asked, name) for name in ("n", "n_practice", "n_sets", "n_shared")}
    initial["accepted_because"] = study.draw.get("accepted_because", "")
    return initial | {quota_name(quota.task, quota.difficulty): quota.n for quota in asked.quotas}


def _listed_in(study: ReaderStudy) -> dict[str, Any]:
    """The cases that a list gave, as a list that gives them again; nothing of it where there are none yet."""
    columns = ("block", "revision__question__number", "accepted_because")
    rows = list(study.cases.order_by("number").values_list(*columns))
    listed = {block: " ".join(f"#{number}" for of, number, _because in rows if of == block) for block in Block}
    because = next((because for _block, _number, because in rows if because), "")
    how = {"how": LIST} if rows else {}
    return how | {
        "numbers": listed[Block.MAIN],
        "practice_numbers": listed[Block.PRACTICE],
        "accepted_because": because,
    }


def word_of(words: type[Task] | type[Difficulty], value: str) -> str:
    return gettext("any") if value == ANY else gettext(words(value).label)
