"""The editor of a question. The rules of import judge what it holds; the form itself only reads it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.enums import Difficulty, OptionLetter, Task
from annotation.forms import PlainForm, choices_of
from annotation.questionbank.editing import REASON_LIMIT
from annotation.questionbank.kernels.wording import LABELS, Wording


class TextArea(forms.CharField):
    """A text as it was typed, with the line ends of the database."""

    def __init__(self, rows: int, **options: Any) -> None:
        super().__init__(strip=False, required=False, widget=forms.Textarea(attrs={"rows": rows}), **options)

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        return text.replace("\r\n", "\n")


class RevisionForm(PlainForm):
    """One field for each of Wording.texts, the reason, and the number of the revision that is edited."""

    based_on = forms.IntegerField(widget=forms.HiddenInput)
    stem = TextArea(3)
    option_a = TextArea(1)
    option_b = TextArea(1)
    option_c = TextArea(1)
    option_d = TextArea(1)
    key = forms.ChoiceField(choices=choices_of(OptionLetter))
    explanation = TextArea(5)
    task = forms.ChoiceField(choices=choices_of(Task))
    category = forms.CharField(required=False)
    subcategory = forms.CharField(required=False)
    question_class = forms.CharField(required=False)
    difficulty = forms.ChoiceField(choices=choices_of(Difficulty), required=False)
    reason = forms.CharField(
        label=_("Reason for the change"),
        max_length=REASON_LIMIT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("It stays with the revision: in the history of the question and in the list of changes."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in LABELS.items():
            self.fields[name].label = _(label)

    @classmethod
    def of(cls, wording: Wording, number: int) -> RevisionForm:
        return cls(initial={**wording.texts(), "based_on": number})

    def texts(self) -> dict[str, str]:
        """What was typed, by the names of Wording.texts."""
        return {name: self.cleaned_data[name] for name in LABELS}
