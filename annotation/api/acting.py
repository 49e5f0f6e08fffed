"""The addresses of declared acts: a POST to the thing, which is answered with the thing as it is afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar

from django import forms
from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.acts import Act
from annotation.api.bodies import Moment, SentBody, cleaned
from annotation.api.resources import OneOf, OnlyPost, Resource
from annotation.people.kept_answers import MadeAnswer


class ActedOn(OnlyPost):
    """An act, listed before the class that finds its thing."""

    act: ClassVar[type[Act[Any]]]
    body: ClassVar[type[SentBody] | None]

    def post(self, request: Request, **named: Any) -> Response:
        act = self.act(self.act.find(self.person, **named), self.person)
        arguments, at = self.arguments(act), self.by()["at"]
        if self.makes:
            return self.once(lambda: MadeAnswer(self.status, self.answer(act.run(arguments, at))))
        return Response(self.answer(act.run(arguments, at)))

    def arguments(self, act: Act[Any]) -> dict[str, Any]:
        """Raises ValidationError with what the form says."""
        sent = self.sent(self.body) if self.body is not None else {}
        form = act.form_for({f"{act.prefix}-{name}" if act.prefix else name: sent[name] for name in sent})
        return act.arguments(cleaned(form)) if form is not None else sent

    def answer(self, result: Any) -> Any:
        assert isinstance(self, OneOf)
        return self.shown(self.one())


def resource_of(act: type[Act[Any]], *found: type[Resource], body: type[SentBody] | None = None) -> type[Resource]:
    """``found``: the class that finds the thing, and before it what answers otherwise. ``body``: what programs send,
    where it is not what the form of the page holds.
    """
    about: dict[str, Any] = {"act": act, "body": body or body_of(act.form), "summary": act.summary}
    if act.roles:
        about["writers"] = act.roles
    kinds: tuple[type[Resource], ...] = found if issubclass(found[0], ActedOn) else (ActedOn, *found)
    return type(act.__name__, kinds, {**about, "__doc__": act.__doc__, "__module__": act.__module__})


def api_paths(
    thing: str, acts: Iterable[type[Act[Any]]], found: type[Resource], **otherwise: type[Resource | SentBody]
) -> list[URLPattern]:
    """Of acts on the thing at this route. ``otherwise``: the resource of an act, or what programs send for it, by the
    name of its class.
    """
    paths = []
    for act in acts:
        given = otherwise.get(act.__name__)
        if given is None or issubclass(given, SentBody):
            given = resource_of(act, found, body=given)
        paths.append(path(f"{thing}{act.api_route or act.route}", given.as_view(), name=f"api-{act.name}"))
    return paths


@cache
def body_of(form: type[forms.Form] | None) -> type[SentBody] | None:
    """What programs send in place of a form: the same names and bounds, in JSON."""
    if form is None or not form.base_fields:
        return None
    fields = {name: _sent(one) for name, one in form.base_fields.items()}
    return type(f"{form.__name__.removesuffix('Form')}Sent", (SentBody,), {**fields, "__module__": form.__module__})


def _sent(field: forms.Field) -> serializers.Field[Any, Any, Any, Any]:
    about: dict[str, Any] = {"help_text": str(field.help_text) or None}
    if isinstance(field, forms.BooleanField):
        return serializers.BooleanField(default=False, **about)
    if isinstance(field, forms.MultipleChoiceField):
        child = serializers.ChoiceField(choices=list(field.choices))  # type: ignore[arg-type]
        return serializers.ListField(child=child, default=list, **about)
    if isinstance(field, forms.ChoiceField):
        return serializers.ChoiceField(choices=list(field.choices), **about)  # type: ignore[arg-type]
    if isinstance(field, forms.DateTimeField):
        return Moment(**about) if field.required else Moment(default=None, allow_null=True, **about)
    if isinstance(field, forms.DecimalField) and field.max_digits is not None:
        return serializers.DecimalField(field.max_digits, field.decimal_places, **about)
    if isinstance(field, forms.IntegerField):
        about |= {"min_value": field.min_value, "max_value": field.max_value}
        empty = {} if field.required else {"default": field.initial, "allow_null": field.initial is None}
        return serializers.IntegerField(**about, **empty)
    assert isinstance(field, forms.CharField)
    about["max_length"] = field.max_length
    return (
        serializers.CharField(**about)
        if field.required
        else serializers.CharField(default="", allow_blank=True, **about)
    )
