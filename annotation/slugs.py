"""Readable addresses."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.text import slugify

RESERVED = {"new", "join"}  # addresses that are pages of their own


def free_slug(name: str, *, among: QuerySet[Any], otherwise: str) -> str:
    """A readable address for ``name`` that no row of ``among`` has; a number is added when it is taken.

    ``otherwise`` is used for a name without any letter that an address can hold.
    """
    stem = slugify(name)[:70].strip("-") or otherwise
    taken = set(among.filter(slug__startswith=stem).values_list("slug", flat=True)) | RESERVED
    slug, number = stem, 1
    while slug in taken:
        number += 1
        slug = f"{stem}-{number}"
    return slug
