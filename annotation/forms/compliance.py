"""Which classifier is asked, its labelled set, and where the threshold of a class lies."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms import PlainForm
from annotation.questionbank.kernels.question_checks import PARTS
from annotation.validators.classifying import RULE_OF
from annotation.validators.folder_models import CLASSIFIERS, folders


class ClassifyForm(PlainForm):
    """A folder of this server, and a file where it is to be tried."""

    folder = forms.ChoiceField(label=_("Classifier"), choices=lambda: [(name, name) for name in folders(CLASSIFIERS)])
    labelled = forms.FileField(
        label=_("Labelled set"),
        required=False,
        help_text=_(
            "Optional. CSV, XLSX or Parquet with the columns text (or question: its number) and label: a class, "
            "several with “;” between them, or empty for none. Texts are deleted once they are scored."
        ),
    )


class ClassThresholdForm(PlainForm):
    label = forms.CharField(widget=forms.HiddenInput, max_length=60)
    part = forms.ChoiceField(
        label=_("A question of this class fails"),
        choices=[("", "…"), *((one, _(PARTS[one].label)) for one in RULE_OF)],
    )
    threshold = forms.FloatField(label=_("From this probability on"), min_value=0, max_value=1)
