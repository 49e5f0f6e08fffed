"""The provider of OpenID Connect by which people log in, as whoever runs the server names it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from annotation.enums import Role

LONGEST_ISSUER = 200
SITE_ROLES = (Role.REVIEWER, Role.COORDINATOR, Role.MODEL_SUBMITTER, Role.DEIDENTIFIER, Role.ADMINISTRATOR)


@dataclass(frozen=True)
class Provider:
    """``roles``: by a value of the claim ``roles_claim``, the roles of the site that it gives."""

    issuer: str
    client_id: str
    name: str
    secret: str = field(repr=False)
    roles_claim: str = "roles"
    roles: Mapping[str, frozenset[Role]] = field(default_factory=dict)
    links_by_email: bool = False
    certificates: str = field(default="", repr=False)

    def roles_of(self, claims: Mapping[str, object]) -> frozenset[Role]:
        """What the table gives for these claims. A claim that is no text and no list of texts gives nothing."""
        claim = claims.get(self.roles_claim)
        values = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
        return frozenset[Role]().union(*(self.roles.get(value, ()) for value in values if isinstance(value, str)))


def check_provider(provider: Provider) -> None:
    """Raises ValueError with a sentence, which does not hold the secret."""
    if not is_believed_address(provider.issuer) or urlsplit(provider.issuer).query:
        raise ValueError("the issuer is not an address such as https://login.example.org/realms/hospital")
    if len(provider.issuer) > LONGEST_ISSUER:
        raise ValueError(f"the issuer has more than {LONGEST_ISSUER} characters")
    if not provider.client_id or not provider.secret:
        raise ValueError("a provider needs a client id and a client secret")


def is_believed_address(text: str) -> bool:
    """Over https alone, but for this machine: whoever is in between could be anybody."""
    try:
        address = urlsplit(text)
        host = address.hostname or ""
    except ValueError:
        return False
    if address.username or address.password or address.fragment or not host:
        return False
    return address.scheme == "https" or (address.scheme == "http" and _is_this_machine(host))


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def role_table(text: str) -> dict[str, frozenset[Role]]:
    """``value=role; value=role``: a value may be listed for several roles, and may hold commas and equal signs.

    Raises ValueError with a sentence.
    """
    table: dict[str, frozenset[Role]] = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        value, equals, word = (part.strip() for part in entry.rpartition("="))
        if not equals or not value:
            raise ValueError(f"{entry!r} is not of the form value=role")
        if word not in SITE_ROLES:
            raise ValueError(f"{word!r} is no role of the site; there are: {_words(SITE_ROLES)}")
        table[value] = table.get(value, frozenset()) | {Role(word)}
    return table


def _words(roles: Iterable[Role]) -> str:
    return ", ".join(role.value for role in roles)
