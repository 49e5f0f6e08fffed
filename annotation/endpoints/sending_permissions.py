"""What of a bank may be sent to an endpoint: given by an administrator, for a time, on a stated ground. Without one,
nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import EndpointPlace
from annotation.endpoints.configured_endpoints import endpoint_named, endpoints
from annotation.models import QuestionBank, SendingPermission, User
from annotation.refusals import Refused
from annotation.site.permissions import is_administrator

LONGEST_TIME = timedelta(days=366)  # to the same day of the next year, also over a leap day
LONGEST_WORDS = 4_000  # characters of reason and agreement


class SendingRefused(Refused):
    """Something may not be sent to an endpoint, or a permission cannot be given or withdrawn."""


def permission_in_force(
    bank: QuestionBank,
    endpoint: str,
    *,
    at: datetime,
    questions: bool = True,
    images: bool = False,
    reports: bool = False,
) -> SendingPermission:
    """The newest permission under which all of this may be sent now; where several add up to it, the one of them that
    ends first.

    One that was given while the endpoint was elsewhere, without the terms of the bank, does not hold for an endpoint
    that is outside now. Raises SendingRefused (``no_permission``), which names what no permission is for.
    """
    asked = {"questions": questions, "images": images, "reports": reports}
    needed = [name for name, is_asked in asked.items() if is_asked]
    rows = SendingPermission.objects.filter(bank=bank, endpoint=endpoint, withdrawn_at=None, expires_at__gt=at)
    if any(one.name == endpoint and one.place == EndpointPlace.OUTSIDE for one in endpoints()):
        rows = rows.exclude(terms="")
    found = list(rows)
    for_each = {name: next((one for one in found if getattr(one, name)), None) for name in needed}
    if missing := [name for name, one in for_each.items() if one is None]:
        labels = {"questions": _("questions"), "images": _("images"), "reports": _("reports")}
        what = _(" and ").join(labels[name] for name in missing)
        sentence = _(
            "Nobody has permitted to send %(what)s of “%(bank)s” to the endpoint “%(endpoint)s”, or the permission is "
            "over. An administrator gives it on the page of the bank."
        )
        facts = {"what": what, "bank": bank.name, "endpoint": endpoint}
        raise SendingRefused("no_permission", sentence % facts, status=409)
    whole = next((one for one in found if all(getattr(one, name) for name in needed)), None)
    return whole or min((one for one in for_each.values() if one), key=lambda one: one.expires_at)


def give_permission(
    bank: QuestionBank,
    endpoint: str,
    *,
    questions: bool,
    images: bool,
    reports: bool,
    reason: str,
    agreement: str,
    accepted_terms: str,
    expires_at: datetime,
    actor: User | None,
    at: datetime,
) -> SendingPermission:
    """Permit an endpoint to be sent these parts of a bank.

    ``accepted_terms``: the terms of the bank as they were read and accepted; empty where nobody accepted any. An
    endpoint outside needs them, and the row keeps a copy. ``actor`` is None on the command line.

    Raises SendingRefused, and EndpointRefused for an endpoint that is not in the list.
    """
    _check_administrator(actor)
    reason, agreement = reason.strip(), agreement.strip()
    _check_parts(questions=questions, images=images, reports=reports)
    _check_words(reason, "reason", _("State why this is to be sent."))
    _check_words(agreement, "agreement", _("Name the contract, approval or licence that permits it."))
    _check_end(expires_at, at)
    named = endpoint_named(endpoint)
    with transaction.atomic():
        locked = QuestionBank.objects.select_for_update(of=("self",)).get(pk=bank.pk)
        if locked.archived_at is not None:
            sentence = _("“%(bank)s” is archived. Bring it back before anything of it is sent.")
            raise SendingRefused("archived", sentence % {"bank": locked.name})
        is_outside = named.place == EndpointPlace.OUTSIDE
        if is_outside:
            _check_terms(locked, accepted_terms)
        permission = SendingPermission.objects.create(
            bank=locked,
            endpoint=named.name,
            questions=questions,
            images=images,
            reports=reports,
            reason=reason,
            agreement=agreement,
            terms=locked.terms if is_outside else "",
            given_by=actor,
            given_at=at,
            expires_at=expires_at,
        )
        facts = {
            "bank": locked.slug,
            "endpoint": named.name,
            "place": named.place.value,
            "sent": [name for name in ("questions", "images", "reports") if getattr(permission, name)],
            "reason": reason,
            "agreement": agreement,
            "expires_at": expires_at.isoformat(),
        }
        record("permission.given", actor=actor, at=at, subject=permission, facts=facts)
    return permission


def withdraw_permission(
    permission: SendingPermission, because: str, *, actor: User | None, at: datetime
) -> SendingPermission:
    """End a permission before its time. What is asked under it stops within one call. Raises SendingRefused."""
    _check_administrator(actor)
    because = because.strip()
    _check_words(because, "because", _("State why the permission is withdrawn."))
    with transaction.atomic():
        locked = SendingPermission.objects.select_for_update(of=("self",)).get(pk=permission.pk)
        if not locked.holds_at(at):
            is_withdrawn = locked.withdrawn_at is not None
            sentence = (
                _("This permission is withdrawn already.") if is_withdrawn else _("This permission is over already.")
            )
            raise SendingRefused("over", sentence)
        locked.withdrawn_at, locked.withdrawn_by, locked.withdrawn_because = at, actor, because
        locked.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_because"])
        facts = {"bank": locked.bank.slug, "endpoint": locked.endpoint, "because": because}
        record("permission.withdrawn", actor=actor, at=at, subject=locked, facts=facts)
    return locked


def is_same_text(one: str, other: str) -> bool:
    """Word by word; browsers and files end lines differently."""
    return [line.rstrip() for line in one.strip().splitlines()] == [
        line.rstrip() for line in other.strip().splitlines()
    ]


def _check_administrator(actor: User | None) -> None:
    if actor is not None and not is_administrator(actor):
        sentence = _("Only an administrator gives and withdraws permissions to send data.")
        raise SendingRefused("not_administrator", sentence, status=403)


def _check_parts(*, questions: bool, images: bool, reports: bool) -> None:
    if not (questions or images or reports):
        raise _wrong("nothing_sent", "questions", _("Choose what may be sent."))
    if images and not questions:
        sentence = _("Images are sent with questions only: permit questions, too, or no images.")
        raise _wrong("images_alone", "images", sentence)


def _check_words(words: str, field: str, sentence: str) -> None:
    if not words:
        raise _wrong(f"no_{field}", field, sentence)
    if len(words) > LONGEST_WORDS:
        raise _wrong("too_long", field, _("At most %(n)d characters can be stored.") % {"n": LONGEST_WORDS})


def _check_end(expires_at: datetime, at: datetime) -> None:
    if expires_at <= at:
        raise _wrong("past", "expires_at", _("This time is over already. Choose a later one."))
    if expires_at - at > LONGEST_TIME:
        sentence = _("A permission is given for a year at most; give a new one then.")
        raise _wrong("too_far", "expires_at", sentence)


def _check_terms(bank: QuestionBank, accepted: str) -> None:
    if not bank.terms.strip():
        sentence = _(
            "This endpoint is outside, and “%(bank)s” states no terms of use. A coordinator writes them on the page "
            "“Terms” of the bank first."
        )
        raise _wrong("no_terms", "endpoint", sentence % {"bank": bank.name})
    if not accepted.strip():
        sentence = _("This endpoint is outside: read the terms of the bank, and accept them.")
        raise _wrong("terms_not_accepted", "accepted", sentence)
    if not is_same_text(bank.terms, accepted):
        sentence = _(
            "The terms of the bank are no longer those that were accepted. Read the new ones, and accept them."
        )
        raise _wrong("terms_changed", "accepted", sentence)


def _wrong(code: str, field: str, sentence: str) -> SendingRefused:
    return SendingRefused(code, sentence, status=422, field=field)
