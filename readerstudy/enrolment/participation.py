"""A reader’s part in a study: consent, what comes before the first case and after the last one, withdrawal; e-mails to
readers; and what becomes of it when an account is removed from the site.

Leaving is a state: what was answered stays stored and is counted as the analysis plan says. Who does not go on can be
replaced: somebody else is invited and takes a free order, that of a reader who read nothing among them.
An e-mail that cannot be sent loses nothing: what it says is on a page as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Case, F, QuerySet, Value, When
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record, record_once
from annotation.case.kernels.display import NOT_READ, Pattern, checked_screen, conditions_of, next_pattern, tried
from annotation.models import Invitation, User
from annotation.people.invitations import InvitationMail, IssuedInvitation
from annotation.people.mailing import send_email
from annotation.people.person_data import PersonFile
from annotation.site.sentences import time_text
from annotation.statistics.kernels.estimate import Estimate
from readerstudy.design.kernels.documents import Rules, read_rules
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.enrolment.kernels.steps import ReaderFacts
from readerstudy.enums import OVER, Block, SessionEnd
from readerstudy.models import (
    Enrolment,
    PresentationOrder,
    ReaderStudy,
    Reading,
    ReadingSession,
    RefusedAnswer,
    Remark,
    Response,
    StudyRole,
)
from readerstudy.predictions.looks import accuracy_of, is_over, unblind
from readerstudy.study.overview import deadline_text, study_deadline_text
from readerstudy.study.permissions import StudyRefused, lock_reader, lock_study

# --- consent: to exactly the text that was on the page --------------------------------------------
# In one wording and one language, since readers agree to it and its hash is kept.
NAMES_SHOWN = (
    "My name is shown beside my results to the coordinators of this study and in its figures, which may be published. "
    "Exported data, the report and shared links show a pseudonym in its place; whoever has both can match them."
)


def consent_text(study: ReaderStudy) -> str:
    """What a reader agrees to: the text of the study, and that names are shown where its rules say so."""
    if not read_rules(study.rules).reader_names:
        return study.consent
    return f"{study.consent}\n\n{NAMES_SHOWN}".lstrip()


def asks_consent(study: ReaderStudy) -> bool:
    """Nobody is asked to agree to nothing."""
    return bool(consent_text(study).strip())


def asks_instructions(study: ReaderStudy) -> bool:
    return bool(study.instructions.strip())


def consent_sha256(study: ReaderStudy) -> str:
    """Of the version and the text together."""
    return hashlib.sha256(f"{study.consent_version}\n{consent_text(study)}".encode()).hexdigest()


@transaction.atomic
def agree(enrolment: Enrolment, sha256: str, *, at: datetime) -> None:
    """Store who agreed to what and when. Twice changes nothing. Refused without a text, or for one that has changed."""
    study = enrolment.study
    if not asks_consent(study):
        raise StudyRefused("no_text", _("This study has no consent text: there is nothing to agree to."))
    if sha256 != consent_sha256(study):
        sentence = _("The text has changed since you opened the page. Please read it again.")
        raise StudyRefused("text_changed", sentence)
    lock_reader(enrolment)
    if enrolment.consented_at is not None:
        return
    enrolment.consented_at = at
    enrolment.consent_version = study.consent_version
    enrolment.consent_sha256 = sha256
    enrolment.save(update_fields=["consented_at", "consent_version", "consent_sha256"])
    facts = {"version": study.consent_version, "sha256": sha256}
    record("reader.consented", actor=enrolment.reader, at=at, subject=enrolment, facts=facts)


@transaction.atomic
def decline(enrolment: Enrolment, *, at: datetime) -> None:
    """Leave before the start; the order is free for the next reader. Refused once a reader agreed or read."""
    lock_reader(enrolment)
    if enrolment.consented_at is not None or enrolment.readings.exists():
        raise StudyRefused("has_agreed", _("You have already agreed. To stop, withdraw from the study."))
    enrolment.withdrawn_at = at
    enrolment.save(update_fields=["withdrawn_at"])
    PresentationOrder.objects.filter(enrolment=enrolment).update(enrolment=None)
    record("reader.declined", actor=enrolment.reader, at=at, subject=enrolment)


def consent_copy(enrolment: Enrolment) -> str:
    """What the reader keeps: the text, its version and checksum, and when they agreed. Plain text."""
    study, agreed = enrolment.study, enrolment.consented_at
    zone = enrolment.reader.time_zone if enrolment.reader else "UTC"
    lines = [
        study.name,
        _("Consent, version %(version)s") % {"version": study.consent_version},
        "",
        consent_text(study).strip(),
        "",
    ]
    if agreed is not None and enrolment.reader is not None:
        lines.append(
            _("%(name)s agreed on %(when)s.") % {"name": enrolment.reader.name, "when": time_text(agreed, zone)}
        )
    lines.append(_("Checksum of this text (SHA-256): %(sha256)s") % {"sha256": consent_sha256(study)})
    if study.contact:
        lines.append(_("Contact: %(contact)s") % {"contact": study.contact})
    return "\n".join(lines) + "\n"


# --- between the consent and the first case, and after the last one -------------------------------
def rules_of(study: ReaderStudy) -> Rules:
    return read_rules(study.rules)


@transaction.atomic
def store_facts(enrolment: Enrolment, facts: ReaderFacts, *, at: datetime) -> None:
    """Store them; they can be corrected until the main block is finished."""
    lock_reader(enrolment)
    if enrolment.finished_at is not None or enrolment.facts == facts.as_json():
        return
    was_there = bool(enrolment.facts)
    enrolment.facts = facts.as_json()
    enrolment.save(update_fields=["facts"])
    act = "reader.facts_corrected" if was_there else "reader.facts_told"
    record(act, actor=enrolment.reader, at=at, subject=enrolment)


@transaction.atomic
def instruct(enrolment: Enrolment, *, at: datetime) -> None:
    """The reader says that the instructions are read. Twice changes nothing, nor does it where there are none."""
    lock_reader(enrolment)
    if enrolment.instructed_at is None and asks_instructions(enrolment.study):
        enrolment.instructed_at = at
        enrolment.save(update_fields=["instructed_at"])
        record("reader.instructed", actor=enrolment.reader, at=at, subject=enrolment)


def pattern_now(enrolment: Enrolment) -> Pattern:
    """What the pattern on the page of this reader holds now."""
    return next_pattern(settings.PSEUDONYM_KEY.encode(), enrolment.public_id, enrolment.display)


def display_of(enrolment: Enrolment) -> dict[str, Any]:
    """The last check; an earlier one did not ask for the kind of display, which the reader had told before."""
    return {**{name: told for name, told in enrolment.facts.items() if name == "display"}, **enrolment.display}


@transaction.atomic
def check_display(
    enrolment: Enrolment, told: Mapping[str, Any], *, attempt: int, at: datetime, goes_on: bool = False
) -> str:
    """Store what was read of the pattern of this attempt, and what was said and measured of screen, display and room.

    Returns the sentence that says what to do in a window that is too small, and where the letters were not read: the
    try is stored and the next pattern has other ones. Empty: the reader may go on, as after two missed tries with
    ``goes_on``; coordinators see that, and exports say it. The newest check counts, the others stay in the audit log;
    a sitting that goes on has the conditions of both. What a page sends that shows an earlier pattern is not stored.
    """
    lock_reader(enrolment)
    least, before = rules_of(enrolment.study).least_window, enrolment.display
    if least is not None and (told["width"] < least[0] or told["height"] < least[1]):
        sentence = _(
            "Your window shows %(width)s × %(height)s pixels; this study needs at least %(least_width)s × "
            "%(least_height)s. Make the window larger or zoom out, then check again."
        )
        return sentence % {**told, "least_width": least[0], "least_height": least[1]}
    if attempt != before.get("n_attempts", 0):
        return "" if checked_screen(told) == checked_screen(before) else _(NOT_READ)  # sent twice, or from elsewhere
    found = tried(before, pattern_now(enrolment), told, on=timezone.localdate(at), goes_on=goes_on)
    enrolment.display = found
    if found["lets_in"]:
        enrolment.display_checked_at = at
        for sitting in ReadingSession.objects.filter(enrolment=enrolment, ended_at__isnull=True):
            sitting.device.setdefault("conditions", []).append(conditions_of(found))
            sitting.save(update_fields=["device"])
    enrolment.save(update_fields=["display", "display_checked_at"])
    act = "reader.display_checked" if found["passed"] else "reader.display_not_seen"
    record(act, actor=enrolment.reader, at=at, subject=enrolment, facts=found)
    return "" if found["lets_in"] else _(NOT_READ)


@transaction.atomic
def declare(enrolment: Enrolment, closing: Mapping[str, Any] | None = None, *, at: datetime) -> None:
    """ "No other source was used", with remarks and the questionnaire. Twice changes nothing.

    Refused before the last case.
    """
    lock_reader(enrolment)
    if enrolment.finished_at is None:
        raise StudyRefused("not_finished", _("Cases of the main block have no answer yet."))
    if enrolment.declared_at is None:
        enrolment.declared_at, enrolment.closing = at, dict(closing or {})
        enrolment.save(update_fields=["declared_at", "closing"])
        record("reader.declared", actor=enrolment.reader, at=at, subject=enrolment)


def may_see_results(enrolment: Enrolment) -> bool:
    """After closing, where the rules of the study say so, for readers who declared that they used no other source."""
    return is_over(enrolment.study) and rules_of(enrolment.study).show_results and enrolment.declared_at is not None


@transaction.atomic
def see_own_results(enrolment: Enrolment, *, at: datetime) -> Estimate:
    """Right answers of the cases that count, with Wilson's interval. Seeing it unblinds the study."""
    unblind(enrolment.study, actor=enrolment.reader, at=at, because="a reader's own results")
    record_once("reader.results_seen", actor=enrolment.reader, at=at, subject=enrolment)
    return accuracy_of(enrolment)


