"""Forms with which a sample is drawn."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms import PlainForm, choices_of
from annotation.models import QuestionBank
from annotation.review.kernels.sampling import SEED_MAX, RatedBy, StratifyBy
from annotation.review.samples import DEFAULT_PER_THOUSAND, DEFAULT_SEED


class DrawForm(PlainForm):
    """What to draw from, and how."""

    bank = forms.ModelChoiceField(
        label=_("Bank"),
        queryset=QuestionBank.objects.filter(archived_at__isnull=True),
        to_field_name="slug",
        empty_label=None,
    )
    by = forms.TypedChoiceField(
        label=_("Stratify by"), choices=choices_of(StratifyBy), coerce=StratifyBy, initial=StratifyBy.DIFFICULTY
    )
    rated_by = forms.TypedChoiceField(
        label=_("Difficulty"),
        choices=choices_of(RatedBy),
        coerce=RatedBy,
        empty_value=RatedBy.STATED,
        initial=RatedBy.STATED,
        required=False,
    )
    per_thousand = forms.IntegerField(
        label=_("Sampling fraction (‰)"),
        min_value=1,
        max_value=1000,
        initial=DEFAULT_PER_THOUSAND,
        error_messages=dict.fromkeys(("min_value", "max_value", "invalid"), _("Give a whole number from 1 to 1000.")),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=SEED_MAX,
        initial=DEFAULT_SEED,
        help_text=_("Same seed, same sample."),
        error_messages=dict.fromkeys(("min_value", "max_value", "invalid"), _("Give a whole number, 0 or more.")),
    )


class StoreForm(DrawForm):
    """The same, with what a person agreed to: the name, and the frame that they looked at."""

    name = forms.CharField(label=_("Name"), max_length=200, required=False)
    frame_sha256 = forms.CharField(max_length=64, widget=forms.HiddenInput)
