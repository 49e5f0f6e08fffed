"""What the forecast of a study assumes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from msgspec.structs import replace

from readerstudy.design.kernels.analysis_plan import read_analysis
from readerstudy.design.kernels.assumptions import FIGURES, RANGES, Assumptions, read_assumptions
from readerstudy.design.kernels.documents import DesignRefused, canonical, sha256_of
from readerstudy.forms.drafts import DraftForm
from readerstudy.models import ReaderStudy


def _share(name: str, label: Any, sentence: Any, step: str = "any") -> forms.FloatField:
    least, most = RANGES[name]
    widget = forms.NumberInput(attrs={"step": step})
    return forms.FloatField(label=label, min_value=least, max_value=most, help_text=sentence, widget=widget)


class ForecastForm(DraftForm):
    """``taken`` holds the figures of a finished study; once one of the four is changed by hand, it is not named."""

    discordant_model_reader = _share(
        "discordant_model_reader",
        _("Model and reader differ"),
        _("Share of cases that exactly one of the two has right: 0.30 is 30 % of the cases."),
    )
    discordant_readers = _share(
        "discordant_readers", _("Two readers differ"), _("The same of two readers: 0.20 is 20 % of the cases.")
    )
    delta = _share("delta", _("True difference"), _("Accuracy of the model minus the mean of the readers: 0.10."))
    sd_reader = _share(
        "sd_reader",
        _("Spread of readers"),
        _("Standard deviation of the accuracies of readers: 0.055 is 5.5 percentage points."),
    )
    accuracy = _share("accuracy", _("Accuracy of a reader"), _("For the intervals of one rater and of kappa."))
    models = forms.IntegerField(
        label=_("Models compared"),
        min_value=1,
        max_value=1000,
        help_text=_("One family by Holm: its first step tests at 5 % divided by the models."),
    )
    design_effect = _share(
        "design_effect",
        _("Design effect"),
        _("1: every case is of another patient. Above 1: cases that share patients tell less."),
    )
    delta_for_margin = _share(
        "delta_for_margin",
        _("True difference at the margin"),
        _("At which the model is to be shown not inferior. The margin itself stands in the rules."),
    )
    target = _share("target", _("Power to reach"), _("For the readers and the cases that are needed."))

    groups = (FIGURES, ("accuracy", "models", "design_effect", "delta_for_margin", "target"))

    def __init__(self, study: ReaderStudy, data: Any = None, taken: Assumptions | None = None) -> None:
        self.stored = read_analysis(study.analysis).assumptions or Assumptions()
        self.taken = taken
        shown = taken if taken is not None and data is None else self.stored
        super().__init__(data, initial={name: getattr(shown, name) for name in RANGES})

    @property
    def stored_mark(self) -> str:
        """Of what is stored, whatever was taken into the fields since."""
        return sha256_of(canonical(self.stored.as_json()))

    def grouped(self) -> list[list[forms.BoundField]]:
        return [[self[name] for name in group] for group in self.groups]

    def clean(self) -> dict[str, Any]:
        asked = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                self.assumptions()
            except DesignRefused as refusal:
                self.add_error(refusal.field or None, str(refusal))
        return asked

    def assumptions(self) -> Assumptions:
        """Refused where they contradict each other."""
        assumed = read_assumptions({name: self.cleaned_data[name] for name in RANGES})
        given = [one for one in (self.taken, self.stored) if one is not None and _figures(one) == _figures(assumed)]
        return replace(assumed, taken_from=given[0].taken_from if given else "")


def _figures(assumed: Assumptions) -> list[float]:
    return [getattr(assumed, name) for name in FIGURES]
