"""What people say of a model, of a file of its predictions, and of a run before it is planned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.forms.boundfield import BoundField
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import PromptPurpose, SentImages
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.forms import PlainForm, choices_of, seed_field
from annotation.forms.model_endpoints import AskingForm
from annotation.imaging.kernels.picture_policies import QUARTER
from annotation.model_calls.versions import prompts_for
from annotation.models import PromptVersion, QuestionBank, User
from annotation.templatetags.pages import file_size
from readerstudy.enums import FILE_FORMS, PredictionForm
from readerstudy.forms.drafts import SentFile, text_field
from readerstudy.model_runs.planning import LONGEST_NAME, LONGEST_VERSION, MOST_REPEATS, RunWanted, model_at
from readerstudy.models import ModelEntry
from readerstudy.predictions.entries import FIELDS
from readerstudy.predictions.graded_explanations import MOST_DRAWN, runs_to_grade
from readerstudy.predictions.kernels.records import FIRST, LAST, VOTED, without_hidden
from readerstudy.predictions.kernels.streamed_predictions import MOST_BYTES
from readerstudy.predictions.listing import Target

MOST_FILES = 30  # at once


class NamesModel(PlainForm):
    def clean_name(self) -> str:
        return visible_name(self.cleaned_data["name"])

    def clean_version(self) -> str:
        return visible_name(self.cleaned_data["version"])


class ModelForm(NamesModel):
    """One version of one model."""

    name = forms.CharField(label=_("Name"), max_length=200, help_text=_("As figures and tables call it."))
    version = text_field(_("Version"), _("Checkpoint, size or date of the service."), most=100)
    dated_on = forms.DateField(
        label=_("Date of the version"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    prompt = text_field(
        _("Prompt"), _("Word by word, with placeholders where question and options go."), most=50_000, rows=6
    )
    decoding = text_field(
        _("Decoding settings"),
        _("Temperature, sampling, most tokens, seed, images and their size."),
        most=10_000,
        rows=3,
    )
    link = forms.URLField(
        label=_("Link"),
        max_length=500,
        required=False,
        assume_scheme="https",
        help_text=_("Paper, model card or repository."),
    )

    @classmethod
    def of(cls, entry: ModelEntry) -> ModelForm:
        return cls(initial={name: getattr(entry, name) for name in FIELDS})

    def clean_link(self) -> str:
        link: str = self.cleaned_data["link"]
        if link and not link.startswith(("https://", "http://")):
            raise forms.ValidationError(_("A link starts with https:// or http://."))
        return link


class AnswersForm(PlainForm):
    """A file of answers to questions."""

    file = forms.FileField(label=_("File of predictions"), allow_empty_file=True)
    duplicates = forms.ChoiceField(
        label=_("Several answers to one question"),
        choices=(
            ("", _("refuse the file where they differ")),
            (FIRST, _("the first counts")),
            (LAST, _("the last counts")),
            (VOTED, _("the one that the harness chose counts")),
        ),
        required=False,
        help_text=_("The same answer again counts once in any case."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].help_text = gettext("JSON, JSON lines, CSV, TSV or XLSX, at most %(size)s.") % {
            "size": file_size(MOST_BYTES)
        }

    def clean_file(self) -> SentFile:
        file: SentFile = self.cleaned_data["file"]
        if (file.size or 0) > MOST_BYTES:
            raise forms.ValidationError(_("The file is too large. Split it."))
        return file


class PredictionsForm(AnswersForm):
    """A file of predictions, and what it is about."""

    field_order = ("file", "target", "form", "duplicates")
    target = forms.ChoiceField(label=_("Predictions for"))
    form = forms.TypedChoiceField(
        label=_("Form of the file"),
        choices=lambda: [
            ("", gettext("detect automatically")),
            *((form.value, gettext(form.label)) for form in FILE_FORMS),
        ],
        coerce=PredictionForm,
        empty_value=None,
        required=False,
        help_text=_("Found by the names of its fields, if you do not say."),
    )

    def __init__(self, targets: list[Target], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._targets = {target_value(target): target for target in targets}
        self.fields["target"] = forms.ChoiceField(label=_("Predictions for"), choices=target_choices(targets))

    def clean_target(self) -> Target:
        return self._targets[self.cleaned_data["target"]]


class ChosenFiles(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files at once."""

    widget = ChosenFiles

    def clean(self, data: Any, initial: Any = None) -> Any:
        sent = data if isinstance(data, list | tuple) else [data]
        return [super(FilesField, self).clean(one, initial) for one in sent or [None]]


class SeveralPredictionsForm(PredictionsForm):
    """Files of several models for the same study or bank."""

    predictions = FilesField(label=_("Files of predictions"), allow_empty_file=True)
    field_order = ("predictions", "target", "form", "duplicates")

    def __init__(self, targets: list[Target], *args: Any, **kwargs: Any) -> None:
        super().__init__(targets, *args, **kwargs)
        size = self.fields.pop("file").help_text
        self.fields["predictions"].help_text = gettext(
            "One file for each model, at most %(most)s: %(size)s A model is named by the column or field “model” of "
            "the first record, else, and for XLSX, by the name of the file (predictions_MedGemma.json: MedGemma). A "
            "name that is not listed becomes a new model."
        ) % {"most": MOST_FILES, "size": size}

    def clean_predictions(self) -> list[SentFile]:
        files: list[SentFile] = self.cleaned_data["predictions"]
        if len(files) > MOST_FILES:
            raise forms.ValidationError(_("These are too many files at once."))
        if any((one.size or 0) > MOST_BYTES for one in files):
            raise forms.ValidationError(_("The file is too large. Split it."))
        return files


