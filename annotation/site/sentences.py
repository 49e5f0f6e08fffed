"""Readable addresses, lists of names and moments in sentences, and sentences from a template."""

from __future__ import annotations

import textwrap
import zoneinfo
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.core.management.base import CommandError
from django.db.models import Q, QuerySet
from django.template import Context, Engine
from django.utils.dateformat import format as format_date
from django.utils.formats import get_format
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


def number_written(text: str, *, digits: int = 9) -> int | None:
    """The whole number that an address or a form holds in at most so many digits; None for whatever else it holds."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """The zone of that name; the one of the site when the name is unknown here (it was stored by another machine)."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return zoneinfo.ZoneInfo(settings.TIME_ZONE)


def end_of_day(day: date, zone: str) -> datetime:
    """The last second of a day in a zone."""
    return datetime.combine(day, time(23, 59, 59), tzinfo=zone_of(zone))


def time_text(at: datetime, zone: str) -> str:
    """A moment as it is called in a zone: 4 December 2026, 18:00 (Europe/Berlin).

    In an hour that the clocks show twice, when they go back, with the offset: (Europe/Berlin, UTC+02:00).
    """
    known = zone_of(zone)
    local = at.astimezone(known)
    comes_twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    where = f"{known.key}, UTC{local.isoformat()[-6:]}" if comes_twice else known.key
    return _("%(time)s (%(zone)s)") % {"time": format_date(local, get_format("DATETIME_FORMAT")), "zone": where}


WIDTH = 110  # signs in a line of a file


PART = "\n---\n"  # between two parts of a template


def prose(template: str, **facts: Any) -> list[str]:
    """The parts of a template, each in one line. Names in ``facts`` come out as they are."""
    text = Engine.get_default().get_template(template).render(Context(facts, autoescape=False))
    return [" ".join(part.split()) for part in text.split(PART)]


def filled(text: str) -> str:
    """In lines of a file; no word is broken."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
