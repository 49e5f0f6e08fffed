"""What lets somebody in: one-time links, open until a day, used once, revoked; and access tokens.

Access tokens: with one a program acts for a person, in one role and one place, until a day.

A token is ``rexvqa_``, its visible name and a secret. Whoever reads it in a file can name it, and scanners for secrets
find it; the site keeps only the hash of the whole. It never gives more than its owner has at that moment: policies ask
``User.limits`` beside the roles of the person, and a token whose role is gone is revoked when it is used next.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.enums import LinkState, Role
from annotation.models import AccessToken, Invitation, Membership, QuestionBank, ReviewRound, User
from annotation.models.fields import AsRead
from annotation.models.people import TokenScope
from annotation.refusals import Refused
from annotation.site.permissions import site_roles

PREFIX = "rexvqa_"
MOST_DAYS, USUAL_DAYS = 365, 90
MOST_NETWORKS = 20
MOST_TOKENS = 50  # of one person that are open
_LETTERS = string.ascii_letters + string.digits
_TOKEN = re.compile(rf"{PREFIX}([0-9A-Za-z]{{12}})_[0-9A-Za-z]{{43}}")
_MINUTE = timedelta(minutes=1)
_OF_BANKS = frozenset({Role.COORDINATOR, Role.ADMINISTRATOR, Role.MODEL_SUBMITTER})


class TokenPlace(Struct, frozen=True):
    """Where a token can be good for something, and the roles that a person holds there."""

    scope: TokenScope
    pk: int | None
    name: str
    slug: str
    roles: frozenset[str]


PlaceRule = Callable[[User, int | None], Iterable[TokenPlace]]
# Of a person: the places where they hold roles, or the one of this id, whether they hold one there or not.


class MadeToken(Struct, frozen=True):
    """A new token with its text, which is nowhere stored and cannot be shown again."""

    row: AccessToken
    text: str


def places_of(person: User) -> Iterator[TokenPlace]:
    """Everywhere that a token of this person can be good for something."""
    for rule in place_rules().values():
        yield from (place for place in rule(person, None) if place.roles)


def place_named(person: User, scope: TokenScope, slug: str) -> TokenPlace:
    """Raises PeopleRefused where the person has no role in a place of this address."""
    for place in places_of(person):
        if place.scope == scope and (scope == TokenScope.SITE or place.slug == slug):
            return place
    sentence = _("%(person)s has no role in a %(scope)s with the address “%(slug)s”.")
    words = {"person": person, "scope": _(scope.label), "slug": slug}
    raise PeopleRefused("no_such_place", sentence % words, status=422, field="scope")


@transaction.atomic
def make_token(
    person: User,
    name: str,
    *,
    role: str,
    place: TokenPlace,
    days: int,
    networks: Sequence[str] = (),
    actor: User | None,
    at: datetime,
) -> MadeToken:
    """A token for this role in this place. Raises PeopleRefused."""
    name = " ".join(name.replace("\x00", "").split())
    _check_terms(name, days, networks)
    if role not in place.roles:
        raise PeopleRefused("no_such_role", _("A token gives no role that its owner does not hold."), field="role")
    User.objects.select_for_update().get(pk=person.pk)  # two at once would each see one too few
    if AccessToken.objects.filter(owner=person, revoked_at=None, expires_at__gt=at).count() >= MOST_TOKENS:
        sentence = _("You have %(n)s tokens that work. Revoke those that nothing uses any more.")
        raise PeopleRefused("too_many_tokens", sentence % {"n": MOST_TOKENS})
    visible = _letters(12)
    text = f"{PREFIX}{visible}_{_letters(43)}"
    row = AccessToken.objects.create(
        public_id=visible,
        token_sha256=token_sha256(text),
        owner=person,
        name=name,
        role=role,
        scope=place.scope,
        place_id=place.pk,
        place_name=place.name,
        networks=[str(ip_network(one.strip(), strict=False)) for one in networks],
        created_at=at,
        expires_at=at + timedelta(days=days),
    )
    facts = {"owner": person.pk, "role": role, "scope": place.scope, "place": place.slug, "days": days}
    record("token.made", actor=actor, at=at, subject=row, facts={**facts, "networks": row.networks})
    return MadeToken(row, text)


def person_of(text: str, *, address: str, at: datetime) -> User:
    """The owner of a token, limited to what it gives. Raises PeopleRefused with status 401, or 403 for an address."""
    token = _token_of(text)
    if token is None or token.state(at) == LinkState.REVOKED:
        raise _unknown()
    if token.state(at) == LinkState.EXPIRED:
        raise PeopleRefused("token_expired", _("This token has expired. Make a new one."), status=401)
    if not _is_from(address, token.networks):
        _note_refused(token, address, at)
        raise PeopleRefused("token_address", _("This token is not taken from your network address."), status=403)
    person = token.owner
    place = _place_of(person, token)
    if place is None or token.role not in place.roles or not person.is_active:
        if place is not None:  # what lies in the bin may come back, a role that was taken is gone
            revoke_token(token, actor=None, at=at, reason="role")
        raise _unknown()
    _note_used(token, at)
    return limited(person, token)


def limited(person: User, token: AccessToken) -> User:
    """The person, with no more rights than the token gives."""
    known = site_roles(person)
    person.limits = token.limits
    person.__dict__["_site_roles"] = known & {token.role}
    return person


@transaction.atomic
def revoke_token(token: AccessToken, *, actor: User | None, at: datetime, reason: str = "") -> None:
    """It is not taken any more, for good. Revoking one twice changes nothing."""
    if AccessToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=at):
        token.revoked_at = at
        record("token.revoked", actor=actor, at=at, subject=token, facts={"reason": reason} if reason else {})


def revoke_tokens(tokens: QuerySet[AccessToken], *, actor: User | None, at: datetime, reason: str) -> None:
    """All of these that still work, in the transaction of the act that needs it."""
    for token in tokens.filter(revoked_at=None, expires_at__gt=at):
        revoke_token(token, actor=actor, at=at, reason=reason)


def holds_token(text: str) -> bool:
    return _TOKEN.search(text) is not None


# --- places ---------------------------------------------------------------------------------------
def whole_site(person: User, _pk: int | None) -> Iterator[TokenPlace]:
    """Every role of the site, for reading."""
    yield TokenPlace(TokenScope.SITE, None, "", "", site_roles(person))


def banks_of(person: User, pk: int | None) -> Iterator[TokenPlace]:
    roles = site_roles(person) & _OF_BANKS
    rows = QuestionBank.objects.all() if roles or pk is not None else QuestionBank.objects.none()
    for bank in rows.filter(pk=pk) if pk is not None else rows.order_by(AsRead("name")):
        yield TokenPlace(TokenScope.BANK, bank.pk, bank.name, bank.slug, roles)


def rounds_of(person: User, pk: int | None) -> Iterator[TokenPlace]:
    """What somebody is in a round, and what coordinators and administrators of the site are in all of them."""
    everywhere = site_roles(person) & {Role.COORDINATOR, Role.ADMINISTRATOR}
    mine = Membership.objects.filter(user=person, round__isnull=False)
    roles_in: dict[int, set[str]] = {}
    for round_id, role in mine.values_list("round_id", "role"):
        assert round_id is not None
        roles_in.setdefault(round_id, set()).add(role)
    if Role.REVIEWER in site_roles(person):
        for round_id in person.assignments.order_by().values_list("round", flat=True).distinct():
            roles_in.setdefault(round_id, set()).add(Role.REVIEWER)
    rows = (
        ReviewRound.objects.all() if everywhere or pk is not None else ReviewRound.objects.filter(pk__in=list(roles_in))
    )
    for one in rows.filter(pk=pk) if pk is not None else rows.order_by(AsRead("name")):
        yield TokenPlace(TokenScope.ROUND, one.pk, one.name, one.slug, everywhere | roles_in.get(one.pk, set()))


def place_rules() -> dict[str, PlaceRule]:
    """By scope."""
    own: dict[str, PlaceRule] = {TokenScope.SITE: whole_site, TokenScope.BANK: banks_of, TokenScope.ROUND: rounds_of}
    return own | contributed().token_places


# --- inside ---------------------------------------------------------------------------------------
def _check_terms(name: str, days: int, networks: Sequence[str]) -> None:
    if not name or len(name) > 80:
        sentence = _("Name what will use the token, in at most 80 characters.")
        raise PeopleRefused("bad_name", sentence, status=422, field="name")
    if not 1 <= days <= MOST_DAYS:
        sentence = _("A token works for 1 to %(most)s days.") % {"most": MOST_DAYS}
        raise PeopleRefused("bad_days", sentence, status=422, field="days")
    if len(networks) > MOST_NETWORKS:
        sentence = _("Give at most %(most)s networks.") % {"most": MOST_NETWORKS}
        raise PeopleRefused("too_many_networks", sentence, status=422, field="networks")
    for one in networks:
        try:
            ip_network(one.strip(), strict=False)
        except ValueError:
            sentence = _("“%(text)s” is no network address such as 192.0.2.7 or 10.1.0.0/16.") % {"text": one[:60]}
            raise PeopleRefused("bad_network", sentence, status=422, field="networks") from None


def _letters(n: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(n))


def _token_of(text: str) -> AccessToken | None:
    """The row of a token, whatever its state; None for one that was never given out."""
    found = _TOKEN.fullmatch(text)
    if found is None:
        return None
    token = AccessToken.objects.select_related("owner").filter(public_id=found[1]).first()
    if token is None or not secrets.compare_digest(token.token_sha256, token_sha256(text)):
        return None
    return token


def _unknown() -> PeopleRefused:
    """The same words for a token that was never given out and one that is dead."""
    return PeopleRefused("token_unknown", _("This token is not known, or was revoked."), status=401)


def _place_of(person: User, token: AccessToken) -> TokenPlace | None:
    """The place of a token, with the roles that the person holds there now; None where it is not there any more."""
    rule = place_rules().get(token.scope)
    return next(iter(rule(person, token.place_id)), None) if rule is not None else None


def _is_from(address: str, networks: Sequence[str]) -> bool:
    if not networks:
        return True
    try:
        known = ip_address(address)
    except ValueError:
        return False
    return any(known in ip_network(one) for one in networks)


def _note_used(token: AccessToken, at: datetime) -> None:
    """At most once a minute: reading writes nothing else."""
    if token.last_used_at is None or at - token.last_used_at >= _MINUTE:
        AccessToken.objects.filter(pk=token.pk).update(last_used_at=at)


@transaction.atomic
def _note_refused(token: AccessToken, address: str, at: datetime) -> None:
    """One event a minute: who has a token must not be able to flood the log."""
    before = AccessToken.objects.filter(pk=token.pk).exclude(last_refused_at__gt=at - _MINUTE)
    if before.update(last_refused_at=at):
        record("token.refused", actor=None, at=at, subject=token, facts={"address": address[:45]})


# --- one-time links, whatever they give ---------------------------------------------------------------
class PeopleRefused(Refused):
    """Somebody cannot be invited, given a role or a token, or come in with a link or a token; nothing was stored."""


def new_token() -> str:
    """It is in one address and nowhere else: shown once, it cannot be shown again."""
    return secrets.token_urlsafe(32)


def token_sha256(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def last_day(at: datetime) -> datetime:
    return at + timedelta(days=settings.INVITATION_DAYS)


def open_links(rows: QuerySet[Invitation], at: datetime) -> QuerySet[Invitation]:
    """Those that can still be used."""
    return rows.filter(used_at__isnull=True, revoked_at__isnull=True, expires_at__gt=at)


def revoke_links(rows: QuerySet[Invitation], *, actor: User | None, at: datetime, reason: str = "") -> None:
    """Make the open ones among these useless, in the transaction of the act that needs it."""
    for link in open_links(rows, at).select_for_update(of=("self",)):
        link.revoked_at = at
        link.save(update_fields=["revoked_at"])
        record(f"{link.word}.revoked", actor=actor, at=at, subject=link, facts={"reason": reason} if reason else {})


def check_open(link: Invitation | None, at: datetime) -> None:
    """Raises PeopleRefused, which says what happened to the link and what to do."""
    if link is None:
        sentence = _("This link was never given out. Check that it was copied as a whole.")
        raise PeopleRefused("link_unknown", sentence, status=404)
    state = link.state(at)
    if state is LinkState.OPEN:
        return
    again = _("Ask the person who sent it for a new one.")
    sentences = {
        LinkState.USED: _(
            "This link was used already: it works once. If it was you, log in; if not, tell the person who sent it."
        ),
        LinkState.REVOKED: _("This link was taken back, or a newer one took its place.") + " " + again,
        LinkState.EXPIRED: _("This link is too old.") + " " + again,
    }
    raise PeopleRefused("link_closed", sentences[state], status=410, state=state)


def check_is_for(person: User, link: Invitation) -> None:
    """Raises PeopleRefused where the link was made for another address."""
    if link.email and link.email != person.email:
        sentence = _(
            "This invitation is for another address than %(email)s, with which you are logged in. Log out, and open "
            "the link again."
        )
        raise PeopleRefused("other_address", sentence % {"email": person.email}, field="email")
