"""Columns and managers that tables share. What can be deleted goes into the bin first: its rows stay, and nobody finds
them but the bin.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models import Q
from django.db.models.sql.compiler import SQLCompiler
from django.utils.translation import gettext_lazy

from annotation.enums import Word

if TYPE_CHECKING:
    from django.db.models.expressions import Combinable

    from annotation.models.people import User

    TextColumn = models.CharField[str, str]
    LongTextColumn = models.TextField[str, str]
    YesNoLookup = models.Lookup[bool]
else:
    TextColumn, LongTextColumn, YesNoLookup = models.CharField, models.TextField, models.Lookup


def composed(text: str) -> str:
    """One text for all that look alike: accents are one character with their letter (NFC)."""
    return unicodedata.normalize("NFC", text)


if TYPE_CHECKING:
    AnyColumn = models.Field[str, str]
else:
    AnyColumn = object


class _Composed(AnyColumn):
    """Stored and looked for in NFC."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = self.get_prep_value(super().pre_save(model_instance, add))
        setattr(model_instance, self.attname, value)  # what is hashed next is what is stored
        return value

    def get_prep_value(self, value: Any) -> Any:
        prepared = super().get_prep_value(value)
        return composed(prepared) if isinstance(prepared, str) else prepared

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, _path, args, options = super().deconstruct()
        return name, f"django.db.models.{self.get_internal_type()}", args, options


class ComposedLine(_Composed, TextColumn):
    """What people call something."""


class ComposedText(_Composed, LongTextColumn):
    """What people write."""


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


def a_person_or_none(**options: Any) -> models.ForeignKey[Combinable | User | None, User | None]:
    """Who did something, whose account stays as long as the row; none: the program, or the command line."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+", **options
    )


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


Row = TypeVar("Row", bound=models.Model, covariant=True)
KEPT = Q(deleted_at__isnull=True)


class KeptManager(models.Manager[Row]):
    """The rows that are not in the bin."""

    def get_queryset(self) -> models.QuerySet[Row]:
        return super().get_queryset().filter(KEPT)


class KeptWith(models.Manager[Row]):
    """The rows that hang on nothing in the bin. No join: PostgreSQL locks no row that an outer join may lack."""

    parent: ClassVar[str]

    def get_queryset(self) -> models.QuerySet[Row]:
        parents = self.model._meta.get_field(self.parent).related_model
        assert isinstance(parents, type)
        assert issubclass(parents, Deletable)
        return super().get_queryset().exclude(**{f"{self.parent}__in": parents._base_manager.exclude(KEPT)})


class KeptWithBank(KeptWith[Row]):
    """Neither in the bin themselves nor of a bank that is."""

    parent = "bank"

    def get_queryset(self) -> models.QuerySet[Row]:
        return super().get_queryset().filter(KEPT)


class KeptWithRound(KeptWith[Row]):
    parent = "round"


class Deletable(models.Model):
    """Every query leaves out what is in the bin, ``everywhere`` does not;
    rows that point to it reach it all the same.
    """

    deleted_at = models.DateTimeField(null=True, blank=True)
    deleted_by = a_person_or_none()

    class Meta:
        abstract = True


def named_once(model: str) -> tuple[models.UniqueConstraint, ...]:
    """Name and address are free again for others once a row is in the bin."""
    return tuple(
        models.UniqueConstraint(fields=[field], condition=KEPT, name=f"{model}_{field}_once")
        for field in ("name", "slug")
    )


class Timed(models.Model):
    """What is stored with a final step: how long it took, by which rule, and how the images were shown."""

    active_ms = models.PositiveBigIntegerField(null=True, blank=True)  # null: time_flags say why
    elapsed_ms = models.PositiveBigIntegerField(null=True, blank=True)
    n_sittings = models.PositiveIntegerField(null=True, blank=True)  # 2: the case was taken up again later
    time_rule = models.CharField(max_length=20, blank=True)  # empty: stored before there was a clock
    time_flags = models.JSONField(default=list)  # annotation.case.kernels.durations.TimeFlag
    time_parts = models.JSONField(null=True, blank=True)  # taken off, in ms: annotation.case.kernels.durations.PARTS
    unreadable = models.JSONField(default=list)  # public ids of images that the person could not read
    viewport = models.JSONField(null=True, blank=True)  # window, zoom, pan, invert of each view

    class Meta:
        abstract = True


# --- searching ------------------------------------------------------------------------------------
_WITHOUT_ACCENT = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ħ": "h"})  # not in two parts


def folded(text: str | None) -> str | None:
    """Small letters without accents; annotation/triggers.py has the same for PostgreSQL."""
    if text is None or text.isascii():
        return text and text.lower()
    parts = unicodedata.normalize("NFD", text.lower()).translate(_WITHOUT_ACCENT)
    return unicodedata.normalize("NFC", "".join(one for one in parts if not "\u0300" <= one <= "\u036f"))


@models.CharField.register_lookup
@models.TextField.register_lookup
class Holds(YesNoLookup):
    """``name__holds="MÜLLER"``: the words are in it, in capitals or not, with accents or without them, on both
    databases alike. PostgreSQL finds wordings of questions so by their index.
    """

    lookup_name = "holds"

    def get_prep_lookup(self) -> str | None:
        return folded(self.rhs)

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
        return self._within("INSTR(rexvqa_folded({0}), {1}) > 0", compiler, connection)

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
        sql, values = self._within("rexvqa_folded({0}::text) LIKE {1}", compiler, connection)
        return sql, [*values[:-1], f"%{connection.ops.prep_for_like_query(values[-1])}%"]

    def _within(self, form: str, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
        column, of_column = self.process_lhs(compiler, connection)
        words, of_words = self.process_rhs(compiler, connection)
        return form.format(column, words), [*of_column, *of_words]


def sorted_as(text: str | None) -> str | None:
    """By what a text is sorted: letters without accents and capitals first, those with them behind the same without."""
    if text is None:
        return None
    parts = unicodedata.normalize("NFD", text.casefold()).translate(_WITHOUT_ACCENT)
    return "".join(one for one in parts if not unicodedata.combining(one)) + "\x00" + unicodedata.normalize("NFC", text)


class AsRead(models.Func):
    """``order_by(AsRead("name"))``: "Ärzte" after "Adam" and before "Birne", on both databases alike."""

    arity, output_field = 1, models.TextField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="rexvqa_sorted", **context)

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        template = 'NORMALIZE(%(expressions)s::text, NFC) COLLATE "und-x-icu"'
        return self.as_sql(compiler, connection, template=template, **context)


def _teach(connection: BaseDatabaseWrapper, **_more: Any) -> None:
    """SQLite what it lacks, before a trigger asks for it."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("rexvqa_folded", 1, folded, deterministic=True)
        connection.connection.create_function("rexvqa_sorted", 1, sorted_as, deterministic=True)


connection_created.connect(_teach)
