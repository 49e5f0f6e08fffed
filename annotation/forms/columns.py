"""The form that matches the columns of a foreign question file to fields."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.enums import Difficulty
from annotation.forms import PlainForm
from annotation.questionbank.kernels.column_matching import (
    EXAM,
    FIELD,
    FIELDS,
    IMAGES,
    KEY_FORMS,
    LETTER,
    SEPARATORS,
    TASK,
    MatchedField,
    Matching,
    faults_of,
)
from annotation.questionbank.kernels.entries import OPTIONS
from annotation.questionbank.kernels.fields import USUAL_TASK_NAMES
from annotation.questionbank.kernels.foreign_rows import FileColumns

IMAGE_IS_EXAM = f"{IMAGES}+{EXAM}"
SHOWN_CHARS = 90
MOST_WORDS_CHARS = 5_000


class ColumnsForm(PlainForm):
    """One select for each column; values for all questions; how key, lists and words are written; a name."""

    key_form = forms.ChoiceField(
        label=_("The key is written as"), choices=[("", "—"), *KEY_FORMS.items()], required=False
    )
    separator = forms.ChoiceField(
        label=_("Several values in one cell are separated by"),
        choices=list(SEPARATORS.items()),
        help_text=_("Options in one cell, image paths. A list in brackets is read as it is."),
    )
    words = forms.CharField(
        label=_("Words to translate"),
        required=False,
        max_length=MOST_WORDS_CHARS,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "PRES = Presence Assessment"}),
        help_text=_("In the columns of task, category, difficulty, sex and view. One line each."),
    )
    name = forms.CharField(
        label=_("Keep this matching as"),
        max_length=200,
        help_text=_("A later file with these columns is read by the same matching."),
    )

    def __init__(self, *args: Any, columns: FileColumns, start: Matching, **kwargs: Any) -> None:
        self.columns = columns
        super().__init__(*args, initial=_initial(start, columns), **kwargs)
        for number, name in enumerate(columns.names):
            self.fields[f"column_{number}"] = forms.ChoiceField(
                label=name, choices=_field_choices(), required=False, widget=forms.Select(attrs={"class": "field-of"})
            )
        for one in FIELDS:
            if one.may_be_constant:
                self.fields[f"constant_{one.name}"] = _constant_field(one)

    def rows(self) -> list[tuple[forms.BoundField, list[str]]]:
        """The select of each column, beside its first values."""
        shown = []
        for number, name in enumerate(self.columns.names):
            values = [row.cells[name] for row in self.columns.rows if row.cells.get(name) not in (None, "")]
            shown.append((self[f"column_{number}"], list(map(_short, values))))
        return shown

    def written(self) -> list[forms.BoundField]:
        return [self["key_form"], self["separator"], self["words"]]

    def has_constants(self) -> bool:
        """Whether the values for all questions have something to see: one is given, or one may be missing."""
        return self.is_bound or any(field.value() for field in self.constants()) or bool(self.missing())

    def missing(self) -> list[str]:
        """Labels of the needed fields that nothing is filled in for, before anything was sent."""
        if self.is_bound:
            return []
        given = {
            name for number in range(len(self.columns.names)) for name in self[f"column_{number}"].value().split("+")
        }
        given |= {one.name for one in FIELDS if one.may_be_constant and self[f"constant_{one.name}"].value()}
        key_form = self["key_form"].value()
        faults = faults_of(Matching(columns=dict.fromkeys(filter(None, given), "-"), key_form=key_form))
        return [FIELD[one.field].label if one.field in FIELD else str(self.fields[one.field].label) for one in faults]

    def constants(self) -> list[forms.BoundField]:
        return [self[f"constant_{one.name}"] for one in FIELDS if one.may_be_constant]

    def clean_words(self) -> dict[str, str]:
        words: dict[str, str] = {}
        for number, line in enumerate(self.cleaned_data["words"].splitlines(), start=1):
            word, sign, meaning = (part.strip() for part in line.partition("="))
            if line.strip() and not (word and sign and meaning):
                raise forms.ValidationError(_("Line %(number)d: write “word = meaning”."), params={"number": number})
            if word:
                words[word] = meaning
        return words

    def clean(self) -> dict[str, Any]:
        found: dict[str, str] = {}
        for number, column in enumerate(self.columns.names):
            for name in filter(None, self.cleaned_data.get(f"column_{number}", "").split("+")):
                if name in found:
                    sentence = gettext("“%(field)s” is chosen for two columns, %(one)s and %(two)s. Keep one of them.")
                    label = FIELD[name].label
                    self.add_error(None, sentence % {"field": label, "one": found[name], "two": column})
                found.setdefault(name, column)
        self.cleaned_data["columns"] = found
        for fault in faults_of(self.matching()):
            self.add_error(None, fault.message)
        return self.cleaned_data

    def matching(self) -> Matching:
        """What is chosen, as far as it can be read."""
        given = self.cleaned_data
        constants = {one.name: given.get(f"constant_{one.name}", "").strip() for one in FIELDS if one.may_be_constant}
        return Matching(
            name=given.get("name", ""),
            columns=given.get("columns", {}),
            constants={name: text for name, text in constants.items() if text},
            key_form=given.get("key_form", LETTER),
            separator=given.get("separator", "|"),
            words=given.get("words", {}),
        )


def _field_choices() -> list[tuple[str, Any]]:
    needed: list[tuple[str, str]] = []
    further: list[tuple[str, str]] = []
    for one in FIELDS:
        is_needed = one.is_needed or one.name in ("options", *OPTIONS)
        (needed if is_needed else further).append((one.name, one.label))
        if one.name == IMAGES:
            needed.append((IMAGE_IS_EXAM, gettext("Image paths, each an exam of its own")))
    return [
        ("", gettext("keep as a further field")),
        (gettext("Needed"), needed),
        (gettext("If there is one"), further),
    ]


def _constant_field(one: MatchedField) -> forms.Field:
    if one.name == TASK:
        tasks = [(name, name) for name in USUAL_TASK_NAMES]
        return forms.ChoiceField(label=one.label, choices=[("", "—"), *tasks], required=False)
    if one.name == "difficulty":
        levels = [(word.value, gettext(word.label)) for word in Difficulty if word.value]
        return forms.ChoiceField(label=one.label, choices=[("", "—"), *levels], required=False)
    return forms.CharField(label=one.label, max_length=1000, required=False)


def _initial(start: Matching, columns: FileColumns) -> dict[str, Any]:
    field_of: dict[str, str] = {}
    for name, column in start.columns.items():
        field_of[column] = IMAGE_IS_EXAM if column in field_of else name
    return {
        "name": start.name,
        "key_form": start.key_form,
        "separator": start.separator,
        "words": "\n".join(f"{word} = {meaning}" for word, meaning in start.words.items()),
        **{f"column_{number}": field_of.get(name, "") for number, name in enumerate(columns.names)},
        **{f"constant_{name}": text for name, text in start.constants.items()},
    }


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
