"""A file of readings that were made elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from readerstudy.forms.drafts import DraftForm

if TYPE_CHECKING:
    SentFile = UploadedFile[bytes]
else:
    SentFile = UploadedFile

MOST_BYTES = 500_000  # some 10,000 readings; more in one step would keep others on SQLite waiting


class ReadingsForm(DraftForm):
    """``seen`` is the hash of the file whose check a person looked at before storing it."""

    file = forms.FileField(
        label=_("File of readings (CSV)"),
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        help_text=_("One row for each reader and case, in UTF-8."),
    )
    seen = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def clean_file(self) -> SentFile:
        file: SentFile = self.cleaned_data["file"]
        if (file.size or 0) > MOST_BYTES:
            raise forms.ValidationError(
                gettext("The file has %(size)s; this page takes %(most)s. Use the command import_responses for it."),
                params={"size": filesizeformat(file.size or 0), "most": filesizeformat(MOST_BYTES)},
            )
        return file
