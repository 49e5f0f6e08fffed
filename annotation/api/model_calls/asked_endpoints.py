"""Model endpoints as programs see them, and what all runs share that ask a model: said before, confirmed, followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import BodyRefused, Moment, PersonName, SentBody, WordChoice
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.audit.recording import lock_log
from annotation.call_enums import BatchState, EndpointPlace, ProbeAnswer, PromptPurpose
from annotation.endpoints.configured_endpoints import endpoint_named, set_price
from annotation.enums import Role
from annotation.model_calls.probing import EndpointLine, ask_for_probe, endpoint_lines, probe_jobs
from annotation.models import EndpointProbe, Price, PromptVersion
from annotation.models.calls import LONGEST_ENDPOINT, LONGEST_MODEL
from annotation.people.kept_answers import MadeAnswer


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


class CallPlanShape(Shown):
    calls = serializers.IntegerField()
    endpoint = serializers.CharField()
    model = serializers.CharField()
    permission = serializers.CharField()
    permission_until = serializers.CharField()
    price = serializers.CharField(allow_null=True)
    cap = serializers.CharField(allow_null=True)


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


class OfNoPlace(Resource):
    """What belongs to no bank, round or study: tokens of every place read it."""

    reach = None

    def check_is_session(self) -> None:
        """Raises PermissionDenied for a token, where something changes for the whole site."""
        if self.person.limits is not None:
            raise PermissionDenied(
                _("This belongs to the whole site: log in to change it. A token is good in one place only.")
            )


READERS: tuple[Role, ...] = (Role.ADMINISTRATOR, Role.COORDINATOR)
WRITERS: tuple[Role, ...] = (Role.ADMINISTRATOR,)


class PriceShape(Shown):
    model = serializers.CharField()
    currency = serializers.CharField()
    per_million_input = serializers.DecimalField(max_digits=12, decimal_places=4)
    per_million_cached = serializers.DecimalField(max_digits=12, decimal_places=4)
    per_million_output = serializers.DecimalField(max_digits=12, decimal_places=4)
    valid_from = serializers.DateField()
    set_by = PersonName()
    set_at = Moment()


class ProbeFindingShape(Shown):
    code = serializers.CharField()
    state = WordChoice(ProbeAnswer)
    sentence = serializers.CharField()


class ProbeShape(Shown):
    id = serializers.CharField(source="public_id")
    model = serializers.CharField()
    findings = ProbeFindingShape(many=True)
    probed_by = PersonName()
    probed_at = Moment()


class EndpointShape(Shown):
    id = serializers.CharField(source="endpoint.name", help_text="its name")
    place = WordChoice(EndpointPlace, source="endpoint.place")
    model = serializers.CharField(help_text="where none is named, or the one that was probed last; empty: neither")
    has_key = serializers.BooleanField()
    calls_per_minute = serializers.IntegerField(source="endpoint.calls_per_minute", allow_null=True)
    tokens_per_minute = serializers.IntegerField(source="endpoint.tokens_per_minute", allow_null=True)
    probe = ProbeShape(allow_null=True, help_text="the newest")
    price = PriceShape(allow_null=True, help_text="of this model, today")


class OneEndpointShape(EndpointShape):
    is_being_probed = serializers.BooleanField()
    error = serializers.CharField(help_text="why the newest probe failed; empty: it did not")


class EndpointsShape(Shown):
    endpoints = EndpointShape(many=True)


class ModelEndpoints(OfNoPlace, OneOf[EndpointProbe]):
    """All endpoints that whoever runs the server has named, in the order of the settings. No key is shown."""

    roles = READERS
    shape = EndpointsShape
    summary = "List model endpoints"

    def get(self, request: Request, **named: Any) -> Response:
        return self.conditional(self.shown({"endpoints": endpoint_lines(timezone.localdate())}, self.only()))


class OneModelEndpoint(OfNoPlace, OneOf[EndpointProbe]):
    """One endpoint, with the findings of the newest probe."""

    roles, writers = READERS, WRITERS
    shape = OneEndpointShape
    summary = "Read one model endpoint"

    def lock(self) -> None:
        lock_log()  # there is no row

    def get(self, request: Request, **named: Any) -> Response:
        return self.conditional(self.shown(named["name"], self.only()))

    def shown(self, row: Any, only: Sequence[str] | None = None) -> Any:
        endpoint = endpoint_named(row)
        line: EndpointLine = next(one for one in endpoint_lines(timezone.localdate()) if one.endpoint == endpoint)
        under_way, failed = probe_jobs(endpoint)
        facts = {name: getattr(line, name) for name in ("endpoint", "model", "has_key", "probe", "price")}
        facts |= {"is_being_probed": under_way is not None, "error": failed.error if failed else ""}
        return super().shown(facts, only)


class ProbeSent(SentBody):
    model = serializers.CharField(max_length=LONGEST_MODEL, default="", allow_blank=True)


class ProbeEndpoint(OnlyPost, OneModelEndpoint):
    """202: a job finds out in three short chats what the model can do. One that waits or runs already is enough.
    Of sessions of administrators alone.
    """

    body = ProbeSent
    makes, status = True, 202
    summary = "Probe a model endpoint"

    def post(self, request: Request, **named: Any) -> Response:
        self.check_is_session()
        endpoint, sent = endpoint_named(named["name"]), self.sent(ProbeSent)

        def ask() -> MadeAnswer:
            ask_for_probe(endpoint, sent["model"], **self.by())
            return self.made(endpoint.name, "api-model-endpoint", endpoint.name)

        return self.once(ask)


class PriceSent(SentBody):
    model = serializers.CharField(max_length=LONGEST_MODEL)
    currency = serializers.CharField(max_length=3, help_text="EUR, USD")
    per_million_input = serializers.DecimalField(max_digits=12, decimal_places=4, min_value=0)
    per_million_cached = serializers.DecimalField(
        max_digits=12, decimal_places=4, min_value=0, required=False, help_text="not sent: as input tokens"
    )
    per_million_output = serializers.DecimalField(max_digits=12, decimal_places=4, min_value=0)
    valid_from = serializers.DateField()


class EndpointPrices(OfNoPlace, ListOf[Price]):
    """What models cost at an endpoint, each from a day on. A POST keeps another one; of sessions of administrators."""

    roles, writers = READERS, WRITERS
    shape, body = PriceShape, PriceSent
    makes, status = True, 201
    summary, post_summary = "List prices of an endpoint", "Set a price"

    def rows(self) -> QuerySet[Price]:
        return Price.objects.filter(endpoint=endpoint_named(self.kwargs["name"]).name).select_related("set_by")

    def post(self, request: Request, **named: Any) -> Response:
        self.check_is_session()
        endpoint, sent = endpoint_named(named["name"]), self.sent(PriceSent)
        sent.setdefault("per_million_cached", sent["per_million_input"])
        return self.once(lambda: self.made(set_price(endpoint.name, **sent, **self.by())))
