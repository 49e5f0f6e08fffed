"""The home page: the open work of a person, with one button to continue."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from annotation.enums import ImageState, RoundState
from annotation.people.open_work import Coordination, NextStep, OpenWork, RoundWork, WorkSection, open_work_of
from annotation.site.permissions import may_see_quarantine
from annotation.views.site.decorators import AuthenticatedRequest, person_required


@person_required
@require_safe
def home(request: AuthenticatedRequest) -> HttpResponse:
    work = open_work_of(request.user, timezone.now())
    context = {
        "open_work": work,
        "step": next_step(work),
        "may_see_quarantine": may_see_quarantine(request.user),
    }
    return render(request, "annotation/home.html", context)


def next_step(work: OpenWork) -> NextStep | None:
    """Own cases come first, then what a coordinator looks after, then the site; None without open work."""
    for one in work.reviews:
        if one.n_left:
            return _review_step(one)
    looked_after = _round_step(work.coordination) if work.coordination else None
    quarantine = _quarantine_step(work)
    decides = quarantine if work.decides_quarantine else None
    own, other = _steps_of(work.own_work), _steps_of(work.other_work)
    steps = [*own, *filter(None, [decides, looked_after]), *other]
    if steps:
        return steps[0]
    if work.coordination is not None:
        return _first_step(work.coordination) or quarantine
    if work.administration is not None and work.administration.n_people == 1:
        return _step(
            _("Invite people"), _("You are the only person here. Invite a coordinator first."), "person-invite"
        )
    return None


def _steps_of(sections: list[WorkSection]) -> list[NextStep]:
    return [section.step for section in sections if section.step]


def _review_step(work: RoundWork) -> NextStep | None:
    sentence = ngettext("%(n)d question left in “%(round)s”.", "%(n)d questions left in “%(round)s”.", work.n_left)
    label = _("Continue") if work.n_done else _("Start")
    return _step(label, sentence % {"n": work.n_left, "round": work.name}, "review-continue", work.slug)


def _round_step(coordination: Coordination) -> NextStep | None:
    running = [work for work in coordination.rounds if work.state == RoundState.OPEN]
    if running:
        work = running[0]
        sentence = _("“%(round)s” is under review: %(done)d of %(total)d reviews are in.")
        numbers = {"round": work.name, "done": work.n_done, "total": work.n_total}
        return _step(_("Continue"), sentence % numbers, "round", work.slug)
    drafts = [work for work in coordination.rounds if work.state == RoundState.DRAFT]
    if drafts:
        sentence = _("“%(round)s” is not open yet.") % {"round": drafts[0].name}
        return _step(_("Continue"), sentence, "round", drafts[0].slug)
    return None


def _first_step(coordination: Coordination) -> NextStep | None:
    """Of a site on which no round was made yet."""
    if coordination.rounds:
        return None
    n_missing, n_all = coordination.n_missing, coordination.n_missing + coordination.n_arrived
    if coordination.banks and n_missing and not coordination.n_arrived:
        sentence = ngettext(
            "Questions imported. The %(n)d image that they name is missing.",
            "Questions imported. All %(n)d images that they name are missing.",
            n_missing,
        )
        return _step(_("Upload images"), sentence % {"n": n_missing}, "upload-new")
    if coordination.banks:
        sentence = _("Questions imported. Next: draw a sample of them for a review round.")
        if n_missing:
            some = _("%(n)d of %(all)d images are still missing.") % {"n": n_missing, "all": n_all}
            sentence = f"{sentence} {some}"
        return _step(_("Draw a sample"), sentence, "sample-new")
    return _step(
        _("Import questions"), _("There is no question yet. Import a question bank first."), "question-import-new"
    )


def _quarantine_step(work: OpenWork) -> NextStep | None:
    n = work.n_quarantined or 0
    if not n:
        return None
    sentence = ngettext("%(n)d image is in quarantine.", "%(n)d images are in quarantine.", n) % {"n": n}
    if work.decides_quarantine:
        return _step(_("Look at them"), sentence, "quarantine")
    sentence = f"{sentence} {_('Somebody with the de-identification role decides.')}"
    return NextStep(_("See the images"), sentence, f"{reverse('images')}?state={ImageState.QUARANTINED}")


def _step(label: str, sentence: str, url_name: str, *args: str) -> NextStep | None:
    try:
        return NextStep(label, sentence, reverse(url_name, args=args))
    except NoReverseMatch:
        return None
