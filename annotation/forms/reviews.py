"""Forms about reviews: the form that they fill, what is chosen on pages about outcomes, and reviews in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from annotation.enums import Degree, GradeName
from annotation.forms import PlainForm
from annotation.models import ReviewForm
from annotation.outcomes.outcome_groups import ANY_FLAG, COUNTED_ISSUES, CountedIssue, GroupBy
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
from annotation.statistics.kernels.issues import CountingRule

Anchors = list[tuple[str, forms.BoundField]]


class Asked(Struct, frozen=True):
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


# --- What is chosen on pages about outcomes, and reviews that come in as a file -------------------
MOST_BYTES = 5_000_000
RULES = {
    CountingRule.ANY: _("any reviewer"),
    CountingRule.MAJORITY: _("majority"),
    CountingRule.ALL: _("all reviewers"),
    CountingRule.ADJUDICATED: _("adjudicated"),
}


class GroupsChoice(Struct, frozen=True):
    issue: CountedIssue
    by: GroupBy
    rule: CountingRule


class OutcomeGroupsForm(forms.Form):
    """Which issue, taken apart by what, counted by which rule; what is not among the choices is the first of them."""

    issue = forms.ChoiceField(label=_("Issue"), required=False)
    by = forms.ChoiceField(label=_("By"), required=False)
    rule = forms.ChoiceField(label=_("Counted when"), required=False)

    def __init__(self, rules: Sequence[CountingRule], asked: Mapping[str, str]) -> None:
        choices: dict[str, list[tuple[str, str]]] = {
            "issue": [(one.name, _issue_label(one)) for one in COUNTED_ISSUES.values()],
            "by": [(one.value, gettext(one.label)) for one in GroupBy],
            "rule": [(one.value, str(RULES[one])) for one in rules],
        }
        values = {name: [value for value, _label in of] for name, of in choices.items()}
        chosen = {name: asked[name] if asked.get(name) in of else of[0] for name, of in values.items()}
        super().__init__(chosen, auto_id="groups-%s")
        for name, of in choices.items():
            field = self.fields[name]
            if isinstance(field, forms.ChoiceField):
                field.choices = of

    def choice(self) -> GroupsChoice:
        chosen = {name: self.data[name] for name in ("issue", "by", "rule")}
        return GroupsChoice(COUNTED_ISSUES[chosen["issue"]], GroupBy(chosen["by"]), CountingRule(chosen["rule"]))


def _issue_label(one: CountedIssue) -> str:
    """Outcomes of the paper and flags have some labels alike."""
    if one.name == ANY_FLAG:
        return gettext(one.label)
    kind = _("Paper") if one.name.startswith("paper_") else _("Flag")
    return f"{kind}: {gettext(one.label)}"


class ReviewFileForm(forms.Form):
    """A file of reviews made elsewhere; a larger one goes in by the command."""

    file = forms.FileField(label=_("File of reviews"), allow_empty_file=True)

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MOST_BYTES:
            raise forms.ValidationError(
                _("The file is larger than 5 MB. Part it, or ask for it to be imported by manage.py import_reviews.")
            )
        return file
