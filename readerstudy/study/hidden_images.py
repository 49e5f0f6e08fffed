"""Images of open studies that are in quarantine, so that readers no longer see them, or were reported by a reviewer who
takes no more of them out of sight: coordinators are told at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import ImageState, Role
from annotation.models import AuditEvent, Image, User
from annotation.people.mailing import send_email, try_to_send
from annotation.site.permissions import is_coordinator
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.study.permissions import may_coordinate_study

HIDDEN, LEFT = "study.image_hidden", "study.image_left"
DECIDED = ("image.quarantined", "image.released")
QUIET_FOR = timedelta(hours=1)  # after an e-mail about a study; its pages count on


def note_hidden_image(image: Image, reason: str, actor: User | None, at: datetime) -> None:
    """A rule of annotation.contributions: note it with each open study that shows the image, and tell by e-mail."""
    _note(HIDDEN, image, reason, actor, at)


def note_left_image(image: Image, reason: str, actor: User | None, at: datetime) -> None:
    """The same of one that was reported and stays in sight; once, until somebody has decided about it."""
    _note(LEFT, image, reason, actor, at)


def left_in_sight(studies: Sequence[ReaderStudy]) -> Mapping[int, list[Image]]:
    """Of the open ones, by id: reported images in sight, about which nobody has decided since."""
    names = [str(study.pk) for study in studies if study.state == StudyState.OPEN]
    events = AuditEvent.objects.filter(subject_type="readerstudy", subject_id__in=names, act=LEFT).order_by("pk")
    left = {(int(one.subject_id), one.facts["image"]): one.pk for one in events}
    if not left:
        return {}
    images = Image.objects.filter(public_id__in={name for _study, name in left}, state=ImageState.AVAILABLE)
    seen = {image.public_id: image for image in images}
    decisions = AuditEvent.objects.filter(subject_type="image", subject_id__in=seen, act__in=DECIDED).order_by("pk")
    decided = {one.subject_id: one.pk for one in decisions}
    found: dict[int, list[Image]] = {}
    for (study, name), reported in left.items():
        if name in seen and decided.get(name, 0) < reported:
            found.setdefault(study, []).append(seen[name])
    return found


def _note(act: str, image: Image, reason: str, actor: User | None, at: datetime) -> None:
    studies = ReaderStudy.objects.filter(state=StudyState.OPEN, cases__shown_images__image=image)
    for study in studies.distinct().order_by("pk"):
        if act == LEFT and image in left_in_sight([study]).get(study.pk, ()):
            continue
        earlier = AuditEvent.objects.filter(subject_type="readerstudy", subject_id=str(study.pk), act=act)
        is_told = earlier.filter(at__gt=at - QUIET_FOR).exists()
        record(act, actor=actor, at=at, subject=study, facts={"image": image.public_id, "reason": reason})
        for person in () if is_told else coordinators_of(study, and_of_site=act == LEFT):
            transaction.on_commit(partial(try_to_send, partial(_send, study, person, act, reason, actor)))


def coordinators_of(study: ReaderStudy, *, and_of_site: bool) -> list[User]:
    """Those of this study and who made it; where there is none, or ``and_of_site``, since they alone open the page of
    an image, those of the site. Never its readers.
    """
    own = Q(pk__in=study.coordinators.values("user")) | Q(pk=study.created_by_id)
    of_site = Q(memberships__role=Role.COORDINATOR, memberships__round=None)
    for chosen in (own | of_site,) if and_of_site else (own, of_site):
        people = User.objects.filter(chosen, is_active=True).distinct().order_by("pk")
        if found := [person for person in people if may_coordinate_study(person, study)]:
            return found
    return []


def _send(study: ReaderStudy, person: User, act: str, reason: str, actor: User | None) -> bool:
    link = settings.PUBLIC_URL + reverse("study-watch", args=[study.slug])
    subject = (
        _("An image of “%(study)s” is out of sight") if act == HIDDEN else _("An image of “%(study)s” is reported")
    )
    context = {"study": study, "is_hidden": act == HIDDEN, "reason": reason, "actor": actor, "link": link}
    context["may_look"] = is_coordinator(person)
    body = render_to_string("readerstudy/monitoring/_hidden_mail.txt", context)
    return send_email(subject % {"study": study.name}, body, person.email)
