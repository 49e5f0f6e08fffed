"""Forms about images; and the check of the display on which readers and reviewers see them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, cast

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.case.kernels.display import CONDITIONS, DisplayUsed, Pattern, conditions_of, draw_pattern, is_passed
from annotation.enums import ImageState, ViewPosition
from annotation.forms import PlainForm, choices_of
from annotation.imaging.kernels.masking import Box
from annotation.ingest.uploading import PURPOSE, SentFile
from annotation.models import QuestionBank, Upload

FIRST_DAY = date(1990, 1, 1)  # before it no display was checked that is read on now
DAY = forms.DateInput({"type": "date"})
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


def _bank_of_images() -> Any:
    return forms.ModelChoiceField(
        QuestionBank.objects.filter(archived_at=None),
        to_field_name="slug",
        required=False,
        empty_label=_("no bank: images only"),
        label=_("Bank"),
    )


class UploadForm(forms.Form):
    """The fields beside the files. Files come as ``files`` and ``folder``; the browser strips their folders, so the
    page sends their paths as a JSON list in ``paths``, in the same order."""

    bank = _bank_of_images()
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
    bank = _bank_of_images()

    def clean_accession_numbers(self) -> list[str]:
        return [line for line in self.cleaned_data["accession_numbers"].splitlines() if line.strip()]


# --- the check of a display ---------------------------------------------------------------------------
def _figure(least: int = 1, most: int = 100_000, label: Any = "", **more: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=least, max_value=most, **{"required": False, **more})


class Measured(forms.IntegerField):
    """What the script measured beside the window; nobody could correct it, so that what cannot be is left out."""

    def clean(self, value: Any) -> int | None:
        try:
            measured: int | None = super().clean(value)
        except forms.ValidationError:
            return None
        return measured


def _measured(least: int, most: int = 100_000) -> Measured:
    return Measured(min_value=least, max_value=most, required=False, widget=forms.HiddenInput)


def _letters(label: Any) -> forms.CharField:
    quiet = {"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false", "class": "letters"}
    return forms.CharField(label=label, max_length=20, required=False, widget=forms.TextInput(quiet))


HIDDEN: dict[str, Any] = {"widget": forms.HiddenInput}


class DisplayForm(PlainForm):
    """What was read of the pattern, what the person knows of display and room, and what the page's script measured."""

    dark = _letters(_("Letters on black"))
    fine = _figure(0, 99, _("Black lines, left"))
    light = _letters(_("Letters on white"))
    wide = _figure(0, 99, _("Black lines, right"))
    display = forms.ChoiceField(label=_(CONDITIONS["display"]), choices=[("", "—"), *choices_of(DisplayUsed)])
    luminance = _figure(1, 5000, _("Maximum luminance, cd/m², whole number"))
    checked_on = forms.DateField(label=_("Last quality control"), required=False, widget=DAY)
    room_light = _figure(0, 2000, _("Room light, lux, whole number"))
    n_displays = _figure(1, 12, _(CONDITIONS["n_displays"]))
    attempt = _figure(0, required=True, **HIDDEN)
    width, height, screen_width, screen_height = (_figure(required=True, **HIDDEN) for _side in range(4))
    pixel_ratio = forms.FloatField(min_value=0.1, max_value=20, **HIDDEN)
    colour_depth, zoom_percent = _measured(1, 64), _measured(10, 1000)
    screen_left, screen_top, is_extended = (_measured(-100_000) for _side in range(3))

    def clean_checked_on(self) -> date | None:
        """A day that has been, in the time zone of the person."""
        day: date | None = self.cleaned_data["checked_on"]
        if day is not None and not FIRST_DAY <= day <= timezone.localdate():
            sentence = gettext("Give a day from %(first)s to today.")
            raise forms.ValidationError(sentence % {"first": FIRST_DAY.isoformat()})
        return day

    def check(self, act: Callable[..., str]) -> str:
        """Hand it to the act of a room; empty, or the sentence that says what is wrong or to be done."""
        if {"attempt", "width", "height", "screen_width", "screen_height", "pixel_ratio"} & set(self.errors):
            return gettext("The size of the window could not be measured. Allow JavaScript on this page and reload it.")
        if not self.is_valid():
            return gettext("Correct what is marked below.")
        told = {name: value for name, value in self.cleaned_data.items() if value not in {None, ""}}
        if "checked_on" in told:
            told["checked_on"] = told["checked_on"].isoformat()
        return act(told, attempt=told.pop("attempt"), goes_on=self.data.get("goes_on") == "yes")


def shown_check(form: DisplayForm, before: Mapping[str, Any], pattern: Pattern, problem: str) -> dict[str, Any]:
    """What templates/case/_display.html needs: the form as sent while its pattern is the newest, or marked.

    After a missed try what is known of the display is not asked twice; on another screen it is another display.
    """
    n = before.get("n_attempts", 0)
    is_old = form.is_bound and form.data.get("attempt") != str(n)
    if not form.is_bound or (is_old and form.is_valid()):
        same = {name: before[name] for name in ("room_light", "n_displays") if name in before}
        form = DisplayForm(initial={**form.initial, **(same if before.get("lets_in", True) else before), "attempt": n})
    elif is_old:
        form = DisplayForm({**dict(form.data.items()), "dark": "", "light": "", "attempt": str(n)})
    drawn = f"data:image/png;base64,{base64.b64encode(draw_pattern(pattern)).decode()}"
    return {"form": form, "pattern": drawn, "problem": problem, "may_go_on": before.get("may_go_on")}


def check_in_words(stored: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What coordinators read of a check, as pairs of a name and a value; empty before there was one."""
    if not stored:
        return []
    n = stored.get("n_failed", 0)
    failed = ngettext("%(n)s failed attempt", "%(n)s failed attempts", n) % {"n": n} if n else ""
    result = gettext("passed") if is_passed(stored) else gettext("not passed")
    used = {"display": DisplayUsed(stored["display"]).label} if "display" in stored else {}
    window = {gettext("Window"): f"{stored['width']} × {stored['height']}"} if "width" in stored else {}
    return [
        (gettext("Display check"), ", ".join(filter(None, [result, failed]))),
        *window.items(),
        *((gettext(CONDITIONS[name]), gettext(str(value))) for name, value in (conditions_of(stored) | used).items()),
    ]
