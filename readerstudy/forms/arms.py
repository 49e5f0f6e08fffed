"""The reading condition of a study of one arm."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from readerstudy.enums import Aid, Information
from readerstudy.forms.drafts import DraftForm
from readerstudy.models import Arm


class AidChoice(forms.RadioSelect):
    """All aids are named; those that a study cannot have yet cannot be chosen."""

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        if value != Aid.NONE:
            option["attrs"]["disabled"] = True
        return option


class ArmForm(DraftForm):
    """What a reader sees beside the images and the question."""

    information = forms.ChoiceField(
        label=_("Information shown"),
        widget=forms.RadioSelect,
        help_text=_(
            "An indication can give an answer away: show it only where somebody has read all of them for that."
        ),
    )
    aid = forms.ChoiceField(
        label=_("Aid"),
        widget=AidChoice,
        help_text=_("Not available yet: AI-aided reading needs a second arm."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, words in (("information", Information), ("aid", Aid)):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [(word.value, gettext(word.label)) for word in words]

    @classmethod
    def of(cls, arm: Arm, data: Any = None) -> ArmForm:
        return cls(data, initial={"information": arm.information, "aid": arm.aid})

    def clean_information(self) -> Information:
        return Information(self.cleaned_data["information"])

    def clean_aid(self) -> Aid:
        aid = Aid(self.cleaned_data["aid"])
        if aid != Aid.NONE:
            raise forms.ValidationError(gettext("A study of one arm is read without a model's answer."))
        return aid
