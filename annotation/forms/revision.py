"""The editor of a question. The rules of import judge what it holds; the form itself only reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.enums import Difficulty, OptionLetter, Task
from annotation.forms import PlainForm, choices_of
from annotation.questionbank.editing import REASON_LIMIT
from annotation.questionbank.kernels.wording import IMAGES, LABELS, Wording


class TextArea(forms.CharField):
    """A text as it was typed, with the line ends of the database."""

    def __init__(self, rows: int, **options: Any) -> None:
        super().__init__(strip=False, required=False, widget=forms.Textarea(attrs={"rows": rows}), **options)

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        return text.replace("\r\n", "\n")


class RevisionForm(PlainForm):
    """The images that count, one field for each of Wording.texts, the reason, and the revision that is edited.

    ``images``: labels of those of the exam, by public id.
    """

    based_on = forms.IntegerField(widget=forms.HiddenInput)
    images = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    images_shown = forms.MultipleChoiceField(required=False, widget=forms.MultipleHiddenInput)
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

    def __init__(self, *args: Any, images: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.image_labels = images
        for name, label in LABELS.items():
            self.fields[name].label = _(label)
        for name in (IMAGES, "images_shown"):
            field = self.fields[name]
            assert isinstance(field, forms.MultipleChoiceField)
            field.choices = list(images.items())
        if len(images) < 2:  # nothing is asked: it counts
            del self.fields["images_shown"]

    @classmethod
    def of(cls, wording: Wording, number: int, images: Mapping[str, str]) -> RevisionForm:
        counting = [one for one in images if one not in wording.left_out]
        initial = {**wording.texts(), IMAGES: counting, "images_shown": list(images), "based_on": number}
        return cls(initial=initial, images=images)

    def texts(self) -> dict[str, str]:
        """What was typed, by the names of Wording.texts."""
        return {name: self.cleaned_data[name] for name in LABELS if name != IMAGES}

    def left_out(self, before: frozenset[str]) -> frozenset[str]:
        """The images that do not count; of one that the page did not show it stays as it was ``before``."""
        shown = frozenset(self.cleaned_data.get("images_shown", ()))
        return before - shown | shown.difference(self.cleaned_data[IMAGES])
