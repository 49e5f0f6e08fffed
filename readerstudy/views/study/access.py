"""Which study a person may look at or change. To strangers and to its readers it does not exist."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _

from annotation.models import User
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.views.site.confirming import Confirmation, confirm
from annotation.views.site.decorators import AuthenticatedRequest
from readerstudy.acts.studies import coordinated_study as coordinated_study
from readerstudy.acts.studies import named_study
from readerstudy.models import ReaderStudy
from readerstudy.study.overview import studies_known_to
from readerstudy.study.permissions import knows_study


def overseen_study(person: User, slug: str) -> ReaderStudy:
    """The study, for its coordinators, and for administrators to look at."""
    study = named_study(slug)
    if knows_study(person, study):
        return study
    raise Http404


def listed_studies(person: User) -> QuerySet[ReaderStudy]:
    """The studies that a person knows. Raises PermissionDenied for whoever coordinates none."""
    known = studies_known_to(person)
    if not is_coordinator(person) and not is_administrator(person) and not known.exists():
        raise PermissionDenied(_("This page is for people who coordinate a reader study."))
    return known


def confirm_in_study(request: AuthenticatedRequest, study: ReaderStudy, asked: Confirmation) -> HttpResponse:
    """Ask, under the name of the study."""
    return confirm(request, asked, "readerstudy/design/confirm.html", study=study)