# --- leaving, and being replaced ------------------------------------------------------------------
@transaction.atomic
def withdraw(enrolment: Enrolment, *, actor: User, at: datetime, reason: str = "") -> None:
    """The reader reads no further. Done by the reader, or on their behalf. Twice changes nothing."""
    lock_reader(enrolment, also_left=True)
    if enrolment.withdrawn_at is not None:
        return
    enrolment.withdrawn_at = at
    enrolment.save(update_fields=["withdrawn_at"])
    end_sitting(enrolment, at=at)
    facts = {"by_reader": actor.pk == enrolment.reader_id, "reason": reason, "n_answered": n_answered(enrolment)}
    record("reader.withdrawn", actor=actor, at=at, subject=enrolment, facts=facts)


def _give_order_back(enrolment: Enrolment) -> None:
    """Free for the next reader, unless a case of the main block was opened or sent; practice cases stay stored."""
    practised = enrolment.readings.filter(case__block=Block.PRACTICE)
    sent = RefusedAnswer.objects.filter(presented__order__enrolment=enrolment)
    if practised.count() == enrolment.readings.count() and not sent.exists():
        practised.update(presented=None)
        PresentationOrder.objects.filter(enrolment=enrolment).update(enrolment=None)


def n_answered(enrolment: Enrolment) -> int:
    return Reading.objects.filter(enrolment=enrolment, closed_at__isnull=False).count()


