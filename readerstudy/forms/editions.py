"""Forms of the editions of a leaderboard."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms import PlainForm
from readerstudy.leaderboard.versions import LONGEST_NOTE


class VersionForm(PlainForm):
    reason = forms.CharField(
        label=_("Why"), max_length=LONGEST_NOTE, help_text=_("Everybody reads it beside the changes.")
    )


class NoteForm(PlainForm):
    text = forms.CharField(
        label=_("Note"), max_length=LONGEST_NOTE, widget=forms.Textarea(attrs={"rows": 3}), help_text=_("Plain text.")
    )
    entry = forms.CharField(
        label=_("About the entry"),
        max_length=40,
        required=False,
        help_text=_("The id of the entry; empty: about the whole board."),
    )
