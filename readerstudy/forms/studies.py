"""Forms of a study beside its design, and those of its readers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext, override
from django.utils.translation import gettext_lazy as _

from annotation.case.kernels.display import DisplayUsed
from annotation.forms import PlainForm
from annotation.forms.account import EmailField
from annotation.forms.people import WhomForm
from annotation.models import QuestionBank
from annotation.templatetags.pages import file_size
from readerstudy.analysis.kernels.labels import WORDS as SETTING_WORDS
from readerstudy.design.creating import next_free_name
from readerstudy.design.kernels.documents import TASK_LOAD
from readerstudy.enrolment.kernels.steps import MOST_FILMS, MOST_YEARS, Exposure, ReaderFacts, Training
from readerstudy.forms.drafts import DraftForm, PlainTimeField, SentFile, moment_in, text_field, words
from readerstudy.models import CaseSet, ReaderStudy
from readerstudy.predictions.looks import SHORTEST_REASON
from readerstudy.results.looking import DAYS

WORDS = {1: _("1 day"), 7: _("7 days"), 30: _("30 days")}


class StudyForm(DraftForm):
    name = forms.CharField(
        label=_("Name"), max_length=200, help_text=_("Readers see it, too: name no finding and no hypothesis.")
    )
    bank = forms.ModelChoiceField(
        label=_("Question bank"),
        queryset=QuestionBank.objects.filter(archived_at__isnull=True),
        to_field_name="slug",
        empty_label=None,
        help_text=_("From which the cases are taken. It cannot be changed later."),
    )


class CopyForm(DraftForm):
    name = forms.CharField(label=_("Name of the copy"), max_length=200)

    @classmethod
    def of(cls, study: ReaderStudy) -> CopyForm:
        return cls(initial={"name": next_free_name(study.name)})


class ShareForm(PlainForm):
    days = forms.TypedChoiceField(label=_("Works for"), choices=[(n, WORDS[n]) for n in DAYS], coerce=int, initial=7)
    note = text_field(_("For whom"), _("Only coordinators see this. It may stay empty."), most=200)


TLX = (  # Hart and Staveland 1988: each from 0 to 100, without weights
    (_("Mental demand"), _("How mentally demanding was it? 0: very low, 100: very high")),
    (_("Physical demand"), _("How physically demanding was it? 0: very low, 100: very high")),
    (_("Temporal demand"), _("How hurried was the pace? 0: very low, 100: very high")),
    (_("Performance"), _("How successful were you? 0: perfect, 100: failure")),
    (_("Effort"), _("How hard did you have to work? 0: very low, 100: very high")),
    (_("Frustration"), _("How discouraged, irritated or stressed were you? 0: very low, 100: very high")),
)


class ClosingForm(PlainForm):
    """What a reader may say after the last case: the questionnaire of the study, and remarks."""

    remarks = text_field(_("Remarks on the study"), most=5000, rows=3)

    def __init__(self, questionnaire: Iterable[str], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for line in questionnaire:
            if line == TASK_LOAD:
                for label, sentence in TLX:
                    self._ask(forms.IntegerField(label=label, help_text=sentence, min_value=0, max_value=100))
            else:
                self._ask(forms.CharField(label=line, max_length=2000, widget=forms.Textarea(attrs={"rows": 2})))
        self.fields["remarks"] = self.fields.pop("remarks")  # the last one

    def _ask(self, field: forms.Field) -> None:
        field.required = False
        self.fields[f"question_{len(self.fields)}"] = field

    def closing(self) -> dict[str, Any]:
        """Of a valid form: what was said, each answer beside its question; scales by their English names."""
        with override("en"):
            said = {
                str(self.fields[name].label): value for name, value in self.cleaned_data.items() if name != "remarks"
            }
        given = {"answers": {label: value for label, value in said.items() if value not in {"", None}}}
        return {name: value for name, value in {**given, "remarks": self.cleaned_data["remarks"]}.items() if value}


class CoordinatorForm(PlainForm):
    email = EmailField(label=_("E-mail of the coordinator"))


class FreezeForm(PlainForm):
    read_elsewhere = forms.BooleanField(
        required=False, help_text="its readings are imported, so that nobody misses images that are not here"
    )


# --- while readers read ---------------------------------------------------------------------------
class DeadlineForm(PlainForm):
    """A later deadline, as the clocks of the study's own time zone show it."""

    deadline = PlainTimeField(label=_("New deadline"))

    def __init__(self, study: ReaderStudy, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone = study.time_zone
        self.fields["deadline"].help_text = _("in %(zone)s") % {"zone": study.time_zone}

    def clean_deadline(self) -> datetime:
        """What was typed, meant in the zone of the study."""
        return moment_in(self.zone, self.cleaned_data["deadline"])


class ReasonForm(PlainForm):
    reason = forms.CharField(label=_("Reason"), max_length=1000, widget=forms.Textarea(attrs={"rows": 2}))


def _otherwise(name: str) -> list[tuple[str, Any]]:
    """The first word is that of the plan."""
    words = [word for setting, word in SETTING_WORDS if setting == name]
    return [("", _("as planned")), *((word, SETTING_WORDS[name, word]) for word in words[1:])]


class SensitivityForm(PlainForm):
    """Settings that are not those of the plan; none: the study's own analysis."""

    failed_in_accuracy = forms.ChoiceField(
        label=_("Accuracy"), choices=_otherwise("failed_in_accuracy"), required=False
    )
    failed_in_agreement = forms.ChoiceField(
        label=_("Agreement"), choices=_otherwise("failed_in_agreement"), required=False
    )

    def others(self) -> dict[str, str]:
        """Of a valid form."""
        return {name: word for name, word in self.cleaned_data.items() if word}


class GlassForm(ReasonForm):
    """Why results are seen before closing."""

    reason = forms.CharField(
        label=_("Why the results must be seen now"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2, "minlength": SHORTEST_REASON}),
        help_text=_("At least %(n)s characters. It is kept and stays on the pages of the study.")
        % {"n": SHORTEST_REASON},
    )


