"""Forms with which readers are asked in, and what they say about themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms import PlainForm
from annotation.forms.people import WhomForm
from readerstudy.enrolment.kernels.steps import (
    MOST_FILMS,
    MOST_YEARS,
    Corner,
    DisplayUsed,
    Exposure,
    ReaderFacts,
    Screen,
    Training,
)
from readerstudy.forms.drafts import words
from readerstudy.models import CaseSet, ReaderStudy

if TYPE_CHECKING:
    CaseSetModelChoice = forms.ModelChoiceField[CaseSet]
else:
    CaseSetModelChoice = forms.ModelChoiceField


class CaseSetChoice(CaseSetModelChoice):
    def label_from_instance(self, obj: CaseSet) -> str:
        return obj.name


class ReaderInvitationForm(WhomForm):
    """Whom to ask to read."""

    case_set = CaseSetChoice(label=_("Cases"), queryset=CaseSet.objects.none(), empty_label=None)

    def __init__(self, study: ReaderStudy, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sets = study.sets.order_by("number")
        field = self.fields["case_set"]
        assert isinstance(field, CaseSetChoice)
        field.queryset = sets
        if len(sets) == 1:
            field.required, field.widget = False, forms.HiddenInput()
        self.only_set = sets[0] if len(sets) == 1 else None

    def clean_case_set(self) -> CaseSet | None:
        return self.only_set or self.cleaned_data["case_set"]


class FactsForm(PlainForm):
    """What a paper must report of each reader."""

    training = forms.ChoiceField(label=_("Training"), choices=words(Training), widget=forms.RadioSelect)
    years = forms.IntegerField(
        label=_("Years of experience reading chest radiographs"), min_value=0, max_value=MOST_YEARS
    )
    chest_fellowship = forms.ChoiceField(
        label=_("Fellowship in chest imaging"), choices=(("yes", _("yes")), ("no", _("no"))), widget=forms.RadioSelect
    )
    films_per_week = forms.IntegerField(
        label=_("Chest radiographs that you read in a typical week"), min_value=0, max_value=MOST_FILMS
    )
    display = forms.ChoiceField(
        label=_("Display on which you will read"), choices=words(DisplayUsed), widget=forms.RadioSelect
    )
    exposure = forms.ChoiceField(
        label=_("Have you seen questions or images of this study before?"),
        choices=words(Exposure),
        widget=forms.RadioSelect,
    )
    exposure_text = forms.CharField(
        label=_("If you have: where, and how many?"), max_length=500, required=False, widget=forms.Textarea({"rows": 2})
    )

    def facts(self) -> ReaderFacts:
        """The answers, after is_valid()."""
        data = self.cleaned_data
        return ReaderFacts(**{**data, "chest_fellowship": data["chest_fellowship"] == "yes"})

    @classmethod
    def of(cls, stored: dict[str, Any]) -> FactsForm:
        if not stored:
            return cls()
        return cls(initial={**stored, "chest_fellowship": "yes" if stored.get("chest_fellowship") else "no"})


class DisplayForm(PlainForm):
    """Where the two patches are, and what the page's script measured."""

    dark = forms.ChoiceField(
        label=_("Where is the grey patch on black?"), choices=words(Corner), widget=forms.RadioSelect
    )
    light = forms.ChoiceField(
        label=_("Where is the grey patch on white?"), choices=words(Corner), widget=forms.RadioSelect
    )
    width = forms.IntegerField(min_value=1, max_value=100_000, widget=forms.HiddenInput)
    height = forms.IntegerField(min_value=1, max_value=100_000, widget=forms.HiddenInput)
    screen_width = forms.IntegerField(min_value=1, max_value=100_000, widget=forms.HiddenInput)
    screen_height = forms.IntegerField(min_value=1, max_value=100_000, widget=forms.HiddenInput)
    pixel_ratio = forms.FloatField(min_value=0.1, max_value=20, widget=forms.HiddenInput)

    def is_measured(self) -> bool:
        """Whether the script of the page reported the window."""
        return not {"width", "height", "screen_width", "screen_height", "pixel_ratio"} & set(self.errors)

    def screen(self) -> Screen:
        data = self.cleaned_data
        return Screen(**{name: data[name] for name in Screen.__dataclass_fields__})

    def corners(self) -> tuple[Corner, Corner]:
        return Corner(self.cleaned_data["dark"]), Corner(self.cleaned_data["light"])
