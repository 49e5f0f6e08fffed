"""Agreeing to take part, to exactly the text that was on the page; or declining."""

from __future__ import annotations

import hashlib
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.site.zones import time_text
from readerstudy.design.kernels.rules import read_rules
from readerstudy.models import Enrolment, PresentationOrder, ReaderStudy
from readerstudy.study.locking import StudyRefused, lock_reader

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


def consent_sha256(study: ReaderStudy) -> str:
    """Of the version and the text together."""
    return hashlib.sha256(f"{study.consent_version}\n{consent_text(study)}".encode()).hexdigest()


@transaction.atomic
def agree(enrolment: Enrolment, sha256: str, *, at: datetime) -> None:
    """Store who agreed to what and when. Agreeing twice changes nothing. Refused for a text that has changed."""
    study = enrolment.study
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
