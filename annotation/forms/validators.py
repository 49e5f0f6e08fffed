"""What a coordinator says before a validator is asked, and which parts keep a question out of samples."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.forms import PlainForm
from annotation.forms.model_endpoints import AskingForm
from annotation.models import PromptVersion, QuestionBank
from annotation.quality.kernels.validity_parts import CAN_FAIL, JUDGED, PARTS, RATING
from annotation.validators.validator_plans import ALL, CheckWanted, checks_wanted


class ValidatorForm(AskingForm):
    """One validator, or all three."""

    check = forms.ChoiceField(label=_("Validator"))
    prompt = forms.ModelChoiceField(
        label=_("Prompt"), queryset=PromptVersion.objects.none(), required=False, empty_label=_("ours")
    )
    field_order = ("check", "endpoint", "model", "prompt", "cap", "temperature")

    def __init__(self, prompts: QuerySet[PromptVersion], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        named = [(one, gettext(PARTS[one].label)) for one in JUDGED]
        self.offer("check", [(ALL, gettext("all three")), *named, (RATING, gettext("rating of difficulty"))])
        self.offer_prompts("prompt", prompts)
        self.fields["model"].help_text = _(
            "Empty: as whoever runs the server has set it. Not the model that wrote the questions."
        )
        self.fields["cap"].help_text = _(
            "For each validator, in the currency of the price. It pauses before it costs more."
        )

    def wanted(self, bank: QuestionBank) -> list[CheckWanted]:
        """Of a good form. Raises Refused where nobody says what the endpoint calls the model."""
        return checks_wanted(bank, **self.cleaned_data)


class KeepingOutForm(PlainForm):
    parts = forms.MultipleChoiceField(
        label=_("A question that fails one of these is drawn into no new sample"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["parts"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(code, gettext(PARTS[code].label)) for code in CAN_FAIL]
