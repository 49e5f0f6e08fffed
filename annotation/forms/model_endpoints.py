"""Forms about models at work: endpoints, prices, permissions, prompts, and runs."""

from __future__ import annotations

from datetime import date, datetime
from io import BytesIO
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import PromptPurpose, ReportSource
from annotation.endpoints.configured_endpoints import endpoints
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.sending_permissions import LONGEST_WORDS
from annotation.forms import PlainForm, seed_field
from annotation.generation.generation_plans import GenerationWanted, generation_wanted
from annotation.generation.kernels.answer_forms import MOST_QUESTIONS
from annotation.generation.kernels.sent_reports import MOST_REPORTS, SentReports, sent_file, sent_values
from annotation.generation.report_sources import GenerationRefused
from annotation.model_calls.kernels.filling import KNOWN, LONGEST_SCHEMA
from annotation.model_calls.versions import (
    COPIED,
    LONGEST_NAME,
    LONGEST_REASON,
    LONGEST_TEXT,
    PROMPT_IMAGES,
    prompts_for,
)
from annotation.models import PromptVersion, QuestionBank
from annotation.models.calls import LONGEST_MODEL
from annotation.questionbank.bank_life import LONGEST_TERMS
from annotation.questionbank.kernels.question_checks import GATED, JUDGED, PARTS, RATING
from annotation.site.sentences import end_of_day
from annotation.validators.validator_plans import ALL, CheckWanted, checks_wanted

MOST_BROUGHT = 2_000_000  # bytes of a file's reports, which a page brings back
MOST_READ = 10_000_000  # bytes of a file of reports that a page reads


