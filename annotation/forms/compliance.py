"""Which classifier is asked, its labelled set, and where the threshold of a class lies."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.forms import PlainForm
from annotation.quality.kernels.question_checks import PARTS
from annotation.validators.classifying import RULE_OF, folders


class ClassifyForm(PlainForm):
    """A folder of this server, and a file where it is to be tried."""

    folder = forms.ChoiceField(label=_("Classifier"))
    labelled = forms.FileField(
        label=_("Labelled set"),
        required=False,
        help_text=_(
            "Optional. CSV, XLSX or Parquet with the columns text (or question: its number) and label: a class, "
            "several with “;” between them, or empty for none. Texts are deleted once they are scored."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["folder"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in folders()]


class ClassThresholdForm(PlainForm):
    label = forms.CharField(widget=forms.HiddenInput, max_length=60)
    part = forms.ChoiceField(label=_("A question of this class fails"))
    threshold = forms.FloatField(label=_("From this probability on"), min_value=0, max_value=1)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["part"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "…"), *((one, gettext(PARTS[one].label)) for one in RULE_OF)]
