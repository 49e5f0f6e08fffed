"""Links to the results of a study, for its coordinators: made, listed, revoked."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.views.site.confirming import Confirmation, confirm, is_confirmed
from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.forms.studies import ShareForm
from readerstudy.sharing.linking import links_of, restore_link, revoke_link, share_results
from readerstudy.views.results.access import seen_result
from readerstudy.views.study.access import coordinated_study


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_share(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """All links to results of the study, and a new one to this analysis, which is shown once."""
    seen = seen_result(request.user, slug, public_id)
    now = timezone.now()
    form = ShareForm(request.POST or None)
    context = seen.context()
    if request.method == "POST" and form.is_valid():
        asked = form.cleaned_data
        issued = share_results(seen.analysis, days=asked["days"], note=asked["note"], actor=request.user, at=now)
        address = f"{settings.PUBLIC_URL}{reverse('shared-analysed', args=[issued.token])}"
        return render(request, "readerstudy/sharing/made.html", {**context, "issued": issued.link, "link": address})
    context |= {
        "form": form,
        "links": [
            (one, one.is_open(now), one.revoked_at is not None and one.expires_at > now)
            for one in links_of(seen.analysis.study)
        ],
    }
    return render(request, "readerstudy/sharing/share.html", context, status=422 if form.errors else 200)


@person_required
@require_POST
def study_share_revoke(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    study = coordinated_study(request.user, slug)
    link = get_object_or_404(links_of(study), pk=pk)
    back = reverse("study-share", args=[slug, link.analysis.public_id])
    if not is_confirmed(request):
        label = _("Revoke the link")
        sentences = [
            _("Whoever has this link (%(note)s) sees nothing any more.")
            % {"note": link.note or _("recipient not given")},
            _("Until the day on which it ends it can be restored from the list of links."),
        ]
        asked = Confirmation(title=label, sentences=sentences, label=label, back=back, about=study.name)
        return confirm(request, asked)
    revoke_link(link, actor=request.user, at=timezone.now())
    messages.success(request, _("The link does not work any more. It can be restored below."))
    return redirect(back)


@person_required
@require_POST
def study_share_restore(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """Let a link that was revoked work again."""
    link = get_object_or_404(links_of(coordinated_study(request.user, slug)), pk=pk)
    if restore_link(link, actor=request.user, at=timezone.now()):
        messages.success(request, _("The link works again."))
    else:
        messages.warning(request, _("This link has ended: make a new one."))
    return redirect("study-share", slug, link.analysis.public_id)