def end_sitting(enrolment: Enrolment, *, at: datetime) -> None:
    """No page of the reader holds the write lease any more."""
    ReadingSession.objects.filter(enrolment=enrolment, ended_at__isnull=True).update(ended_at=at, end=SessionEnd.LEFT)


@transaction.atomic
def replace_reader(
    enrolment: Enrolment, *, email: str, name: str, reason: str, actor: User, at: datetime
) -> IssuedInvitation:
    """Note that the reader is replaced and issue the link of the successor.

    The order of the reader stays theirs, with what they answered; of who read nothing the successor gets it, which
    keeps the balance of the orders. Raises StudyRefused without a reason, for a reader
    who has finished, was replaced before or read elsewhere, and as invite_reader; then nothing changes.
    """
    lock_study(enrolment.study)
    lock_reader(enrolment, also_left=True)
    if not reason.strip():
        raise StudyRefused("no_reason", _("Say why the reader is replaced: a paper has to report it."))
    if enrolment.reader is None:
        sentence = _("%(reader)s read elsewhere and is not replaced.") % {"reader": enrolment.pseudonym}
        raise StudyRefused("read_elsewhere", sentence)
    if enrolment.replaced_at is not None:
        raise StudyRefused("replaced", _("%(reader)s is replaced already.") % {"reader": enrolment.pseudonym})
    if enrolment.finished_at is not None:
        sentence = _("%(reader)s has finished and cannot be replaced.") % {"reader": enrolment.pseudonym}
        raise StudyRefused("finished", sentence)
    enrolment.replaced_at = at
    enrolment.save(update_fields=["replaced_at"])
    end_sitting(enrolment, at=at)
    _give_order_back(enrolment)
    facts = {"reason": reason.strip(), "n_answered": n_answered(enrolment)}
    record("reader.replaced", actor=actor, at=at, subject=enrolment, facts=facts)
    return invite_reader(enrolment.study, enrolment.case_set, email=email, name=name, actor=actor, at=at)


