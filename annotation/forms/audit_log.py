"""What somebody looks for in the audit log."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.audit.acts_in_words import acts_by_group
from annotation.forms import PlainForm
from annotation.people.event_log import Wanted
from annotation.people.event_things import things


class AuditLogForm(PlainForm):
    person = forms.CharField(label=_("Person"), max_length=200, required=False)
    kind = forms.ChoiceField(label=_("Thing"), required=False)
    thing = forms.CharField(label=_("Its name, address or id"), max_length=200, required=False)
    act = forms.ChoiceField(label=_("Act"), required=False)
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, with_people: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kinds = sorted((str(thing.label), name) for name, thing in things().items())
        self.offer("kind", [("", _("all")), *((name, label) for label, name in kinds)])
        self.offer("act", [("", _("all")), *acts_by_group()])
        if not with_people:
            del self.fields["person"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        since, until = data.get("since"), data.get("until")
        if since and until and until < since:
            self.add_error("until", _("This is before the first day."))
        return data

    def wanted(self) -> Wanted:
        """Of a valid form; days are those of the person who asks."""
        data = dict(self.cleaned_data)
        zone = timezone.get_current_timezone()
        for name, moment in (("since", time.min), ("until", time.max)):
            if data[name] is not None:
                data[name] = datetime.combine(data[name], moment, tzinfo=zone)
        return Wanted(**data)
