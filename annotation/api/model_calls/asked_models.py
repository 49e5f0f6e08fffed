"""What all runs share that ask a model: what a program says before, what it confirms, and how far the calls are."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.api.bodies import BodyRefused, SentBody
from annotation.api.resources import Resource, Shown
from annotation.api.shown_fields import Moment, WordChoice
from annotation.call_enums import BatchState, PromptPurpose
from annotation.model_calls.tallies import CallTally
from annotation.models import CallBatch, PromptVersion
from annotation.models.endpoints import LONGEST_ENDPOINT, LONGEST_MODEL


class AskingSent(SentBody):
    endpoint = serializers.CharField(max_length=LONGEST_ENDPOINT, help_text="its name")
    model = serializers.CharField(
        max_length=LONGEST_MODEL, default="", allow_blank=True, help_text="as the endpoint calls it; empty: its own"
    )
    cap = serializers.DecimalField(
        max_digits=12,
        decimal_places=4,
        default=None,
        allow_null=True,
        help_text="most that it may cost, in the currency of the price: it pauses before it costs more",
    )
    temperature = serializers.FloatField(
        min_value=0, max_value=2, default=0, allow_null=True, help_text="null: not sent"
    )


class ConfirmedSent(SentBody):
    confirmed_calls = serializers.IntegerField(
        min_value=0, max_value=999_999_999, default=0, help_text="how many calls are made at most; 409 tells it"
    )


def check_confirmed(confirmed_calls: int, n_calls: int) -> None:
    """Nothing is sent to a model before a program has stated how much. Raises BodyRefused."""
    if confirmed_calls != n_calls:
        sentence = _("%(n)s calls of the model are planned. Nothing was sent: send this number to confirm.")
        raise BodyRefused("not_confirmed", sentence % {"n": n_calls}, status=409, n=n_calls)


def prompt_chosen(field: str, public_id: str | None, *purposes: PromptPurpose) -> PromptVersion | None:
    """None: that of the program. Raises ValidationError where there is none of this id for this purpose."""
    if not public_id:
        return None
    found = PromptVersion.objects.filter(public_id=public_id, purpose__in=purposes).first()
    if found is None:
        raise serializers.ValidationError({field: [_("There is no prompt of this id for this purpose.")]})
    return found


class CallsShape(Shown):
    """Calls that belong together: of one model, with one prompt, under one permission."""

    id = serializers.CharField(source="batch.public_id")
    purpose = WordChoice(PromptPurpose, source="batch.purpose")
    endpoint = serializers.CharField(source="batch.endpoint")
    model = serializers.CharField(source="batch.model")
    prompt = serializers.CharField(source="batch.prompt")
    state = WordChoice(BatchState, source="batch.state")
    paused_because = serializers.CharField(source="batch.paused_because")
    n_calls = serializers.IntegerField(source="batch.n_calls")
    n_done = serializers.IntegerField(source="tally.n_done", help_text="with an answer of the model")
    n_sent = serializers.IntegerField(source="tally.n_sent")
    n_asked_twice = serializers.IntegerField(source="tally.n_asked_twice", help_text="perhaps paid twice")
    input_tokens = serializers.IntegerField(source="tally.n_input")
    output_tokens = serializers.IntegerField(source="tally.n_output")
    cost = serializers.DecimalField(max_digits=24, decimal_places=8, source="tally.cost")
    currency = serializers.CharField(
        source="batch.price.currency", default=None, allow_null=True, help_text="null: no price is known"
    )
    cap = serializers.DecimalField(max_digits=12, decimal_places=4, source="batch.cap", allow_null=True)
    started_at = Moment(source="batch.started_at", allow_null=True)
    finished_at = Moment(source="batch.finished_at", allow_null=True)


def calls_shown(batch: CallBatch, tally: CallTally) -> dict[str, Any]:
    """As CallsShape reads it."""
    return {"batch": batch, "tally": tally}


class OfNoPlace(Resource):
    """What belongs to no bank, round or study: tokens of every place read it."""

    reach = None

    def check_is_session(self) -> None:
        """Raises PermissionDenied for a token, where something changes for the whole site."""
        if self.person.limits is not None:
            raise PermissionDenied(
                _("This belongs to the whole site: log in to change it. A token is good in one place only.")
            )
