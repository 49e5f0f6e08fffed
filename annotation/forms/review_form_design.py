"""The form with which a review form is made: what it asks, and what the values mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_lazy as _

from annotation.enums import Degree, GradeName
from annotation.forms import PlainForm
from annotation.models import ReviewForm
from annotation.review.kernels.form_design import (
    ANCHOR_LIMIT,
    ASKABLE,
    CHOICE_LABELS,
    PAPER,
    FormDesign,
    anchored,
    make_design,
    paper_anchor,
    stored_design,
)

Anchors = list[tuple[str, forms.BoundField]]


@dataclass(frozen=True)
class Asked:
    """One grade or choice as the page draws it: whether it is asked, and the field of each anchor."""

    name: str
    label: str
    is_asked: bool
    anchors: Anchors


class FormDesignForm(PlainForm):
    """Fields of anchors are named ``anchor-<grade or choice>-<value>``; an empty one has the anchor of the paper."""

    name = forms.CharField(
        label=_("Name"),
        max_length=80,
        help_text=_("The same name makes a new version. Every review records the version that it answered."),
    )
    grades = forms.MultipleChoiceField(
        label=_("Grades"), required=False, choices=[(one.value, gettext_lazy(one.label)) for one in GradeName]
    )
    choices = forms.MultipleChoiceField(
        label=_("Choices"),
        required=False,
        choices=[(name, gettext_lazy(label)) for name, label in CHOICE_LABELS.items()],
    )
    flags = forms.MultipleChoiceField(
        label=_("Flags"),
        required=False,
        choices=[(flag.value, gettext_lazy(flag.label)) for flag in ASKABLE],
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "“Identifying text visible” is always asked. The last three follow from the blind answer in every form; "
            "where they are ticked, rounds without a blind answer ask them too."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, value in anchored():
            hint = {"placeholder": gettext(paper_anchor(name, value)), "aria-label": f"{name} {value}"}
            self.fields[f"anchor-{name}-{value}"] = forms.CharField(
                required=False, max_length=ANCHOR_LIMIT, widget=forms.TextInput(attrs=hint)
            )

    @classmethod
    def beginning_with(cls, before: ReviewForm | None, data: Any = None) -> FormDesignForm:
        """With what this version asks, or the paper."""
        design = stored_design(before.design) if before is not None else PAPER
        initial: dict[str, Any] = {
            "name": before.name if before is not None else "",
            **{name: list(design.as_json()[name]) for name in ("grades", "choices", "flags")},
            **{f"anchor-{name}-{value}": text for name, value, text in design.anchors},
        }
        return cls(data, initial=initial)

    def design(self) -> FormDesign:
        """What was asked for, after is_valid()."""
        data = self.cleaned_data
        own = {(name, value): data[f"anchor-{name}-{value}"] for name, value in anchored()}
        return make_design(grades=data["grades"], choices=data["choices"], flags=data["flags"], anchors=own)

    def rows(self) -> list[Asked]:
        """Grades and choices in the order of the form."""
        labels = {one.value: gettext(one.label) for one in GradeName} | {
            k: gettext(v) for k, v in CHOICE_LABELS.items()
        }
        asked = {str(one) for field in ("grades", "choices") for one in (self[field].value() or ())}
        values = {degree.value: gettext(degree.label) for degree in Degree}
        anchors: dict[str, Anchors] = {name: [] for name in labels}
        for name, value in anchored():
            anchors[name].append((values.get(value, value), self[f"anchor-{name}-{value}"]))
        return [Asked(name, label, name in asked, anchors[name]) for name, label in labels.items()]
