"""What a coordinator says before a model writes questions from reports of a bank."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import PromptPurpose
from annotation.forms.model_endpoints import AskingForm
from annotation.generation.generation_plans import MOST_EXAMS, GenerationWanted, generation_wanted
from annotation.generation.kernels.answer_forms import MOST_QUESTIONS
from annotation.models import PromptVersion, QuestionBank


class GenerationForm(AskingForm):
    exams = forms.IntegerField(
        label=_("Exams"),
        min_value=1,
        max_value=MOST_EXAMS,
        initial=20,
        help_text=_("Drawn from the bank by the seed; one report each."),
    )
    per_exam = forms.IntegerField(
        label=_("Questions for each exam, at most"), min_value=1, max_value=MOST_QUESTIONS, initial=3
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        help_text=_("Of the draw of exams and of the letters of keys."),
    )
    bullets_prompt = forms.ModelChoiceField(
        label=_("Prompt for findings"), queryset=PromptVersion.objects.none(), required=False, empty_label=_("ours")
    )
    questions_prompt = forms.ModelChoiceField(
        label=_("Prompt for questions"), queryset=PromptVersion.objects.none(), required=False, empty_label=_("ours")
    )
    field_order = (
        *("exams", "per_exam", "seed", "endpoint", "model"),
        *("bullets_prompt", "questions_prompt", "temperature", "cap"),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, purpose in (("bullets_prompt", PromptPurpose.BULLETS), ("questions_prompt", PromptPurpose.QUESTIONS)):
            self.offer_prompts(name, PromptVersion.objects.filter(purpose=purpose).order_by("name", "-number"))

    def wanted(self, bank: QuestionBank) -> GenerationWanted:
        """Of a good form. Raises EndpointRefused where nobody says what the endpoint calls the model."""
        return generation_wanted(bank, **self.cleaned_data)
