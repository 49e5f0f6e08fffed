"""Forms of the bank: what to look for, and what to import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.enums import Difficulty, QuestionState, Task
from annotation.exports.bank_export import BankChoice, Wordings
from annotation.exports.question_files import BankForm, forms_here
from annotation.exports.tables import ExportRefused
from annotation.forms import PlainForm, choices_of
from annotation.models import QuestionBank
from annotation.quality.kernels.rules import RULES
from annotation.questionbank.kernels.entries import read_difficulties
from annotation.questionbank.kernels.strictjson import BankRefused
from annotation.questionbank.listing import ANY, QuestionFilter
from annotation.questionbank.uploads import allowed_path
from annotation.templatetags.pages import file_size

if TYPE_CHECKING:
    SentFile = UploadedFile[bytes]
else:
    SentFile = UploadedFile


class QuestionSearchForm(forms.Form):
    """Filters of the question list; everything is optional."""

    q = forms.CharField(label=_("Words in the question"), max_length=100, required=False)
    task = forms.ChoiceField(label=_("Task"), required=False)
    category = forms.ChoiceField(label=_("Category"), required=False)
    difficulty = forms.ChoiceField(label=_("Difficulty"), required=False)
    state = forms.ChoiceField(label=_("State"), required=False)
    finding = forms.ChoiceField(label=_("Finding"), required=False)

    def __init__(self, *args: Any, categories: list[str], with_findings: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = [(word.value, gettext(word.label)) for word in Difficulty if word.value]
        every = [("", gettext("all"))]
        self._choices("task", every + [(task.value, gettext(task.label)) for task in Task])
        self._choices("category", every + [(name, name) for name in categories])
        self._choices("difficulty", [*every, *known, ("unknown", gettext("unknown"))])
        self._choices("state", every + [(state.value, gettext(state.label)) for state in QuestionState])
        self._choices(
            "finding",
            [
                ("", gettext("all questions")),
                (ANY, gettext("any finding")),
                *((r.code, r.label) for r in RULES.values()),
            ],
        )
        if not with_findings:  # they may tell the key
            del self.fields["finding"]

    def _choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        if isinstance(field, forms.ChoiceField):
            field.choices = choices

    def wanted(self) -> QuestionFilter:
        """The filter asked for; a field that makes no sense asks for nothing."""
        self.is_valid()
        given = self.cleaned_data
        return QuestionFilter(
            task=given.get("task", ""),
            category=given.get("category", ""),
            difficulty=given.get("difficulty", ""),
            text=given.get("q", "").strip(),
            state=given.get("state", ""),
            finding=given.get("finding", ""),
        )


class BankExportForm(PlainForm):
    """What to take out of a bank; without a state, every question."""

    form = forms.ChoiceField(label=_("Form"))
    revisions = forms.ChoiceField(label=_("Wording"), choices=choices_of(Wordings))
    state = forms.MultipleChoiceField(
        label=_("Only questions with the status"),
        choices=choices_of(QuestionState),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["form"]
        if isinstance(field, forms.ChoiceField):
            field.choices = [(form.value, gettext(form.label)) for form in forms_here()]

    def choice(self) -> BankChoice:
        """What is asked for. Raises ExportRefused for what there is none of."""
        if not self.is_valid():
            name, errors = next(iter(self.errors.items()))
            raise ExportRefused("unknown_choice", f"{self.fields[name].label}: {errors[0]}", status=422)
        given = self.cleaned_data
        states = tuple(QuestionState(state) for state in given["state"])
        return BankChoice(BankForm(given["form"]), states, Wordings(given["revisions"]))


class ImportForm(forms.Form):
    """A question file, sent or named on the server, and the bank it goes into."""

    file = forms.FileField(label=_("Question file"), required=False, allow_empty_file=True)
    path = forms.CharField(label=_("Or a path on the server"), max_length=1000, required=False)
    difficulty = forms.FileField(
        label=_("Difficulties (CSV, optional)"),
        required=False,
        help_text=_("Two columns: id, difficulty (easy, medium, hard)."),
    )
    bank = forms.CharField(
        label=_("Bank"),
        max_length=200,
        required=False,
        help_text=_("Existing bank: questions are added or updated. Leave empty to name it after the file."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        most = file_size(settings.UPLOAD_MAX_BYTES)
        self.fields["file"].help_text = _("JSON, JSON Lines, CSV, XLSX or Parquet, at most %(size)s.") % {"size": most}
        self.fields["bank"].widget.attrs["list"] = "banks"
        if not settings.SERVER_FOLDERS:
            del self.fields["path"]
        else:
            folders = ", ".join(map(str, settings.SERVER_FOLDERS))
            self.fields["path"].help_text = _("In one of the folders %(folders)s.") % {"folders": folders}

    def clean_file(self) -> SentFile | None:
        file: SentFile | None = self.cleaned_data["file"]
        if file is not None and (file.size or 0) > settings.UPLOAD_MAX_BYTES:
            limit = file_size(settings.UPLOAD_MAX_BYTES)
            raise forms.ValidationError(
                _("The file has %(size)s; the page takes %(limit)s. Use the command import_questions for it."),
                params={"size": file_size(file.size or 0), "limit": limit},
            )
        return file

    def clean_path(self) -> Path | None:
        text: str = self.cleaned_data["path"]
        if not text.strip():
            return None
        try:
            return allowed_path(text)
        except BankRefused as error:
            raise forms.ValidationError(str(error)) from None

    def clean_difficulty(self) -> SentFile | None:
        """Refused here already when it cannot be read, with the line."""
        file: SentFile | None = self.cleaned_data["difficulty"]
        if file is not None:
            try:
                read_difficulties(Path(file.temporary_file_path()))  # type: ignore[attr-defined]
            except BankRefused as error:
                raise forms.ValidationError(str(error)) from None
        return file

    def clean_bank(self) -> str:
        name = " ".join(self.cleaned_data["bank"].split())
        if QuestionBank.objects.filter(name=name, archived_at__isnull=False).exists():
            raise forms.ValidationError(_("This bank is archived. Bring it back first, or give another name."))
        return name

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if not self.errors and bool(given.get("file")) == bool(given.get("path")):
            self.add_error("file", _("Choose a question file, or name one on the server; one of the two."))
        source = given.get("file") or given.get("path")
        if source is not None and not given.get("bank"):
            given["bank"] = Path(str(source.name)).stem[:200]
        return given
