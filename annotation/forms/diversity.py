"""Which model is asked for vectors of questions, who judges pairs, and where the threshold lies; and the same of
classifiers, with their labelled sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.endpoints.configured_endpoints import endpoints
from annotation.forms import PlainForm, seed_field
from annotation.models import Embedding
from annotation.models.quality import FOLDER
from annotation.questionbank.kernels.question_checks import PARTS
from annotation.validators.classifying import RULE_OF
from annotation.validators.folder_models import CLASSIFIERS, EMBEDDINGS, folders
from annotation.validators.judging_pairs import LONGEST_REASON, possible_judges


def _sources() -> Iterator[tuple[str, str]]:
    here = gettext("folder of this server: nothing is sent")
    yield from ((FOLDER + name, f"{name} ({here})") for name in folders(EMBEDDINGS))
    yield from ((one.name, f"{one.name} ({gettext(one.place.label)})") for one in endpoints())


class EmbeddingForm(PlainForm):
    """An endpoint, or a folder of this server."""

    endpoint = forms.ChoiceField(label=_("Endpoint or folder"), choices=lambda: list(_sources()))
    model = forms.CharField(
        label=_("Embedding model at the endpoint"),
        max_length=200,
        required=False,
        help_text=_("Empty: as whoever runs the server has set it. A folder holds one model."),
    )


class PairTrialForm(PlainForm):
    """Only embeddings that have a vector of every question."""

    embedding = forms.ModelChoiceField(label=_("Embedding"), queryset=Embedding.objects.none())
    first = forms.ModelChoiceField(label=_("One person"), queryset=possible_judges())
    second = forms.ModelChoiceField(label=_("The other person"), queryset=possible_judges())
    seed = seed_field()

    def __init__(self, embeddings: QuerySet[Embedding], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer_rows("embedding", embeddings)


class ThresholdForm(PlainForm):
    threshold = forms.FloatField(label=_("Threshold"), min_value=0, max_value=1)
    reason = forms.CharField(label=_("Why there"), max_length=LONGEST_REASON)


# --- classifiers --------------------------------------------------------------------------------------
class ClassifyForm(PlainForm):
    """A folder of this server, and a file where it is to be tried."""

    folder = forms.ChoiceField(label=_("Classifier"), choices=lambda: [(name, name) for name in folders(CLASSIFIERS)])
    labelled = forms.FileField(
        label=_("Labelled set"),
        required=False,
        help_text=_(
            "Optional. CSV, XLSX or Parquet with the columns text (or question: its number) and label: a class, "
            "several with “;” between them, or empty for none. Texts are deleted once they are scored."
        ),
    )


class ClassThresholdForm(PlainForm):
    label = forms.CharField(widget=forms.HiddenInput, max_length=60)
    part = forms.ChoiceField(
        label=_("A question of this class fails"),
        choices=[("", "…"), *((one, _(PARTS[one].label)) for one in RULE_OF)],
    )
    threshold = forms.FloatField(label=_("From this probability on"), min_value=0, max_value=1)
