"""What is asked back before more time is given: whose deadline moves, from when to when."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.site.zones import time_text
from annotation.views.site.confirming import Confirmation
from readerstudy.models import Enrolment, ReaderStudy
from readerstudy.study.deadlines import deadline_text, study_deadline_text, unfinished


def about_all(study: ReaderStudy, deadline: datetime, typed: str) -> Confirmation:
    """``typed`` goes back with the answer."""
    readers = list(unfinished(study).select_related("study"))
    kept = [one for one in readers if one.deadline_at is not None and one.deadline_at > deadline]
    names = [one.pseudonym for one in readers if one not in kept]
    sentences = [_moved(study_deadline_text(study), deadline, study), _for(names)]
    for one in kept:
        facts = {"reader": one.pseudonym, "when": deadline_text(one)}
        sentences.append(_("%(reader)s keeps a later deadline: %(when)s.") % facts)
    title = _("Extend the deadline for everybody")
    return Confirmation(
        title=title,
        sentences=[*sentences, _never_back()],
        label=_("Extend the deadline"),
        back=reverse("study-watch", args=[study.slug]),
        is_danger=False,
        sent={"deadline": typed},
    )


def about_reader(enrolment: Enrolment, deadline: datetime, typed: str) -> Confirmation:
    title = _("More time for %(reader)s") % {"reader": enrolment.pseudonym}
    sentences = [
        _moved(deadline_text(enrolment), deadline, enrolment.study),
        _("It is for %(reader)s alone.") % {"reader": enrolment.pseudonym},
        _never_back(),
    ]
    return Confirmation(
        title=title,
        sentences=sentences,
        label=_("Give more time"),
        back=reverse("study-reader", args=[enrolment.study.slug, enrolment.public_id]),
        is_danger=False,
        sent={"deadline": typed},
    )


def _moved(before: str, deadline: datetime, study: ReaderStudy) -> str:
    facts = {"before": before, "after": time_text(deadline, study.time_zone)}
    return _("The deadline moves from %(before)s to %(after)s.") % facts


def _for(names: list[str]) -> str:
    if not names:
        return _("Nobody reads at present whose deadline moves; it is for those who join later.")
    said = ngettext(
        "It is for %(n)s reader who has not finished: %(names)s; and for those who join later.",
        "It is for %(n)s readers who have not finished: %(names)s; and for those who join later.",
        len(names),
    )
    return said % {"n": len(names), "names": ", ".join(names)}


def _never_back() -> str:
    return _("A deadline never moves earlier again.")
