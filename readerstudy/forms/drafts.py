"""What the forms of a design share: they fill from a study, and say what stands once it is frozen."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from readerstudy.design.kernels.documents import sha256_of


class DraftForm(forms.Form):
    """A step of the design. It knows what its page showed, so that nobody overwrites what they never saw."""

    mark_name = "seen"  # under which the page sends its mark back

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.is_told = False

    @property
    def stands(self) -> str:
        """A hash of what is stored now."""
        return sha256_of(json.dumps(self.initial, sort_keys=True, default=str))

    @property
    def mark(self) -> str:
        """What the page sends back: the hash of what its person has seen, until they are told that it changed."""
        sent = self.data.get(self.mark_name, "") if self.is_bound and not self.is_told else ""
        return str(sent or self.stands)

    def is_overtaken(self) -> bool:
        """Whether something else was stored since the page was shown: then nothing is, and the form says so once."""
        if self.mark == self.stands:
            return False
        self.is_told = True
        names = ", ".join(str(self[name].label) for name in self.fields if self.differs(name))
        if not names:
            return False
        sentence = _(
            "Somebody else saved this page since you opened it. Your changes are not saved yet; they differ in: "
            "%(names)s. Open the page in another tab to compare. Saving again overwrites the stored version."
        )
        self.add_error(None, sentence % {"names": names})
        return True

    def differs(self, name: str) -> bool:
        """Whether something else was sent in a field than what is stored."""
        return self.fields[name].has_changed(_plain(self.initial.get(name)), _plain(self[name].data))

    def facts(self) -> list[tuple[str, str]]:
        """Each field with what is stored, in words, for a design that cannot change any more."""
        return [(str(bound.label), _said(bound)) for bound in self]


def _plain(value: Any) -> Any:
    """Browsers send other line ends than those that stand in a plan."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


def _said(bound: forms.BoundField) -> str:
    value = bound.value()
    if isinstance(bound.field, forms.BooleanField):
        return _("yes") if value else _("no")
    if isinstance(bound.field, forms.MultipleChoiceField):
        return ", ".join(label for key, label in _labels(bound.field).items() if key in (value or [])) or _("none")
    if isinstance(bound.field, forms.ChoiceField):
        return _labels(bound.field).get(value, str(value))
    if isinstance(value, datetime):
        return date_format(value, "DATETIME_FORMAT")
    return str(value) if value not in (None, "") else _("none")


def _labels(field: forms.ChoiceField) -> dict[str, str]:
    """Words of the choices that stand alone; those of a group (places of a continent) are their own words."""
    choices = cast("Iterable[tuple[Any, Any]]", field.choices)
    return {str(key): str(label) for key, label in choices if not isinstance(label, list | tuple)}


class PlainTimeField(forms.DateTimeField):
    """A date and time as they stand on a wall, without any zone: another field of the form says which is meant."""

    def __init__(self, **options: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
        super().__init__(**{"widget": widget, **options})

    def clean(self, value: Any) -> datetime | None:
        with timezone.override(UTC):
            found = super().clean(value)
        if isinstance(found, datetime) and not MINYEAR < found.year < MAXYEAR:  # no date in some zones
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return found.replace(tzinfo=None) if isinstance(found, datetime) else None

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.clean(data) != initial)
        except forms.ValidationError:
            return True

    def prepare_value(self, value: Any) -> Any:
        return value  # not moved into the zone of the person who looks


def moment_in(zone: str, plain: datetime) -> datetime:
    """The moment that a time on the wall means in a zone. Raises ValidationError where the clocks skip that time."""
    meant = plain.replace(tzinfo=ZoneInfo(zone))
    if meant.astimezone(UTC).astimezone(meant.tzinfo).replace(tzinfo=None) != plain:
        sentence = _("This time does not exist in %(zone)s: the clocks skip it on that day. Choose another.")
        raise forms.ValidationError(sentence % {"zone": zone})
    return meant
