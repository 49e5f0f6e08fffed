"""The form of the check of a display, for readers and for reviewers."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.case.kernels.display import CONDITIONS, DisplayUsed, Pattern, conditions_of, draw_pattern, is_passed
from annotation.forms import PlainForm, choices_of


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


FIRST_DAY = date(1990, 1, 1)  # before it no display was checked that is read on now
DAY = forms.DateInput({"type": "date"})
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
