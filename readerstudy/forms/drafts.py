"""What the forms of a design share: they fill from a study, and show it once it is frozen. The short forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, cast
from zoneinfo import ZoneInfo

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from msgspec.structs import replace

from annotation.enums import Word
from annotation.forms import PlainForm
from readerstudy.design.kernels.analysis_plan import read_analysis
from readerstudy.design.kernels.assumptions import FIGURES, RANGES, Assumptions, read_assumptions
from readerstudy.design.kernels.documents import DesignRefused, canonical, sha256_of
from readerstudy.enums import Aid, Information
from readerstudy.models import Arm, ReaderStudy

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    SentFile = UploadedFile[bytes]
else:
    SentFile = UploadedFile


def words(kind: type[Word]) -> Callable[[], list[tuple[str, str]]]:
    """The choices of a closed vocabulary."""
    return lambda: [(one.value, gettext(one.label)) for one in kind]


def text_field(
    label: Any, sentence: Any = "", *, most: int = 300, rows: int = 0, required: bool = False
) -> forms.CharField:
    """One line, or ``rows``; ``most``: characters."""
    widget = forms.Textarea(attrs={"rows": rows}) if rows else forms.TextInput()
    return forms.CharField(label=label, required=required, max_length=most, widget=widget, help_text=sentence)


class DraftForm(PlainForm):
    """A step of the design. It knows what its page showed, so that nobody overwrites what they never saw."""

    empty: ClassVar[dict[str, _StrPromise]] = {}  # by field: what an empty one means, where a frozen design is shown
    mark_name = "seen"  # under which the page sends its mark back
    was_warned = False

    @property
    def stored_mark(self) -> str:
        """A hash of what is stored now."""
        return sha256_of(json.dumps(self.initial, sort_keys=True, default=str))

    @property
    def mark(self) -> str:
        """What the page sends back: the hash of what its person has seen, until they are warned that it changed."""
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
        return [(str(bound.label), _words(bound)) for bound in self]


def _plain(value: Any) -> Any:
    """Browsers send other line ends than those in a plan."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


def _words(bound: forms.BoundField) -> str:
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
    if value not in (None, ""):
        return str(value)
    meanings = bound.form.empty if isinstance(bound.form, DraftForm) else {}
    return str(meanings.get(bound.name, gettext("none")))


def _labels(field: forms.ChoiceField) -> dict[str, str]:
    """Words of the choices that stand alone; those of a group (places of a continent) are their own words."""
    choices = cast("Iterable[tuple[Any, Any]]", field.choices)
    return {str(key): str(label) for key, label in choices if not isinstance(label, list | tuple)}


class PlainTimeField(forms.DateTimeField):
    """A date and time as on a wall clock, without any zone: another field of the form says which is meant."""

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
    """The moment that a time on the wall means in a zone. Raises ValidationError where the clocks skip that time, and
    asks for another where they show it twice.
    """
    meant = plain.replace(tzinfo=ZoneInfo(zone))
    if meant.astimezone(UTC).astimezone(meant.tzinfo).replace(tzinfo=None) != plain:
        sentence = gettext("This time does not exist in %(zone)s: the clocks skip it on that day. Choose another.")
        raise forms.ValidationError(sentence % {"zone": zone})
    if meant.utcoffset() != meant.replace(fold=1).utcoffset():
        sentence = gettext(
            "This time comes twice in %(zone)s, since the clocks go back then. Which one is meant? Choose a time "
            "before or after that hour."
        )
        raise forms.ValidationError(sentence % {"zone": zone}, code="comes_twice")
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
    empty = {"n_orders": _("twice the readers")}

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


# --- what the forecast of a study assumes ---------------------------------------------------------
def _share(name: str, label: Any, sentence: Any, step: str = "any") -> forms.FloatField:
    least, most = RANGES[name]
    widget = forms.NumberInput(attrs={"step": step})
    return forms.FloatField(label=label, min_value=least, max_value=most, help_text=sentence, widget=widget)


class ForecastForm(DraftForm):
    """``taken`` holds the figures of a finished study; once one of the four is changed by hand, it is not named."""

    discordant_model_reader = _share(
        "discordant_model_reader",
        _("Model and reader differ"),
        _("Share of cases that exactly one of the two has right: 0.30 is 30 % of the cases."),
    )
    discordant_readers = _share(
        "discordant_readers", _("Two readers differ"), _("The same of two readers: 0.20 is 20 % of the cases.")
    )
    delta = _share("delta", _("True difference"), _("Accuracy of the model minus the mean of the readers: 0.10."))
    sd_reader = _share(
        "sd_reader",
        _("Spread of readers"),
        _("Standard deviation of the accuracies of readers: 0.055 is 5.5 percentage points."),
    )
    accuracy = _share("accuracy", _("Accuracy of a reader"), _("For the intervals of one rater and of kappa."))
    models = forms.IntegerField(
        label=_("Models compared"),
        min_value=1,
        max_value=1000,
        help_text=_("One family by Holm: its first step tests at 5 % divided by the models."),
    )
    design_effect = _share(
        "design_effect",
        _("Design effect"),
        _("1: every case is of another patient. Above 1: cases that share patients tell less."),
    )
    delta_for_margin = _share(
        "delta_for_margin",
        _("True difference at the margin"),
        _("At which the model is to be shown not inferior. The margin itself is set in the rules."),
    )
    target = _share("target", _("Power to reach"), _("For the readers and the cases that are needed."))

    groups = (FIGURES, ("accuracy", "models", "design_effect", "delta_for_margin", "target"))

    def __init__(self, study: ReaderStudy, data: Any = None, taken: Assumptions | None = None) -> None:
        self.stored = read_analysis(study.analysis).assumptions or Assumptions()
        self.taken = taken
        shown = taken if taken is not None and data is None else self.stored
        super().__init__(data, initial={name: getattr(shown, name) for name in RANGES})

    @property
    def stored_mark(self) -> str:
        """Of what is stored, whatever was taken into the fields since."""
        return sha256_of(canonical(self.stored.as_json()))

    def grouped(self) -> list[list[forms.BoundField]]:
        return [[self[name] for name in group] for group in self.groups]

    def clean(self) -> dict[str, Any]:
        asked = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                self.assumptions()
            except DesignRefused as refusal:
                self.add_error(refusal.field or None, str(refusal))
        return asked

    def assumptions(self) -> Assumptions:
        """Refused where they contradict each other."""
        assumed = read_assumptions({name: self.cleaned_data[name] for name in RANGES})
        given = [one for one in (self.taken, self.stored) if one is not None and _figures(one) == _figures(assumed)]
        return replace(assumed, taken_from=given[0].taken_from if given else "")


def _figures(assumed: Assumptions) -> list[float]:
    return [getattr(assumed, name) for name in FIGURES]
