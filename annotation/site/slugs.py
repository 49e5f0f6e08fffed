"""Readable addresses, and lists of names in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from django.core.management.base import CommandError
from django.db.models import Q, QuerySet
from django.utils.text import slugify
from django.utils.translation import gettext as _

RESERVED = {"new", "join", "import"}  # addresses that are pages of their own
SHOWN_NAMES, SHOWN_SIGNS = 10, 80  # so many names are given in a sentence, and so much of each


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


PLURAL = {"bank": "Banks", "round": "Rounds", "study": "Studies", "leaderboard": "Leaderboards"}


class HasName(Protocol):
    name: Any
    slug: Any


Row = TypeVar("Row", bound=HasName)


def the_one(rows: QuerySet[Any, Row], wanted: str, what: str) -> Row:
    """The row of this name or address, for commands. Raises CommandError where there is none, or two."""
    found = list(rows.filter(Q(name=wanted) | Q(slug=wanted)))
    if not found:
        names = ", ".join(rows.values_list("slug", flat=True)[:20]) or "none so far"
        raise CommandError(f"There is no {what} named {wanted!r}. {PLURAL[what]}: {names}.", returncode=2)
    if len(found) > 1:
        both = " and ".join(f"{row.name!r} ({row.slug})" for row in found)
        raise CommandError(f"{wanted!r} could mean {both}: give what only one of them is called.", returncode=2)
    return found[0]


def listed(names: Sequence[str], *, signs: int = SHOWN_SIGNS) -> str:
    """For a sentence: the first names, so much of each, and how many more there are."""
    more = len(names) - SHOWN_NAMES
    shown = [name if len(name) <= signs else f"{name[: signs - 1]}…" for name in names[:SHOWN_NAMES]]
    return ", ".join(shown) + (_(" and %(n)s more") % {"n": more} if more > 0 else "")
