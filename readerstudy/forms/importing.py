"""A file of readings that were made elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.templatetags.sizes import file_size
from readerstudy.forms.drafts import DraftForm

if TYPE_CHECKING:
    SentFile = UploadedFile[bytes]
else:
    SentFile = UploadedFile

MOST_BYTES = 500_000  # some 10,000 readings; more in one step would keep others on SQLite waiting


class ReadingsForm(DraftForm):
    """``seen`` is the hash of what was sent, the check of which a person looked at before storing it."""

    file = forms.FileField(
        label=_("File of readings (CSV)"),
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        help_text=_("One row for each reader and case, in UTF-8."),
    )
    voidings = forms.FileField(
        label=_("Cases voided in the original study (CSV)"),
        required=False,
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        help_text=_(
            "Columns case and reason. Only with the first readings: cases that are voided later count as decided then."
        ),
    )
    decided = forms.BooleanField(
        label=_("These cases were voided in the original study, before its results were seen"), required=False
    )
    seen = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def clean_file(self) -> SentFile:
        file: SentFile = self.cleaned_data["file"]
        self._check_size(file)
        return file

    def clean_voidings(self) -> SentFile | None:
        file: SentFile | None = self.cleaned_data["voidings"]
        if file is not None:
            self._check_size(file)
        return file

    def clean_decided(self) -> bool:
        """Whoever sends older voidings says that they are, since nobody else can know it."""
        decided: bool = self.cleaned_data["decided"]
        if self.cleaned_data.get("voidings") and not decided:
            raise forms.ValidationError(
                gettext("Say so, or leave the file out and void its cases on the page “Monitor readers”.")
            )
        return decided

    @staticmethod
    def _check_size(file: SentFile) -> None:
        if (file.size or 0) > MOST_BYTES:
            raise forms.ValidationError(
                gettext("The file has %(size)s; this page takes %(most)s. Use the command import_responses for it."),
                params={"size": file_size(file.size or 0), "most": file_size(MOST_BYTES)},
            )