class ReplaceForm(ReasonForm):
    """Why a reader is replaced, and who comes instead."""

    email = EmailField(label=_("E-mail of the successor"), required=False)
    name = forms.CharField(label=_("Name of the successor"), max_length=200, required=False)


class VoidForm(ReasonForm):
    """One case of the study, and why it is left out."""

    case = forms.IntegerField(label=_("Case"), min_value=1)
    field_order = ["case", "reason"]


class RereviewForm(PlainForm):
    threshold = forms.IntegerField(
        label=_("Missed by at least, %"),
        min_value=1,
        max_value=100,
        initial=50,
        help_text=_("of the readers who answered the case; cases with fewer than two answers are left out."),
    )
    name = forms.CharField(label=_("Name of the round"), max_length=200)


# --- a file of readings that were made elsewhere --------------------------------------------------
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
            "Columns case and reason. Only with the first readings: a case voided later has the date of its voiding."
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


class CaseSetChoice(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: CaseSet) -> str:
        return obj.name


class ReaderInvitationForm(WhomForm):
    """Whom to ask to read."""

    case_set = CaseSetChoice(label=_("Cases"), queryset=CaseSet.objects.none(), empty_label=None)

    def __init__(self, study: ReaderStudy, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sets = study.sets.order_by("number")
        field = self.fields["case_set"]
        assert isinstance(field, CaseSetChoice)
        field.queryset = sets
        if len(sets) == 1:
            field.required, field.widget = False, forms.HiddenInput()
        self.only_set = sets[0] if len(sets) == 1 else None

    def clean_case_set(self) -> CaseSet | None:
        return self.only_set or self.cleaned_data["case_set"]


class FactsForm(PlainForm):
    """What a paper must report of each reader."""

    training = forms.ChoiceField(label=_("Training"), choices=words(Training), widget=forms.RadioSelect)
    years = forms.IntegerField(
        label=_("Years of experience reading chest radiographs"), min_value=0, max_value=MOST_YEARS
    )
    chest_fellowship = forms.ChoiceField(
        label=_("Fellowship in chest imaging"), choices=(("yes", _("yes")), ("no", _("no"))), widget=forms.RadioSelect
    )
    films_per_week = forms.IntegerField(
        label=_("Chest radiographs that you read in a typical week"), min_value=0, max_value=MOST_FILMS
    )
    display = forms.ChoiceField(
        label=_("Display on which you will read"), choices=words(DisplayUsed), widget=forms.RadioSelect
    )
    exposure = forms.ChoiceField(
        label=_("Have you seen questions or images of this study before?"),
        choices=words(Exposure),
        widget=forms.RadioSelect,
    )
    exposure_text = text_field(_("If you have: where, and how many?"), most=500, rows=2)

    def facts(self) -> ReaderFacts:
        """The answers, after is_valid()."""
        data = self.cleaned_data
        return ReaderFacts(**{**data, "chest_fellowship": data["chest_fellowship"] == "yes"})

    @classmethod
    def of(cls, stored: dict[str, Any]) -> FactsForm:
        if not stored:
            return cls()
        return cls(initial={**stored, "chest_fellowship": "yes" if stored.get("chest_fellowship") else "no"})
