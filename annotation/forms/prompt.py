"""The form with which the next version of a prompt is written."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import PromptPurpose
from annotation.forms import PlainForm
from annotation.models import PromptVersion
from annotation.prompts.kernels.filling import KNOWN, LONGEST_SCHEMA
from annotation.prompts.versions import LONGEST_NAME, LONGEST_REASON, LONGEST_TEXT, PROMPT_IMAGES


class PromptForm(PlainForm):
    """Begins as a copy of ``parent``, with its purpose; ``reason`` is a draft of why it is made."""

    name = forms.CharField(
        label=_("Name"),
        max_length=LONGEST_NAME,
        help_text=_("The same name stores its next version; another one begins a prompt of its own."),
    )
    instruction = forms.CharField(
        label=_("Instruction"),
        required=False,
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono"}),
        help_text=_("Sent as the message of the role “system”. Empty: none is sent."),
    )
    text = forms.CharField(
        label=_("Text"),
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 14, "class": "mono"}),
        help_text=_("Variables are written in double braces, such as {{question}}. The images come before the text."),
    )
    variables = forms.MultipleChoiceField(label=_("Variables"), required=False, widget=forms.CheckboxSelectMultiple)
    images = forms.ChoiceField(label=_("Images"), choices=[(one.value, _(one.label)) for one in PROMPT_IMAGES])
    schema = forms.CharField(
        label=_("Schema of the answer"),
        required=False,
        max_length=LONGEST_SCHEMA,
        widget=forms.Textarea(attrs={"rows": 10, "class": "mono"}),
        help_text=_("A JSON schema; models fill its properties in this order. Empty: plain text is asked for."),
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("What is changed, and why. It is shown in the history."),
    )

    def __init__(self, parent: PromptVersion, *args: Any, reason: str = "", **kwargs: Any) -> None:
        kept = ("name", "instruction", "text", "variables", "images", "schema")
        kwargs.setdefault("initial", {name: getattr(parent, name) for name in kept} | {"reason": reason})
        super().__init__(*args, **kwargs)
        if reason:
            self.fields["reason"].widget.attrs["rows"] = 12
        field = self.fields["variables"]
        if isinstance(field, forms.MultipleChoiceField):
            known = KNOWN[PromptPurpose(parent.purpose)]
            field.choices = [(name, f"{{{{{name}}}}}: {gettext(holds)}") for name, holds in known.items()]
