"""What is chosen on pages about outcomes, and reviews that come in as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.outcomes.outcome_groups import ANY_FLAG, COUNTED_ISSUES, CountedIssue, GroupBy
from annotation.statistics.kernels.issues import CountingRule

MOST_BYTES = 5_000_000
RULES = {
    CountingRule.ANY: _("any reviewer"),
    CountingRule.MAJORITY: _("majority"),
    CountingRule.ALL: _("all reviewers"),
    CountingRule.ADJUDICATED: _("adjudicated"),
}


@dataclass(frozen=True)
class GroupsChoice:
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