# --- E-mails to readers. One that cannot be sent loses nothing: what it says is on a --------------
def invitation_mail(invitation: Invitation) -> InvitationMail:
    study = invitation.to_study.study
    context = {
        "study": study,
        "asks_consent": asks_consent(study),
        "deadline": study_deadline_text(study),
        "until": time_text(invitation.expires_at, study.time_zone),
    }
    subject = _("Invitation to read in “%(study)s”") % {"study": _one_line(study.name)}
    return InvitationMail(subject, "readerstudy/enrolment/_invitation_mail.txt", context)


def send_consent_copy(enrolment: Enrolment) -> bool:
    """Send the reader a copy of what they agreed to."""
    if enrolment.reader is None:
        return False
    subject = _("Your consent to “%(study)s”") % {"study": _one_line(enrolment.study.name)}
    return send_email(subject, consent_copy(enrolment), enrolment.reader.email)


def send_reminder(enrolment: Enrolment, *, n_left: int) -> bool:
    """Remind a reader of what is left until the deadline."""
    if enrolment.reader is None:
        return False
    context = {
        "enrolment": enrolment,
        "study": enrolment.study,
        "n_left": n_left,
        "deadline": deadline_text(enrolment),
        "link": f"{settings.PUBLIC_URL}{reverse('reading', args=[enrolment.study.slug])}",
    }
    body = render_to_string("readerstudy/enrolment/_reminder_mail.txt", context)
    subject = _("Reminder: “%(study)s”") % {"study": _one_line(enrolment.study.name)}
    return send_email(subject, body, enrolment.reader.email)


def _one_line(text: str) -> str:
    """A subject cannot hold a line break."""
    return " ".join(text.split())


# --- An account is removed from the site: what a study has to do first, what it forgets, ----------
def readings_to_end(person: User) -> Iterator[str]:
    """Sentences about the studies in which the person still reads."""
    reading = Enrolment.objects.filter(reader=person, withdrawn_at=None, replaced_at=None, declared_at=None)
    for name in reading.exclude(study__state__in=OVER).order_by("study__name").values_list("study__name", flat=True):
        yield _("This person reads in “%(name)s”: withdraw or replace them there first.") % {"name": name}


def forget_reader(person: User) -> None:
    """Roles in studies go; the enrolment has a pseudonym of its own, and stays."""
    StudyRole.objects.filter(user=person).delete()


def data_of_reader(person: User) -> Iterator[PersonFile]:
    """The own readings by place in the own order. Options only of studies that are over: before, they are compared with
    nothing, not even by their reader.
    """
    own = Enrolment.objects.filter(reader=person)
    yield _table("studies.csv", "studies that the person reads in", own, "study__slug", "pseudonym", "facts",
                 "display", "enrolled_at", "consented_at", "consent_version", "finished_at", "declared_at", "closing",
                 "withdrawn_at")  # fmt: skip
    is_over = When(reading__enrolment__study__state__in=OVER, then=F("option"))
    answers = Response.objects.filter(reading__enrolment__reader=person)
    shown = answers.annotate(answer=Case(is_over, default=Value("")))
    yield _table("answers.csv", "answers in studies; the answer itself once the study is over", shown,
                 "reading__enrolment__study__slug", "reading__position", "state", "answer", "active_ms",
                 "committed_at")  # fmt: skip
    remarks = Remark.objects.filter(reading__enrolment__reader=person)
    yield _table("remarks.csv", "remarks on cases", remarks, "reading__enrolment__study__slug", "reading__position",
                 "kind", "text", "at")  # fmt: skip


def _table(name: str, about: str, rows: QuerySet[Any], *columns: str) -> PersonFile:
    return PersonFile(name, about, columns, rows.order_by("pk").values(*columns).iterator())
