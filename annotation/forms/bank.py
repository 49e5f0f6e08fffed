"""Forms of the bank: what to look for, what to import, and the editor of a question."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.enums import Difficulty, OptionLetter, QuestionState, Split, Task
from annotation.exports.bank_contents import BankForm, forms_here
from annotation.exports.bank_export import GIVEN_OUT, BankChoice, Wordings
from annotation.exports.release_files import ImageSize
from annotation.exports.releases import ReleaseWanted
from annotation.forms import PlainForm, choices_of
from annotation.models import QuestionBank, User
from annotation.questionbank.editing import REASON_LIMIT
from annotation.questionbank.filters import BankSearch, bank_filters, filters_for
from annotation.questionbank.kernels.entries import BankRefused, read_difficulties
from annotation.questionbank.kernels.wording import IMAGES, LABELS, Wording
from annotation.questionbank.uploads import allowed_path, check_takes_questions
from annotation.site.sentences import number_written
from annotation.tables.writing import ExportRefused
from annotation.templatetags.pages import file_size

if TYPE_CHECKING:
    SentFile = UploadedFile[bytes]
else:
    SentFile = UploadedFile


class QuestionSearchForm(PlainForm):
    """Filters of the question list; everything is optional, and what makes no sense asks for nothing.

    ``offers_all``: also those that nobody asked for, so that a page can show their choices.
    """

    def __init__(self, data: Any, bank: QuestionBank, person: User, *, offers_all: bool = True) -> None:
        super().__init__(data)
        self.all = BankSearch(bank, {}, person)
        asked = self.all.asking({name: text for name, text in data.items() if name in bank_filters()})
        for one in filters_for(person):
            if not offers_all and one.name not in data:
                continue
            if one.choices is None:
                self.fields[one.name] = forms.CharField(label=one.label, max_length=100, required=False)
            elif choices := one.choices(asked):
                listed = [("", gettext("all")), *choices]
                self.fields[one.name] = forms.ChoiceField(label=one.label, choices=listed, required=False)

    @property
    def divisions(self) -> list[forms.BoundField]:
        """Of the chosen category."""
        return [self[name] for name in ("subcategory", "question_class") if name in self.fields]

    def search(self) -> BankSearch:
        """What is asked for."""
        self.is_valid()
        wanted = {name: value.strip() for name, value in self.cleaned_data.items() if value.strip()}
        return self.all.asking(wanted)

    def dropped(self) -> list[str]:
        """The filters that were sent with a value which means nothing, or nothing any more."""
        wanted = self.search().wanted
        return [name for name in bank_filters() if str(self.data.get(name, "")).strip() and name not in wanted]


class ChosenForm(QuestionSearchForm):
    """Which questions of the list a person selected, and what is to be done with them."""

    def __init__(self, data: Any, bank: QuestionBank, person: User) -> None:
        super().__init__(data, bank, person)
        titles = {
            "sample": gettext("Make a sample"),
            "round": gettext("Make a sample for a round"),
            "tag": gettext("Tag the questions"),
            "untag": gettext("Remove a tag from the questions"),
            "withdraw": gettext("Withdraw the questions"),
            "bring_back": gettext("Bring the questions back"),
        }
        self.act = data.get("act", "") if data.get("act") in titles else ""
        self.title = titles.get(self.act, gettext("Selected questions"))
        self.is_every = data.get("every") == "yes"
        self.name, self.reason, self.new_tag = self.text("name"), self.text("reason"), self.text("new_tag")
        self.words = self.reason if self.act == "withdraw" else self.new_tag

    def text(self, name: str) -> str:
        found: str = self.data.get(name, "")
        return " ".join(found.replace("\x00", "").split())

    def numbers(self) -> list[int]:
        sent = self.data.getlist("number")[:1000] if isinstance(self.data, QueryDict) else []
        return sorted({number for one in sent if (number := number_written(one)) is not None})


class BankExportForm(PlainForm):
    """What to take out of a bank; without a state, what does not stay back."""

    form = forms.ChoiceField(
        label=_("Form"), choices=lambda: [(form.value, gettext(form.label)) for form in forms_here()]
    )
    revisions = forms.ChoiceField(label=_("Wording"), choices=choices_of(Wordings))
    state = forms.MultipleChoiceField(
        label=_("Only questions with the status"),
        choices=choices_of(QuestionState),
        initial=list(GIVEN_OUT),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    only_valid = forms.BooleanField(label=_("Only what passes the gate of the bank"), required=False)

    def choice(self) -> BankChoice:
        """What is asked for. Raises ExportRefused for what there is none of."""
        if not self.is_valid():
            name, errors = next(iter(self.errors.items()))
            raise ExportRefused("unknown_choice", f"{self.fields[name].label}: {errors[0]}", status=422)
        given = self.cleaned_data
        states = tuple(QuestionState(state) for state in given["state"]) or GIVEN_OUT
        wordings = Wordings(given["revisions"])
        return BankChoice(BankForm(given["form"]), states, wordings, only_valid=given["only_valid"])


class ReleaseForm(PlainForm):
    """A release of a bank: its name, and the share of each split in percent."""

    name = forms.CharField(max_length=100, label=_("Name"))
    train = forms.IntegerField(min_value=0, max_value=100, initial=70, label=_("Train, percent"))
    valid = forms.IntegerField(min_value=0, max_value=100, initial=10, label=_("Valid, percent"))
    test = forms.IntegerField(min_value=0, max_value=100, initial=10, label=_("Test, percent"))
    private = forms.IntegerField(min_value=0, max_value=100, initial=10, label=_("Private, percent"))
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, initial=0, label=_("Seed"))
    as_imported = forms.BooleanField(required=False, label=_("Splits as imported, in place of drawing"))

    def wanted(self, bank: QuestionBank) -> ReleaseWanted:
        data = self.cleaned_data
        return ReleaseWanted(
            bank, data["name"], {split: data[split.value] for split in Split}, data["seed"], data["as_imported"]
        )


class PackedForm(PlainForm):
    """In which size the images of a release are wanted."""

    images = forms.ChoiceField(choices=choices_of(ImageSize), label=_("Images"))


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
        self.fields["file"].help_text = _(
            "JSON, JSON Lines, CSV, XLSX or Parquet, or a ZIP of these with images, at most %(size)s."
        ) % {"size": most}
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
        try:
            check_takes_questions(name)
        except BankRefused as error:
            raise forms.ValidationError(str(error)) from None
        return name

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if not self.errors and bool(given.get("file")) == bool(given.get("path")):
            one_of_two = _("Choose a file or name one on the server, not both.")
            self.add_error("file", one_of_two if "path" in self.fields else _("Choose a question file."))
        source = given.get("file") or given.get("path")
        if source is not None and not given.get("bank"):
            given["bank"] = Path(str(source.name)).stem[:200]
        return given


class TextArea(forms.CharField):
    """A text as it was typed, with the line ends of the database."""

    def __init__(self, rows: int, **options: Any) -> None:
        super().__init__(strip=False, required=False, widget=forms.Textarea(attrs={"rows": rows}), **options)

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        return text.replace("\r\n", "\n")


class RevisionForm(PlainForm):
    """The images that count, one field for each of Wording.texts, the reason, and the revision that is edited.

    ``images``: labels of those of the exam, by public id.
    """

    based_on = forms.IntegerField(widget=forms.HiddenInput)
    images = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    images_shown = forms.MultipleChoiceField(required=False, widget=forms.MultipleHiddenInput)
    stem = TextArea(3)
    option_a = TextArea(1)
    option_b = TextArea(1)
    option_c = TextArea(1)
    option_d = TextArea(1)
    key = forms.ChoiceField(choices=choices_of(OptionLetter))
    explanation = TextArea(5)
    task = forms.ChoiceField(choices=choices_of(Task))
    category = forms.CharField(required=False)
    subcategory = forms.CharField(required=False)
    question_class = forms.CharField(required=False)
    difficulty = forms.ChoiceField(choices=choices_of(Difficulty), required=False)
    reason = forms.CharField(
        label=_("Reason for the change"),
        max_length=REASON_LIMIT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("It stays with the revision: in the history of the question and in the list of changes."),
    )

    def __init__(self, *args: Any, images: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.image_labels = images
        for name, label in LABELS.items():
            self.fields[name].label = _(label)
        for name in (IMAGES, "images_shown"):
            self.offer(name, list(images.items()))
        if len(images) < 2:  # nothing is asked: it counts
            del self.fields["images_shown"]

    @classmethod
    def of(cls, wording: Wording, number: int, images: Mapping[str, str]) -> RevisionForm:
        counting = [one for one in images if one not in wording.left_out]
        initial = {**wording.texts(), IMAGES: counting, "images_shown": list(images), "based_on": number}
        return cls(initial=initial, images=images)

    def texts(self) -> dict[str, str]:
        """What was typed, by the names of Wording.texts."""
        return {name: self.cleaned_data[name] for name in LABELS if name != IMAGES}

    def left_out(self, before: frozenset[str]) -> frozenset[str]:
        """The images that do not count; of one that the page did not show it stays as it was ``before``."""
        shown = frozenset(self.cleaned_data.get("images_shown", ()))
        return before - shown | shown.difference(self.cleaned_data[IMAGES])
