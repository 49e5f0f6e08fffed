"""Names of studies: of a new one, and of a copy."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import QuestionBank
from readerstudy.design.copying import next_free_name
from readerstudy.forms.drafts import DraftForm
from readerstudy.models import ReaderStudy


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
