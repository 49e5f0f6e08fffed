"""What a coordinator says of a trial of two versions of a prompt before it is planned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import PromptPurpose
from annotation.endpoints.configured_endpoints import endpoints
from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.feedback.kernels.trial_pairs import TrialAssumptions
from annotation.feedback.trial_plans import TrialWanted
from annotation.forms import PlainForm
from annotation.generation.kernels.answer_forms import MOST_QUESTIONS
from annotation.models import PromptVersion, QuestionBank
from annotation.sampling.kernels.drawing import SEED_MAX

GROUPS = (
    (_("What is compared"), ("first", "second", "first_findings", "second_findings")),
    (_("What is assumed"), ("issue_rate", "difference", "power", "correlation")),
    (_("Reports and model"), ("bank", "n_exams", "per_exam", "endpoint", "model")),
    (_("Limits and settings"), ("cap", "temperature", "max_tokens", "seed")),
)


def _version(label: Any, purpose: PromptPurpose, **fields: Any) -> forms.ModelChoiceField[PromptVersion]:
    rows = PromptVersion.objects.filter(purpose=purpose)
    return forms.ModelChoiceField(label=label, queryset=rows, to_field_name="public_id", **fields)


def _percent(label: Any, *, help_text: Any, least: float = 0, initial: float | None = None) -> forms.FloatField:
    return forms.FloatField(label=label, initial=initial, min_value=least, max_value=100, help_text=help_text)


class PromptTrialForm(PlainForm):
    """Planning sends nothing."""

    first = _version(_("First version"), PromptPurpose.QUESTIONS, empty_label=None)
    second = _version(_("Second version"), PromptPurpose.QUESTIONS, empty_label=None)
    first_findings = _version(
        _("Findings of the first by"), PromptPurpose.BULLETS, required=False, empty_label=_("the program's own")
    )
    second_findings = _version(
        _("Findings of the second by"), PromptPurpose.BULLETS, required=False, empty_label=_("as for the first")
    )
    issue_rate = _percent(_("Issue rate of the first, %"), help_text=_("Questions with any flag, as you expect them."))
    difference = _percent(
        _("Difference to be found, percentage points"),
        least=-100,
        help_text=_("First minus second: above 0 if the second is to have fewer issues."),
    )
    power = _percent(
        _("Power, %"), initial=80, help_text=_("How likely such a difference is found, at a level of 5 %.")
    )
    correlation = forms.FloatField(
        label=_("Correlation within an exam"),
        initial=0,
        min_value=0,
        max_value=1,
        help_text=_("Of the differences of pairs that share an exam; of no effect with one question per exam."),
    )
    bank = forms.ModelChoiceField(
        label=_("Reports of the bank"),
        queryset=QuestionBank.objects.filter(archived_at__isnull=True),
        to_field_name="slug",
        empty_label=None,
    )
    n_exams = forms.IntegerField(
        label=_("Exams"),
        required=False,
        min_value=1,
        help_text=_("Empty: as many as the plan needs. More make up for reports that give no question."),
    )
    per_exam = forms.IntegerField(
        label=_("Questions per exam and version"), initial=1, min_value=1, max_value=MOST_QUESTIONS
    )
    endpoint = forms.ChoiceField(label=_("Endpoint"))
    model = forms.CharField(label=_("Model at the endpoint"), max_length=200, help_text=_("As the endpoint calls it."))
    cap = forms.DecimalField(
        label=_("Most that each version may cost"), required=False, max_digits=12, decimal_places=4, min_value=0
    )
    temperature = forms.FloatField(
        label=_("Temperature"), required=False, min_value=0, max_value=2, help_text=_("Empty: not sent.")
    )
    max_tokens = forms.IntegerField(
        label=_("Most tokens of an answer"), required=False, min_value=1, max_value=1_000_000
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        initial=1,
        min_value=0,
        max_value=SEED_MAX,
        help_text=_("Of the exams, of the letters of the keys and of the sample."),
    )

    def __init__(self, version: PromptVersion, *args: Any, **kwargs: Any) -> None:
        """``version`` begins as the second, its parent as the first."""
        chosen = {"second": version.public_id, "first": version.parent.public_id if version.parent else None}
        super().__init__(*args, **kwargs, initial=chosen)
        field = self.fields["endpoint"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(one.name, one.name) for one in endpoints()]
        self.initial["model"] = next((one.model for one in endpoints()), "")

    @property
    def groups(self) -> Iterator[tuple[str, list[BoundField]]]:
        for title, names in GROUPS:
            yield str(title), [self[name] for name in names]

    def wanted(self) -> TrialWanted:
        data = self.cleaned_data
        plain = ("bank", "endpoint", "model", "first", "second", "first_findings", "second_findings")
        return TrialWanted(
            **{name: data[name] for name in (*plain, "per_exam", "seed", "n_exams", "cap")},
            assumed=TrialAssumptions(
                issue_rate=data["issue_rate"] / 100,
                difference=data["difference"] / 100,
                power=data["power"] / 100,
                correlation=data["correlation"],
            ),
            chat=ChatSettings(temperature=data["temperature"], max_tokens=data["max_tokens"]),
        )
