"""What a coordinator says while readers read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.account import EmailField
from readerstudy.forms.drafts import PlainTimeField, moment_in
from readerstudy.models import ReaderStudy
from readerstudy.unblinding.looks import SHORTEST_REASON


class DeadlineForm(forms.Form):
    """A later deadline, as it stands on the clocks of the study's own time zone."""

    deadline = PlainTimeField(label=_("New deadline"))

    def __init__(self, study: ReaderStudy, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.zone = study.time_zone
        self.fields["deadline"].help_text = _("in %(zone)s") % {"zone": study.time_zone}

    def clean_deadline(self) -> datetime:
        """What was typed, meant in the zone of the study."""
        return moment_in(self.zone, self.cleaned_data["deadline"])


class ReasonForm(forms.Form):
    reason = forms.CharField(label=_("Reason"), max_length=1000, widget=forms.Textarea(attrs={"rows": 2}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)


class GlassForm(ReasonForm):
    """Why results are seen before closing."""

    reason = forms.CharField(
        label=_("Why the results must be seen now"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2, "minlength": SHORTEST_REASON}),
        help_text=_("At least %(n)s characters. It is kept and stays on the pages of the study.")
        % {"n": SHORTEST_REASON},
    )


class ReplaceForm(ReasonForm):
    """Why a reader is replaced, and who comes instead."""

    email = EmailField(label=_("E-mail of the successor"), required=False)
    name = forms.CharField(label=_("Name of the successor"), max_length=200, required=False)


class VoidForm(ReasonForm):
    """One case of the study, and why it is left out."""

    case = forms.IntegerField(label=_("Case"), min_value=1)
    field_order = ["case", "reason"]


class RereviewForm(forms.Form):
    threshold = forms.IntegerField(
        label=_("Missed by at least, %"),
        min_value=1,
        max_value=100,
        initial=50,
        help_text=_("of the readers who answered the case; cases with fewer than two answers are left out."),
    )
    name = forms.CharField(label=_("Name of the round"), max_length=200)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
