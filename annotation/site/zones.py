"""Moments in the time zone of a person or a study, with the zone named."""

from __future__ import annotations

import zoneinfo
from datetime import date, datetime, time

from django.conf import settings
from django.utils.dateformat import format as format_date
from django.utils.formats import get_format
from django.utils.translation import gettext as _


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
