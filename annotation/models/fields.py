from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext_lazy

from annotation.enums import Word

if TYPE_CHECKING:
    TextColumn = models.CharField[str, str]
else:
    TextColumn = models.CharField


class WordField(TextColumn):
    """A column that holds one value of a closed vocabulary, with translated labels."""

    def __init__(self, words: type[Word] | None = None, **options: Any) -> None:
        if words is not None:
            options["choices"] = [(word.value, gettext_lazy(word.label) if word.label else "") for word in words]
        options.setdefault("max_length", 16)
        super().__init__(**options)

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, _path, args, options = super().deconstruct()
        options.pop("choices", None)  # labels are not schema: a reworded label needs no migration
        return name, "django.db.models.CharField", args, options


def public_id() -> str:
    """A random name of 16 characters (95 bits) that tells nothing about what it names.

    It begins with a letter or a digit: a command would take a name that begins with "-" for an option.
    """
    while not (name := secrets.token_urlsafe(12))[0].isalnum():
        pass
    return name


class PublicIdField(TextColumn):
    """The random name under which a row appears in addresses."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_length", 16)
        options.setdefault("unique", True)
        options.setdefault("editable", False)
        options.setdefault("default", public_id)
        super().__init__(**options)

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        """PostgreSQL's varchar by its long name: for the short one Django adds an index for LIKE, which nobody asks."""
        kind = super().db_type(connection)
        return kind.replace("varchar", "character varying") if kind and connection.vendor == "postgresql" else kind
