"""The page behind a link into a study."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.people.links import check_open
from annotation.refusals import Refused
from annotation.views.people.links import closed_page, new_account_page, own_account_page
from annotation.views.site.decorators import anyone
from readerstudy.enrolment import joining
from readerstudy.enrolment.inviting import check_takes_readers, find_invitation
from readerstudy.study.deadlines import study_deadline_text
from readerstudy.study.locking import StudyRefused


@anyone
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Become a reader: with a new account, or with the one that is logged in."""
    invited = find_invitation(token)
    try:
        check_open(invited, timezone.now())
        assert invited is not None
        check_takes_readers(invited.study)
    except Refused as refusal:
        return closed_page(request, refusal, 410 if isinstance(refusal, StudyRefused) else 0)
    study, person = invited.study, request.user
    context = {"study": study, "deadline": study_deadline_text(study)}
    if not person.is_authenticated:
        return new_account_page(
            request,
            invited,
            "readerstudy/enrolment/join_new.html",
            lambda *args, **kwargs: joining.join_as_new_person(*args, **kwargs).reader,
            next_page=lambda _person: reverse("reading", args=[study.slug]),
            context=context,
        )

    def join() -> HttpResponse:
        joining.join_as(person, invited, at=timezone.now())
        return redirect("reading", study.slug)

    return own_account_page(
        request,
        invited,
        "readerstudy/enrolment/join.html",
        lambda: joining.check_may_use(person, invited),
        join,
        context=context,
    )
