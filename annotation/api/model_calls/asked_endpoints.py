"""Model endpoints: where they are, what probes found out, what their models cost; probed and priced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody
from annotation.api.model_calls.asked_models import OfNoPlace
from annotation.api.resources import ListOf, OneOf, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.audit.recording import lock_log
from annotation.call_enums import EndpointPlace, ProbeAnswer
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.endpoints.endpoint_overview import EndpointLine, endpoint_lines, probe_jobs
from annotation.endpoints.prices import set_price
from annotation.endpoints.probing import ask_for_probe
from annotation.enums import Role
from annotation.models import EndpointProbe, Price
from annotation.models.endpoints import LONGEST_MODEL
from annotation.people.kept_answers import MadeAnswer

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


class ProbeEndpoint(OneModelEndpoint):
    """202: a job finds out in three short chats what the model can do. One that waits or runs already is enough.
    Of sessions of administrators alone.
    """

    http_method_names = ["post"]
    body = ProbeSent
    makes, status = True, 202
    summary = "Probe a model endpoint"

    def post(self, request: Request, **named: Any) -> Response:
        self.check_is_session()
        endpoint, sent = endpoint_named(named["name"]), self.sent(ProbeSent)

        def ask() -> MadeAnswer:
            ask_for_probe(endpoint, sent["model"], **self.by())
            return MadeAnswer(202, self.shown(endpoint.name), reverse("api-model-endpoint", args=[endpoint.name]))

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
        return self.once(lambda: MadeAnswer(201, self.shown(set_price(endpoint.name, **sent, **self.by()))))