class ProbeForm(PlainForm):
    model = forms.CharField(
        label=_("Model"),
        max_length=LONGEST_MODEL,
        help_text=_("As the endpoint calls it."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


def _label_of(endpoint: Endpoint) -> str:
    place = gettext(endpoint.place.label)
    return f"{endpoint.name} ({place}{', ' + endpoint.model if endpoint.model else ''})"


class AskingForm(PlainForm):
    """An endpoint and the settings of its model; subclasses say what is asked, and in which order the fields come."""

    endpoint = forms.ChoiceField(
        label=_("Endpoint"), choices=lambda: [(one.name, _label_of(one)) for one in endpoints()]
    )
    model = forms.CharField(
        label=_("Model at the endpoint"),
        max_length=LONGEST_MODEL,
        required=False,
        help_text=_("As the endpoint calls it; empty: as whoever runs the server has set it."),
    )
    cap = forms.DecimalField(
        label=_("Most that it may cost"),
        required=False,
        max_digits=12,
        decimal_places=4,
        help_text=_("In the currency of the price. It pauses before it costs more."),
    )
    temperature = forms.FloatField(
        label=_("Temperature"), required=False, min_value=0, max_value=2, initial=0, help_text=_("Empty: not sent.")
    )


class PriceForm(PlainForm):
    model = forms.CharField(label=_("Model"), max_length=LONGEST_MODEL)
    currency = forms.CharField(label=_("Currency"), max_length=3, help_text=_("EUR, USD"))
    per_million_input = forms.DecimalField(label=_("Per million input tokens"))
    per_million_cached = forms.DecimalField(
        label=_("Of them cached"), required=False, help_text=_("As input tokens where it is empty.")
    )
    per_million_output = forms.DecimalField(label=_("Per million output tokens"))
    valid_from = forms.DateField(
        label=_("Valid from"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("per_million_cached") is None and "per_million_cached" not in self.errors:
            data["per_million_cached"] = data.get("per_million_input")
        return data


class TermsForm(PlainForm):
    """What the source of a bank asks of whoever uses it, and how its images came."""

    terms = forms.CharField(
        label=_("Terms of use"),
        required=False,
        max_length=LONGEST_TERMS,
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text=_(
            "The words of the licence or agreement. Whoever permits to send to an endpoint outside accepts them."
        ),
    )
    holds_quarters = forms.BooleanField(
        label=_("The images have a quarter of their first width and height"),
        required=False,
        help_text=_("They are then sent to models as they are, also where a run asks for a quarter."),
    )

    is_public = forms.BooleanField(
        label=_("Its questions are public"),
        required=False,
        help_text=_("A model may have learned them. Questions of other banks are then compared with them."),
    )

    @classmethod
    def of(cls, bank: QuestionBank) -> TermsForm:
        return cls(initial={name: getattr(bank, name) for name in ("terms", "holds_quarters", "is_public")})


class PermissionForm(PlainForm):
    """``terms_shown`` comes back from the page as it was read, so that other terms in between are noticed."""

    endpoint = forms.ChoiceField(
        label=_("Endpoint"),
        choices=lambda: [(one.name, f"{one.name} ({gettext(one.place.label)})") for one in endpoints()],
        help_text=_("Whoever runs the server names the endpoints, and where each one is."),
    )
    questions = forms.BooleanField(label=_("Questions with their options"), required=False)
    images = forms.BooleanField(
        label=_("Images, de-identified"),
        required=False,
        help_text=_("With questions only. PhysioNet (notice of 24 September 2025) strongly recommends local models."),
    )
    reports = forms.BooleanField(
        label=_("Reports"),
        required=False,
        help_text=_("Without questions: models may write questions from the reports."),
    )
    reason = forms.CharField(label=_("Reason"), max_length=LONGEST_WORDS, widget=forms.Textarea(attrs={"rows": 2}))
    agreement = forms.CharField(
        label=_("Agreement"),
        max_length=LONGEST_WORDS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("The contract, approval or licence that it is based on, with its number or date."),
    )
    expires_at = forms.DateField(
        label=_("Valid until"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    accepted = forms.BooleanField(
        label=_("I have read these terms, and sending to this endpoint complies with them."), required=False
    )
    terms_shown = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, bank: QuestionBank, zone: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone = zone
        words = gettext("The end of this day in your time zone, %(zone)s; a year at most.")
        self.fields["expires_at"].help_text = words % {"zone": zone}
        if not bank.terms:
            del self.fields["accepted"]

    def clean_expires_at(self) -> datetime:
        day: date = self.cleaned_data["expires_at"]
        return end_of_day(day, self.zone)

    def given(self) -> dict[str, Any]:
        """As ``give_permission`` takes it, with the terms as they were read where they were accepted."""
        given = dict(self.cleaned_data)
        terms, is_accepted = given.pop("terms_shown"), given.pop("accepted", False)
        return {**given, "accepted_terms": terms if is_accepted else ""}


class TermsWithdrawalForm(PlainForm):
    because = forms.CharField(label=_("Reason"), max_length=LONGEST_WORDS, widget=forms.Textarea(attrs={"rows": 3}))


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
        kwargs.setdefault("initial", {name: getattr(parent, name) for name in COPIED} | {"reason": reason})
        super().__init__(*args, **kwargs)
        if reason:
            self.fields["reason"].widget.attrs["rows"] = 12
        known = KNOWN[PromptPurpose(parent.purpose)]
        self.offer("variables", [(name, f"{{{{{name}}}}}: {gettext(holds)}") for name, holds in known.items()])


def _prompt_field(label: Any, purpose: PromptPurpose) -> Any:
    return forms.ModelChoiceField(prompts_for(purpose), label=label, required=False, empty_label=_("of this program"))


_FIELDS_OF: dict[str, tuple[str, ...]] = {
    ReportSource.BANK: ("exams",),
    ReportSource.CHOSEN: ("chosen",),
    ReportSource.FILE: ("file",),
    ReportSource.PASTED: ("exam", "pasted"),
}


class GenerationForm(AskingForm):
    """``lines``: the reports of a file as JSON Lines, which the page brings back, so that it is sent once."""

    source = forms.ChoiceField(
        label=_("Reports"),
        required=False,
        widget=forms.RadioSelect,
        initial=ReportSource.BANK,
        choices=[
            (ReportSource.BANK, _("of the bank")),
            (ReportSource.CHOSEN, _("of chosen exams")),
            (ReportSource.FILE, _("in a file")),
            (ReportSource.PASTED, _("pasted")),
        ],
    )
    exams = forms.IntegerField(
        label=_("Exams"),
        min_value=1,
        max_value=MOST_REPORTS,
        required=False,
        help_text=_("So many are drawn from the bank by the seed, one report each. Empty: all."),
    )
    chosen = forms.CharField(
        label=_("Ids of exams"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "mono", "spellcheck": "false"}),
        help_text=_("As in the question file (study_id), one on each line; a link over filtered questions leads here."),
    )
    file = forms.FileField(
        label=_("File of reports"),
        required=False,
        allow_empty_file=True,
        help_text=_(
            "CSV, XLSX, JSON or JSON Lines with study_id and report, or Findings and Impression; or a ZIP of texts, "
            "each named by its exam."
        ),
    )
    pasted = forms.CharField(
        label=_("Report"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_("One report with the id of its exam; or several as CSV or JSON Lines, without."),
    )
    exam = forms.CharField(label=_("Exam of the pasted report"), max_length=1000, required=False)
    mask = forms.BooleanField(
        label=_("Mask what looks like an identifier"),
        required=False,
        help_text=_("The masked text is sent and kept. Otherwise its report is held back."),
    )
    lines = forms.CharField(required=False, widget=forms.HiddenInput, strip=False)
    file_name = forms.CharField(required=False, widget=forms.HiddenInput)
    per_exam = forms.IntegerField(
        label=_("Questions for each exam, at most"), min_value=1, max_value=MOST_QUESTIONS, initial=3
    )
    seed = seed_field(_("Of the draw of exams and of the letters of keys."))
    bullets_prompt = _prompt_field(_("Prompt for findings"), PromptPurpose.BULLETS)
    questions_prompt = _prompt_field(_("Prompt for questions"), PromptPurpose.QUESTIONS)
    field_order = (
        *("per_exam", "seed", "endpoint", "model", "bullets_prompt", "questions_prompt", "temperature", "cap", "mask"),
    )

    def sources(self) -> list[tuple[forms.boundfield.BoundWidget, list[forms.BoundField]]]:
        """Each way in which reports come, with the fields that are its own."""
        return [(one, [self[name] for name in _FIELDS_OF[one.data["value"]]]) for one in self["source"]]

    def others(self) -> list[forms.BoundField]:
        named = {"source", *(name for names in _FIELDS_OF.values() for name in names)}
        return [field for field in self.visible_fields() if field.name not in named]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        source = data["source"] = data.get("source") or ReportSource.BANK
        data["chosen"] = tuple(data.get("chosen", "").split()) if source == ReportSource.CHOSEN else ()
        needs = {
            ReportSource.CHOSEN: ("chosen", data["chosen"], _("Name the exams.")),
            ReportSource.FILE: ("file", data.get("file") or data.get("lines"), _("Choose the file of reports.")),
            ReportSource.PASTED: ("pasted", data.get("pasted"), _("Paste a report.")),
        }
        if source in needs:
            name, given, sentence = needs[source]
            if not given:
                self.add_error(name, sentence)
        return data

    def wanted(self, bank: QuestionBank) -> GenerationWanted:
        """Of a good form. Raises EndpointRefused where nobody says what the endpoint calls the model, FileRefused."""
        given = dict(self.cleaned_data)
        of_bank, n_exams, masks = given.pop("source") == ReportSource.BANK, given.pop("exams"), given.pop("mask")
        for name in ("file", "pasted", "exam", "lines", "file_name"):
            del given[name]
        given |= {"n_exams": n_exams if of_bank else None, "every_exam": of_bank and n_exams is None}
        return generation_wanted(bank, reports=self._sent(), masks=masks, **given)

    def _sent(self) -> SentReports | None:
        given = self.cleaned_data
        if given["source"] == ReportSource.PASTED:
            if given["exam"]:
                return sent_values([{"study_id": given["exam"], "report": given["pasted"]}])
            return sent_file(BytesIO(given["pasted"].encode(errors="replace")), "")
        if given["source"] != ReportSource.FILE:
            return None
        if given["file"] is None:
            return sent_file(BytesIO(given["lines"].encode(errors="replace")), given["file_name"])
        is_small = given["file"].size <= MOST_READ
        sent = sent_file(given["file"].file, given["file"].name, most=MOST_READ) if is_small else SentReports([])
        lines = sent.lines()
        if not is_small or len(lines.encode(errors="replace")) > MOST_BROUGHT:
            sentence = gettext(
                "The reports have more than %(n)s bytes. Send fewer, or use manage.py generate_questions."
            )
            raise GenerationRefused("too_large", sentence % {"n": f"{MOST_BROUGHT:,}"}, status=422, field="file")
        self.data = {**{name: self.data[name] for name in self.data}, "lines": lines, "file_name": sent.name}
        return sent


class ValidatorForm(AskingForm):
    """One validator, or all three."""

    check = forms.ChoiceField(
        label=_("Validator"),
        choices=[
            (ALL, _("c1, c2 and c3")),
            *((one, _(PARTS[one].label)) for one in JUDGED),
            (RATING, _("rating of difficulty")),
        ],
    )
    prompt = _prompt_field(_("Prompt"), PromptPurpose.CHECK)
    field_order = ("check", "endpoint", "model", "prompt", "cap", "temperature")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["model"].help_text = _(
            "Empty: as whoever runs the server has set it. Not the model that wrote the questions."
        )
        self.fields["cap"].help_text = _(
            "For each validator, in the currency of the price. It pauses before it costs more."
        )

    def wanted(self, bank: QuestionBank) -> list[CheckWanted]:
        """Of a good form. Raises Refused where nobody says what the endpoint calls the model."""
        return checks_wanted(bank, **self.cleaned_data)


class GateForm(PlainForm):
    name = forms.CharField(max_length=100, required=False, label=_("Name"))
    parts = forms.MultipleChoiceField(
        label=_("Every question has to pass these"),
        required=False,
        choices=[(code, _(PARTS[code].label)) for code in GATED],
        widget=forms.CheckboxSelectMultiple,
    )
