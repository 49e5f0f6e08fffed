"""What a coordinator says of a run of a model before it is planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.forms.boundfield import BoundField
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.call_enums import SentImages
from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.forms import PlainForm
from annotation.forms.model_endpoints import AskingForm
from annotation.imaging.kernels.picture_policies import QUARTER
from annotation.models import PromptVersion
from readerstudy.forms.models import target_choices, target_value, visible_name
from readerstudy.model_runs.planning import LONGEST_NAME, LONGEST_VERSION, MOST_REPEATS, RunWanted, model_at
from readerstudy.predictions.listing import Target

GROUPS = (
    (_("The model"), ("endpoint", "endpoint_model", "name", "version")),
    (_("What it is asked"), ("target", "prompt", "images", "picture_policy", "n_orders", "n_repeats")),
    (_("Limits and settings"), ("cap", "temperature", "max_tokens", "seed")),
)


class ModelRunForm(AskingForm):
    """A run that is planned; nothing is sent by it."""

    model = None  # type: ignore[assignment]  # its name at the endpoint; figures know it by another
    endpoint_model = AskingForm.base_fields["model"]
    name = forms.CharField(
        label=_("Name in figures"), max_length=LONGEST_NAME, help_text=_("A model that is not listed is entered.")
    )
    version = forms.CharField(label=_("Version"), max_length=LONGEST_VERSION, required=False)
    target = forms.ChoiceField(label=_("Questions of"))
    prompt = forms.ModelChoiceField(label=_("Prompt"), queryset=PromptVersion.objects.none(), empty_label=None)
    images = forms.TypedChoiceField(label=_("Images"), coerce=SentImages, empty_value=None, required=False)
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
    seed = forms.IntegerField(
        label=_("Seed"),
        initial=1,
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("Of the questions that are asked first."),
    )

    def __init__(self, targets: Sequence[Target], prompts: QuerySet[PromptVersion], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._targets = {target_value(target): target for target in targets}
        self.offer("target", target_choices(targets))
        words = [(one.value, gettext(one.label)) for one in SentImages]
        self.offer("images", [("", gettext("as the prompt says")), *words])
        self.offer_prompts("prompt", prompts)

    @property
    def groups(self) -> Iterator[tuple[str, list[BoundField]]]:
        for title, names in GROUPS:
            yield str(title), [self[name] for name in names]

    def clean_name(self) -> str:
        return visible_name(self.cleaned_data["name"])

    def clean_version(self) -> str:
        return visible_name(self.cleaned_data["version"])

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


class StartModelRunForm(PlainForm):
    accepts_unknown_cost = forms.BooleanField(required=False, help_text="start although nobody knows the cost")


class ModelRunCapForm(PlainForm):
    cap = forms.DecimalField(
        label=_("Most that it may cost"),
        max_digits=12,
        decimal_places=4,
        help_text=_("In the currency of the price."),
    )
