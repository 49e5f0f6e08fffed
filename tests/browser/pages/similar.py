"""Near-duplicates and twins in a public bank, for the site in which every page has something to show."""

from __future__ import annotations

from django.utils import timezone

from annotation.models import Revision
from annotation.quality.duplicates import check_duplicates, check_twins
from annotation.questionbank.terms import change_terms
from tests.annotation.review.cases import make_bank, make_revisions
from tests.browser.pages.place import Place


def compare(place: Place) -> None:
    """The generated bank with a public one, which holds two of its questions."""
    now, bank = timezone.now(), place.things["generated bank"]
    taken = Revision.objects.in_bank(bank).current().order_by("question__number")[:2]
    public = make_bank(place.named("Public questions")[:60])
    make_revisions(public, {n: {"stem": one.stem, "options": one.options} for n, one in enumerate(taken, start=1)})
    change_terms(public, terms="", holds_quarters=False, is_public=True, actor=None, at=now)
    check_duplicates(bank, actor=None, at=now)
    check_twins(bank, actor=None, at=now)
    place.things["public bank"] = public
