"""The choice before it is confirmed: saved at once, so that a crash or the end of the time does not lose it."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.models import User
from readerstudy.models import Enrolment, PresentedCase
from readerstudy.reading.armed import named_place
from readerstudy.reading.events import opened_reading
from readerstudy.reading.holding import check_may_read, hold_enrolment, hold_pen
from readerstudy.reading.limits import is_over


class NoSuchOption(Exception):
    """The case has no option of that name."""


@transaction.atomic
def save_choice(
    enrolment: Enrolment, public_id: str, option: str, sequence: int, *, session: str, actor: User, at: datetime
) -> bool:
    """Keep the option that is chosen now, empty for none; False when this changes nothing.

    An older choice than the stored one changes nothing, nor does one after the end of the case. Raises NotArmed,
    NotOpened, NoSuchOption, ReadingRefused, NotTheReader.
    """
    held = hold_enrolment(enrolment, actor=actor)
    place = named_place(held, public_id)
    reading = opened_reading(place)
    check_may_read(held, at)
    hold_pen(held, session, at=at)
    if option:
        check_option(place, option)
    if reading.closed_at is not None or is_over(reading.deadline_at, at) or sequence <= reading.choice_sequence:
        return False
    reading.choice, reading.choice_sequence = option, sequence
    reading.save(update_fields=["choice", "choice_sequence"])
    return True


def check_option(place: PresentedCase, option: str) -> None:
    """Raises NoSuchOption."""
    if len(option) != 1 or option not in place.options[: len(place.case.revision.options)]:
        raise NoSuchOption(f"place {place.public_id} has no option {option[:5]!r}")
