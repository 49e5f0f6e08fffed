"""Rows of the tables that are exported as files, page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rest_framework import serializers

from annotation.api.bodies import Moment
from annotation.api.resources import Shown
from annotation.exports.tables import Column, Kind

_FIELDS: dict[Kind, Callable[[str], serializers.Field[Any, Any, Any, Any]]] = {
    Kind.TEXT: lambda meaning: serializers.CharField(help_text=meaning),
    Kind.WHOLE: lambda meaning: serializers.IntegerField(allow_null=True, help_text=meaning),
    Kind.REAL: lambda meaning: serializers.FloatField(allow_null=True, help_text=meaning),
    Kind.YES_NO: lambda meaning: serializers.BooleanField(allow_null=True, help_text=meaning),
    Kind.TIME: lambda meaning: Moment(allow_null=True, help_text=meaning),
}


def shape_of(name: str, columns: Sequence[Column]) -> type[Shown]:
    """A row of a table, with the meaning of each column from its codebook."""
    return type(name, (Shown,), {column.name: _FIELDS[column.kind](column.meaning) for column in columns})
