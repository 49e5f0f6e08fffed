"""Images of open studies that are in quarantine: readers no longer see them, and coordinators are told at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import AuditEvent, Image, User
from annotation.people.mailing import send_email, try_to_send
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.study.permissions import may_coordinate_study

HIDDEN = "study.image_hidden"
QUIET_FOR = timedelta(hours=1)  # after an e-mail about a study; its pages count on


def note_hidden_image(image: Image, reason: str, actor: User | None, at: datetime) -> None:
    """A rule of annotation.contributions: note it with each open study that shows the image, and tell by e-mail."""
    studies = ReaderStudy.objects.filter(state=StudyState.OPEN, cases__shown_images__image=image)
    for study in studies.distinct().order_by("pk"):
        earlier = AuditEvent.objects.filter(subject_type="readerstudy", subject_id=str(study.pk), act=HIDDEN)
        is_told = earlier.filter(at__gt=at - QUIET_FOR).exists()
        record(HIDDEN, actor=actor, at=at, subject=study, facts={"image": image.public_id, "reason": reason})
        for person in () if is_told else coordinators_of(study):
            transaction.on_commit(partial(try_to_send, partial(_send, study, person, reason, actor)))


def coordinators_of(study: ReaderStudy) -> list[User]:
    """Those of this study and who made it; where there is none, those of the site. Never its readers."""
    own = Q(pk__in=study.coordinators.values("user")) | Q(pk=study.created_by_id)
    of_site = Q(memberships__role=Role.COORDINATOR, memberships__round=None)
    for chosen in (own, of_site):
        people = User.objects.filter(chosen, is_active=True).distinct().order_by("pk")
        if found := [person for person in people if may_coordinate_study(person, study)]:
            return found
    return []


def _send(study: ReaderStudy, person: User, reason: str, actor: User | None) -> bool:
    link = settings.PUBLIC_URL + reverse("study-watch", args=[study.slug])
    context = {"study": study, "reason": reason, "actor": actor, "link": link}
    body = render_to_string("readerstudy/monitoring/_hidden_mail.txt", context)
    return send_email(_("An image of “%(study)s” is out of sight") % {"study": study.name}, body, person.email)
