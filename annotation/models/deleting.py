"""What can be deleted goes into the bin first: its rows stay, and nobody finds them but the bin."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import Q

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
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        abstract = True


def named_once(model: str) -> tuple[models.UniqueConstraint, ...]:
    """Name and address are free again for others once a row is in the bin."""
    return tuple(
        models.UniqueConstraint(fields=[field], condition=KEPT, name=f"{model}_{field}_once")
        for field in ("name", "slug")
    )
