"""What the forms of a design share: they fill from a study, and show it once it is frozen. The short forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.enums import Word
from readerstudy.design.kernels.documents import sha256_of
from readerstudy.enums import Aid, Information
from readerstudy.models import Arm, ReaderStudy

if TYPE_CHECKING:
    SentFile = UploadedFile[bytes]
else:
    SentFile = UploadedFile


def words(kind: type[Word]) -> Callable[[], list[tuple[str, str]]]:
    """The choices of a closed vocabulary."""
    return lambda: [(one.value, gettext(one.label)) for one in kind]


class StudyPageForm(forms.Form):
    """A form on the pages of studies: no colon behind its labels."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class DraftForm(StudyPageForm):
    """A step of the design. It knows what its page showed, so that nobody overwrites what they never saw."""

    mark_name = "seen"  # under which the page sends its mark back
    was_warned = False

    @property
    def stored_mark(self) -> str:
        """A hash of what is stored now."""
        return sha256_of(json.dumps(self.initial, sort_keys=True, default=str))

    @property
    def mark(self) -> str:
        """What the page sends back: the hash of what its person has seen, until they are told that it changed."""
        sent = self.data.get(self.mark_name, "") if self.is_bound and not self.was_warned else ""
        return str(sent or self.stored_mark)

    def is_overtaken(self) -> bool:
        """Whether something else was stored since the page was shown: then nothing is, and the form says so once."""
        if self.mark == self.stored_mark:
            return False
        self.was_warned = True
        names = ", ".join(str(self[name].label) for name in self.fields if self.differs(name))
        if not names:
            return False
        sentence = gettext(
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
        return gettext("yes") if value else gettext("no")
    if isinstance(bound.field, forms.MultipleChoiceField):
        return ", ".join(label for key, label in _labels(bound.field).items() if key in (value or [])) or gettext(
            "none"
        )
    if isinstance(bound.field, forms.ChoiceField):
        return _labels(bound.field).get(value, str(value))
    if isinstance(value, datetime):
        return date_format(value, "DATETIME_FORMAT")
    return str(value) if value not in (None, "") else gettext("none")


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
        sentence = gettext("This time does not exist in %(zone)s: the clocks skip it on that day. Choose another.")
        raise forms.ValidationError(sentence % {"zone": zone})
    return meant


# --- the reading condition of a study of one arm --------------------------------------------------
class AidChoice(forms.RadioSelect):
    """All aids are named; those that a study cannot have yet cannot be chosen."""

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        if value != Aid.NONE:
            option["attrs"]["disabled"] = True
        return option


class ArmForm(DraftForm):
    """What a reader sees beside the images and the question."""

    information = forms.TypedChoiceField(
        label=_("Information shown"),
        choices=words(Information),
        coerce=Information,
        widget=forms.RadioSelect,
        help_text=_(
            "An indication can give an answer away: show it only where somebody has read all of them for that."
        ),
    )
    aid = forms.TypedChoiceField(
        label=_("Aid"),
        choices=words(Aid),
        coerce=Aid,
        widget=AidChoice,
        help_text=_("Not available yet: AI-aided reading needs a second arm."),
    )

    @classmethod
    def of(cls, arm: Arm, data: Any = None) -> ArmForm:
        return cls(data, initial={"information": arm.information, "aid": arm.aid})

    def clean_aid(self) -> Aid:
        if self.cleaned_data["aid"] != Aid.NONE:
            raise forms.ValidationError(gettext("A study of one arm is read without a model's answer."))
        return Aid.NONE


# --- how many people read, and how many orders are drawn for them ---------------------------------
MOST_READERS, MOST_ORDERS = 500, 2000


class ReadersForm(DraftForm):
    n_readers = forms.IntegerField(
        label=_("Readers"),
        min_value=1,
        max_value=MOST_READERS,
        help_text=_("Of all sets together. They are invited once the design is frozen."),
    )
    n_orders = forms.IntegerField(
        label=_("Reading orders per set"),
        min_value=1,
        max_value=MOST_ORDERS,
        required=False,
        help_text=_("Default: twice the readers; fewer are never drawn."),
    )

    @classmethod
    def of(cls, study: ReaderStudy, data: Any = None) -> ReadersForm:
        return cls(data, initial={"n_readers": study.n_readers, "n_orders": study.n_orders or None})

    def numbers(self) -> dict[str, int]:
        """What was asked for, after is_valid()."""
        return {"n_readers": self.cleaned_data["n_readers"], "n_orders": self.cleaned_data["n_orders"] or 0}
