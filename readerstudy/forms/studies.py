"""Names of studies, new and copied, and of links to their results."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import QuestionBank
from readerstudy.design.copying import next_free_name
from readerstudy.forms.drafts import DraftForm
from readerstudy.models import ReaderStudy
from readerstudy.sharing.linking import DAYS

WORDS = {1: _("1 day"), 7: _("7 days"), 30: _("30 days")}


class StudyForm(DraftForm):
    name = forms.CharField(
        label=_("Name"), max_length=200, help_text=_("Readers see it, too: name no finding and no hypothesis.")
    )
    bank = forms.ModelChoiceField(
        label=_("Question bank"),
        queryset=QuestionBank.objects.filter(archived_at__isnull=True),
        to_field_name="slug",
        empty_label=None,
        help_text=_("From which the cases are taken. It cannot be changed later."),
    )


class CopyForm(DraftForm):
    name = forms.CharField(label=_("Name of the copy"), max_length=200)

    @classmethod
    def of(cls, study: ReaderStudy) -> CopyForm:
        return cls(initial={"name": next_free_name(study.name)})


class ShareForm(forms.Form):
    days = forms.TypedChoiceField(label=_("Works for"), choices=[(n, WORDS[n]) for n in DAYS], coerce=int, initial=7)
    note = forms.CharField(
        label=_("For whom"),
        max_length=200,
        required=False,
        help_text=_("Only coordinators see this. It may stay empty."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
