from __future__ import annotations

import json
from typing import Any, cast

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.enums import ImageState, ViewPosition
from annotation.forms import PlainForm, choices_of
from annotation.forms.display import DAY
from annotation.imaging.kernels.masking import Box
from annotation.ingest.uploading import PURPOSE, SentFile
from annotation.models import QuestionBank, Upload

MOST_BOXES = 50
SIDES = [("", _("not given")), ("L", _("left")), ("R", _("right")), ("B", _("both")), ("U", _("unpaired"))]


class ImageFilterForm(forms.Form):
    """Which images the list shows; a value that makes no sense shows all."""

    bank = forms.ModelChoiceField(
        QuestionBank.objects.all(), to_field_name="slug", required=False, empty_label=_("all banks"), label=_("Bank")
    )
    state = forms.ChoiceField(choices=[("", _("any state")), *choices_of(ImageState)], required=False, label=_("State"))
    upload = forms.ModelChoiceField(
        Upload.objects.filter(purpose=PURPOSE),
        to_field_name="public_id",
        required=False,
        widget=forms.HiddenInput,
    )


class ViewForm(forms.Form):
    view_position = forms.ChoiceField(choices=choices_of(ViewPosition), label=_("View position"))
    laterality = forms.ChoiceField(choices=SIDES, required=False, label=_("Side"))


class CreditForm(forms.Form):
    attribution = forms.CharField(max_length=300, required=False, label=_("Attribution"))
    licence = forms.CharField(max_length=100, required=False, label=_("Licence"))


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=300,
        label=_("Reason"),
        error_messages={"required": _("Say in a few words why. The reason is kept in the audit log.")},
    )


class TurnForm(ReasonForm):
    """How a film is shown that by its file lies otherwise than usual."""

    shown = forms.ChoiceField(
        choices=[("turned", _("turned")), ("as_it_came", _("as it came in"))],
        label=_("Shown"),
        error_messages={"required": _("Choose which of the two pictures is right.")},
    )


class WordForm(forms.Form):
    word = forms.CharField(max_length=100, label=_("Word"))


class MaskForm(ReasonForm):
    """Boxes come as the repeated fields x, y, width, height; a row of four empty fields is left out."""

    boxes: list[Box]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        sent = cast("QueryDict", self.data)
        columns = [sent.getlist(name) for name in ("x", "y", "width", "height")]
        if len({len(column) for column in columns}) != 1 or len(columns[0]) > MOST_BOXES:
            raise forms.ValidationError(_("The boxes could not be read. Load the page again and draw them once more."))
        rows = [row for row in zip(*columns, strict=True) if any(text.strip() for text in row)]
        try:
            self.boxes = [_box(row) for row in rows]
        except ValueError:
            raise forms.ValidationError(
                _("A box needs four whole numbers: x, y, width and height in pixels, width and height above 0.")
            ) from None
        if not self.boxes:
            raise forms.ValidationError(_("Draw at least one box over what must be blacked out."))
        return data


def _box(row: tuple[str, ...]) -> Box:
    x, y, width, height = (int(text) for text in row)
    if width <= 0 or height <= 0 or max(abs(x), abs(y), width, height) > 100_000:
        raise ValueError
    return x, y, width, height


class UploadForm(forms.Form):
    """The fields beside the files. Files come as ``files`` and ``folder``; the browser strips their folders, so the
    page sends their paths as a JSON list in ``paths``, in the same order."""

    bank = forms.ModelChoiceField(
        QuestionBank.objects.filter(archived_at=None),
        to_field_name="slug",
        required=False,
        empty_label=_("no bank: images only"),
        label=_("Bank"),
    )
    credits = forms.FileField(required=False, label=_("Attribution and licence"))
    paths = forms.CharField(required=False, widget=forms.HiddenInput, max_length=1_000_000)

    def clean_paths(self) -> list[str] | None:
        text = self.cleaned_data["paths"]
        if not text:
            return None
        try:
            paths = json.loads(text)
        except (ValueError, RecursionError):
            paths = None
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise forms.ValidationError(_("The list of paths could not be read. Load the page again."))
        return paths

    def sent_files(self) -> list[SentFile]:
        """The files with their paths; names stand in where no path was sent. Call on a valid form."""
        files: list[UploadedFile[Any]] = [*self.files.getlist("files"), *self.files.getlist("folder")]
        paths = self.cleaned_data["paths"]
        if paths is None or len(paths) != len(files):
            paths = [file.name or "" for file in files]
        return [SentFile(path, file) for path, file in zip(paths, files, strict=True)]


class FetchForm(PlainForm):
    """What to fetch from a PACS of the settings."""

    pacs = forms.ChoiceField(label=_("PACS"))
    first = forms.DateField(label=_("First day"), required=False, widget=DAY)
    last = forms.DateField(label=_("Last day"), required=False, widget=DAY, help_text=_("Without one: today."))
    accession_numbers = forms.CharField(
        label=_("Accession numbers"),
        required=False,
        widget=forms.Textarea({"rows": 4, "autocomplete": "off", "spellcheck": "false"}),
        help_text=_("One a line. They are kept until the images are here, for this job alone."),
    )
    modalities = forms.MultipleChoiceField(
        label=_("Modality"),
        choices=[
            ("CR", _("CR: computed radiography")),
            ("DX", _("DX: digital radiography")),
            ("RG", _("RG: digitised film")),
            ("OT", _("OT: other")),
        ],
        initial=["CR", "DX"],
        widget=forms.CheckboxSelectMultiple,
    )
    body_part = forms.CharField(
        label=_("Body part"),
        max_length=16,
        required=False,
        help_text=_("As the PACS says it, such as CHEST. Many images say none: leave it empty for all."),
    )
    most = forms.IntegerField(
        label=_("Images at most"),
        initial=1000,
        min_value=1,
        help_text=_("Where the PACS has more, ask again: what is here is not fetched twice."),
    )
    bank = forms.ModelChoiceField(
        QuestionBank.objects.filter(archived_at=None),
        to_field_name="slug",
        required=False,
        empty_label=_("no bank: images only"),
        label=_("Bank"),
    )

    def clean_accession_numbers(self) -> list[str]:
        return [line for line in self.cleaned_data["accession_numbers"].splitlines() if line.strip()]