def visible_name(name: str) -> str:
    """White space in one piece. Raises ValidationError for what figures and tables would not show, or reverse."""
    spaced = " ".join(name.split())
    if without_hidden(spaced) != spaced:
        raise forms.ValidationError(_("This holds characters that are not shown. Type it instead of pasting it."))
    return spaced


def target_value(target: Target) -> str:
    return f"{'study' if target.study else 'bank'}:{target.slug}"


def target_choices(targets: Iterable[Target]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Studies first, each group under its heading."""
    found = list(targets)
    grouped = [
        (gettext("Studies"), [(target_value(one), one.name) for one in found if one.study]),
        (gettext("Question banks"), [(target_value(one), one.name) for one in found if not one.study]),
    ]
    return [group for group in grouped if group[1]]


NEEDED = ("endpoint", "endpoint_model", "name", "target", "prompt")
GROUPS = (  # of settings that few change
    (_("How it is asked"), ("version", "images", "picture_policy", "n_orders", "n_repeats")),
    (_("Limits and settings"), ("cap", "temperature", "max_tokens", "seed")),
)


class PromptField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """Prompts that say which images go with them."""

    def label_from_instance(self, obj: PromptVersion) -> str:
        return gettext("%(prompt)s (images: %(images)s)") % {"prompt": obj, "images": obj.get_images_display()}


class ModelRunForm(NamesModel, AskingForm):
    """A run that is planned; nothing is sent by it."""

    model = None  # type: ignore[assignment]  # its name at the endpoint; figures know it by another
    endpoint_model = AskingForm.base_fields["model"]
    name = forms.CharField(
        label=_("Name in figures"), max_length=LONGEST_NAME, help_text=_("A model that is not listed is entered.")
    )
    version = text_field(
        _("Version"),
        _("Empty: of a new model, what the endpoint calls it. Another prompt or other images: another version."),
        most=LONGEST_VERSION,
    )
    target = forms.ChoiceField(label=_("Questions of"))
    prompt = PromptField(label=_("Prompt"), queryset=prompts_for(PromptPurpose.ANSWER), empty_label=None)
    images = forms.TypedChoiceField(
        label=_("Images"),
        choices=[("", _("as the prompt says")), *choices_of(SentImages)],
        coerce=SentImages,
        empty_value=None,
        required=False,
        help_text=_("Answers with those of the prompt, or with all, are published; with others they are compared."),
    )
    picture_policy = forms.CharField(
        label=_("Size of pictures"),
        max_length=32,
        initial=QUARTER,
        help_text=_("quarter-1: a quarter of width and height. stored-1: as stored. longest-1024-1: 1024 at most."),
    )
    n_orders = forms.TypedChoiceField(
        label=_("Orders of the options"),
        choices=((1, _("as in the bank")), (4, _("all four rotations"))),
        coerce=int,
        initial=1,
        help_text=_("Four rotations show whether the answer depends on the letter; only the order of the bank counts."),
    )
    n_repeats = forms.IntegerField(
        label=_("How often each question is asked"), min_value=1, max_value=MOST_REPEATS, initial=1
    )
    max_tokens = forms.IntegerField(
        label=_("Most tokens of an answer"),
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text=_("Empty: not sent."),
    )
    seed = seed_field(_("Of the questions that are asked first."))

    def __init__(self, targets: Sequence[Target], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._targets = {target_value(target): target for target in targets}
        self.offer("target", target_choices(targets))

    @property
    def needed(self) -> list[BoundField]:
        return [self[name] for name in NEEDED]

    @property
    def groups(self) -> Iterator[tuple[str, list[BoundField]]]:
        for title, names in GROUPS:
            yield str(title), [self[name] for name in names]

    @property
    def shows_groups(self) -> bool:
        """Whether something is wrong with one of those settings."""
        return bool(set(self.errors) - {*NEEDED, NON_FIELD_ERRORS})

    def wanted(self) -> RunWanted:
        """Of a good form. Raises Refused where nobody says what the endpoint calls the model."""
        sent = self.cleaned_data
        return RunWanted(
            name=sent["name"],
            version=sent["version"],
            target=self._targets[sent["target"]],
            endpoint=sent["endpoint"],
            model=model_at(sent["endpoint"], sent["endpoint_model"]),
            prompt=sent["prompt"],
            images=sent["images"],
            picture_policy=sent["picture_policy"],
            n_orders=sent["n_orders"],
            n_repeats=sent["n_repeats"],
            chat=ChatSettings(temperature=sent["temperature"], max_tokens=sent["max_tokens"]),
            cap=sent["cap"],
            seed=sent["seed"],
        )


class ExplanationsForm(PlainForm):
    """Which explanations are drawn to be graded."""

    runs = forms.MultipleChoiceField(label=_("Runs"), widget=forms.CheckboxSelectMultiple)
    n = forms.IntegerField(label=_("Explanations"), min_value=1, max_value=MOST_DRAWN, initial=60)
    seed = seed_field()
    name = forms.CharField(label=_("Name of the sample"), max_length=200)

    def __init__(self, bank: QuestionBank, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        runs = runs_to_grade(bank, person)
        words = gettext("%(model)s, run %(n)d on %(name)s")
        facts = ((one, {"model": one.entry, "n": one.number, "name": one.study or bank.name}) for one in runs)
        self.offer("runs", [(one.public_id, words % said) for one, said in facts])


class StartModelRunForm(PlainForm):
    accepts_unknown_cost = forms.BooleanField(required=False, help_text="start although nobody knows the cost")


class ModelRunCapForm(PlainForm):
    cap = forms.DecimalField(
        label=_("Most that it may cost"), max_digits=12, decimal_places=4, help_text=_("In the currency of the price.")
    )
