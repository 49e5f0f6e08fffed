"""The bin, and the page that asks before something goes into it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation.bin import deleting as acts
from annotation.models import Assignment, QuestionBank, ReviewRound, SamplingPlan, Upload
from annotation.refusals import Refused
from annotation.views.site.confirming import Confirmation, confirm, is_confirmed, run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, person_required


@person_required
@require_safe
def bin_page(request: AuthenticatedRequest) -> HttpResponse:
    """What was deleted in the last 30 days, as far as this person may restore it."""
    if not acts.opens(request.user):
        raise PermissionDenied(_("The bin holds nothing that you may restore. Ask a coordinator of the site."))
    rows = [(acts.bin_kinds()[one.kind].label, one) for one in acts.contents(request.user)]
    return render(request, "annotation/bin.html", {"rows": rows, "n_days": acts.KEPT_FOR.days})


@person_required
@require_POST
def bin_restore(request: AuthenticatedRequest, kind: str, pk: int) -> HttpResponse:
    row = acts.find_deleted(kind, pk)
    if row is None or not acts.may_restore(request.user, row):
        raise Http404

    def restore() -> str:
        acts.restore(row, actor=request.user, at=timezone.now())
        return _("“%(name)s” is restored.") % {"name": row}

    return redirect(*address_of(row)) if run_and_flash(request, restore) else redirect("bin")


def address_of(row: acts.Row) -> tuple[str, str]:
    """The page of a row: the name of its route, and its parameters."""
    named: Any = row
    return acts.kind_of(row), named.public_id if isinstance(row, Upload) else named.slug


def delete_or_ask(request: AuthenticatedRequest, row: acts.Row, to: str) -> HttpResponse:
    """Ask first, with what follows; then move the row into the bin. ``to``: the page that is shown then."""
    page = address_of(row)
    try:
        if not is_confirmed(request):
            acts.check_deletable(row)
            return confirm(request, _confirmation(row, reverse(page[0], args=[page[1]])))
        acts.move_to_bin(row, actor=request.user, at=timezone.now())
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect(*page)
    sentence = _("“%(name)s” is in the bin; it can be restored there for %(n)s days.")
    messages.success(request, sentence % {"name": row, "n": acts.KEPT_FOR.days})
    return redirect(to)


def _confirmation(row: acts.Row, back: str) -> Confirmation:
    label = {
        "bank": _("Delete the bank"),
        "sample": _("Delete the sample"),
        "round": _("Delete the round"),
        "upload": _("Delete the upload"),
    }.get(acts.kind_of(row)) or _("Delete: %(kind)s") % {"kind": acts.bin_kinds()[acts.kind_of(row)].label}
    last = _(
        "It goes into the bin, where you and coordinators of the site can restore it for %(n)s days. Then it is "
        "deleted for good."
    )
    sentences = [*_consequences(row), last % {"n": acts.KEPT_FOR.days}]
    return Confirmation(title=label, sentences=sentences, label=label, back=back, about=str(row))


def _consequences(row: acts.Row) -> list[str]:
    """What nobody sees any more, in numbers."""
    if consequences := acts.bin_kinds()[acts.kind_of(row)].consequences:
        return consequences(row)
    if isinstance(row, QuestionBank):
        n = row.questions.count()
        hidden = ngettext("%(n)s question is hidden everywhere", "%(n)s questions are hidden everywhere", n)
        return [_("%(hidden)s, with keys, explanations and reports.") % {"hidden": hidden % {"n": f"{n:,}"}}]
    if isinstance(row, SamplingPlan):
        n = row.questions.count()
        return [
            ngettext(
                "The list of %(n)s drawn question is hidden; the question stays.",
                "The list of %(n)s drawn questions is hidden; the questions stay.",
                n,
            )
            % {"n": f"{n:,}"}
        ]
    if isinstance(row, ReviewRound):
        n = Assignment.objects.filter(round=row).values("reviewer").distinct().count()
        lost = ngettext("%(n)s reviewer loses the questions of this round", "%(n)s reviewers lose its questions", n)
        return [lost % {"n": n} + ".", _("Its invitation links stop working. Restored, it is a draft again.")]
    return [_("Its report is hidden. Images that came in stay.")]
