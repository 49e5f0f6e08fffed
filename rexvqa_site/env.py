"""Typed readers of environment variables. A value that makes no sense stops the start with a sentence."""

from __future__ import annotations

import os
import re
import secrets
import ssl
from collections.abc import Callable, Collection
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import idna
from django.core.exceptions import ImproperlyConfigured

from annotation.endpoints.kernels.endpoint_list import Endpoint, Webhook, endpoints_from, webhooks_from
from annotation.ingest.kernels.dicomweb import Pacs, Sender, pacs_from, senders_from
from annotation.people.kernels.provider_settings import Provider, check_provider, role_table
from annotation.site.home_files import SHORTEST_SECRET
from annotation.site.media import MEDIA_PLACE
from annotation.validators.kernels.model_folder import folders_from

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"", "0", "false", "no", "off"}
USUAL_PORTS = {"http": 80, "https": 443}
FEWEST_SIGNS = 8  # different ones in a secret; 32 random hexadecimal digits never have fewer

T = TypeVar("T")

_read: dict[str, tuple[str, bool]] = {}
HIDDEN = "••••••••"
SECRETS = ("SECRET", "PASSWORD", "KEY", "TOKEN", "DSN")  # ends of names whose values are shown nowhere


def settings_read() -> list[tuple[str, str, bool]]:
    """Each variable that was asked for, what was made of it, and whether it was set; secrets are never in it."""
    return [(name, value, is_set) for name, (value, is_set) in sorted(_read.items())]


def _note(name: str, value: object) -> None:
    _read[name] = (str(value), bool(os.environ.get(name, "").strip()))


def env_str(name: str, default: str = "") -> str:
    value = os.environ.get(name, default).strip()
    _note(name, HIDDEN if value and name.endswith(SECRETS) else value)
    return value


def env_url(name: str, default: str = "") -> str:
    """An address, in which a password may stand."""
    value = env_str(name, default)
    _note(name, without_password(value))
    return value


def env_site(name: str, default: str) -> str:
    """The address of the site, as browsers write it: small letters, no usual port, other alphabets as ``xn--``.

    Stops the start for what is no origin: a path, a query, a fragment, a person, a dot at the end of the host.
    """
    value = env_url(name, default)
    try:
        parts = urlsplit(value)
        host, port = _browsers_host(parts.hostname or ""), parts.port
    except ValueError:  # idna.IDNAError is one
        parts, host, port = urlsplit(""), "", None
    if not host or host.endswith(".") or parts.scheme not in USUAL_PORTS:
        raise ImproperlyConfigured(f"{name} is not an address such as https://reading.example.org")
    if parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc:
        raise ImproperlyConfigured(
            f"{name} names scheme and host alone, such as https://{host}: the site has a host of its own, without a "
            "path, a query or a person in the address"
        )
    shown = f"{parts.scheme}://{host}" + ("" if port in (None, USUAL_PORTS[parts.scheme]) else f":{port}")
    _note(name, shown)
    return shown


def counts_in(broker: str, nodes: int) -> dict[str, Any]:
    """The cache that counts requests for all web servers: Redis, if messages go there, else the database of several."""
    most, backends = {"MAX_ENTRIES": 10_000}, "django.core.cache.backends"
    if broker.startswith(("redis://", "rediss://")):
        server = broker if broker.startswith("rediss") else broker.partition("?")[0]  # what Celery alone knows
        options = {"socket_connect_timeout": 0.5, "socket_timeout": 0.5}
        return {"BACKEND": f"{backends}.redis.RedisCache", "LOCATION": [server], "KEY_PREFIX": "n", "OPTIONS": options}
    if nodes > 1:
        return {"BACKEND": f"{backends}.db.DatabaseCache", "LOCATION": "annotation_counts", "OPTIONS": most}
    return {"BACKEND": f"{backends}.locmem.LocMemCache", "LOCATION": "counts", "OPTIONS": most}


def cookie_name(name: str, site: str) -> str:
    """A name that no other site of the same host gives its cookie, whatever their ports."""
    port = urlsplit(site).port or (80 if site.startswith("http:") else None)
    return f"{name}_{port}" if port else name


def _browsers_host(name: str) -> str:
    """Raises ValueError for what is none."""
    if name.isascii():
        return f"[{ip_address(name)}]" if ":" in name else name.lower()
    return idna.encode(name, uts46=True).decode()


def without_password(url: str) -> str:
    """Raises nothing: an address that cannot be read is hidden as a whole."""
    try:
        parts = urlsplit(url)
        if not parts.password:
            return url if parts.query == "" else url.partition("?")[0]
        return parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", f":{HIDDEN}@"), query="").geturl()
    except ValueError:
        return HIDDEN


def env_bool(name: str, default: bool = False) -> bool:
    """Raises ImproperlyConfigured for a word that is neither yes nor no."""
    raw = os.environ.get(name)
    word = ("1" if default else "0") if raw is None else raw.strip().lower()
    if word not in TRUE_WORDS | FALSE_WORDS:
        raise ImproperlyConfigured(f"{name}={raw!r} is neither yes nor no; use 1 or 0")
    _note(name, word in TRUE_WORDS)
    return word in TRUE_WORDS


def env_int(name: str, default: int, *, at_least: int = 0) -> int:
    """Raises ImproperlyConfigured for what is not a whole number or is below ``at_least``."""
    raw = env_str(name, str(default)) or str(default)
    try:
        value = int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={raw!r} is not a whole number") from None
    if value < at_least:
        raise ImproperlyConfigured(f"{name}={value} is below {at_least}")
    _note(name, value)
    return value


def env_numbers(name: str, names: Collection[str]) -> dict[str, int]:
    """Whole numbers above 0 as name=number, separated by commas. Raises ImproperlyConfigured for any other."""
    pairs = [pair.partition("=") for pair in env_str(name).split(",") if pair]
    for word, _sign, number in pairs:
        if word not in names or not number.isdecimal() or not int(number):
            raise ImproperlyConfigured(f"{name}: {word}={number} is none of: {', '.join(names)} with a number above 0")
    return {word: int(number) for word, _sign, number in pairs}


def env_word(name: str, words: tuple[str, ...]) -> str:
    """One of these words, the first without a value. Raises ImproperlyConfigured for any other."""
    word = env_str(name, words[0])
    if word not in words:
        raise ImproperlyConfigured(f"{name}={word!r} is none of: {', '.join(words)}")
    return word


def env_path(name: str, default: Path) -> Path:
    raw = env_str(name)
    value = Path(raw).expanduser().resolve() if raw else default
    _note(name, value)
    return value


def env_media(name: str) -> str:
    """``folder``, a bucket as ``s3://bucket/prefix``, or nothing. Raises ImproperlyConfigured for any other."""
    value = env_str(name).rstrip("/")
    if value and not MEDIA_PLACE.fullmatch(value):
        raise ImproperlyConfigured(f"{name}={value!r} is neither folder nor a bucket such as s3://bucket/prefix")
    return value


def env_bucket() -> dict[str, str | None]:
    """How buckets are reached; what is None is left to boto3. Raises ImproperlyConfigured, without the keys."""
    endpoint, certificates = env_url("REXVQA_MEDIA_ENDPOINT"), env_certificates("REXVQA_MEDIA_CA_FILE")
    if endpoint and not re.fullmatch(r"https?://[^/?#@\s]+/?", endpoint):
        raise ImproperlyConfigured("REXVQA_MEDIA_ENDPOINT is not an address such as https://s3.example.org:9000")
    return {
        "endpoint_url": endpoint or None,
        "region_name": env_str("REXVQA_MEDIA_REGION") or None,
        "access_key": env_str("REXVQA_MEDIA_ACCESS_KEY") or None,
        "secret_key": env_str("REXVQA_MEDIA_SECRET_KEY") or None,
        "verify": os.environ["REXVQA_MEDIA_CA_FILE"].strip() if certificates else None,
    }


def env_receiver(name: str, form: str, example: str) -> str:
    """An address to which something is sent, or none. Raises ImproperlyConfigured, without the address."""
    value = env_str(name)
    if value and not re.fullmatch(form, value):
        raise ImproperlyConfigured(f"{name} is not an address such as {example}")
    return value


def env_networks(name: str, default: str = "") -> tuple[IPv4Network | IPv6Network, ...]:
    """Addresses and networks, separated by commas or spaces. Raises ImproperlyConfigured for what is neither."""
    try:
        return tuple(ip_network(one) for one in env_str(name, default).replace(",", " ").split())
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None


def _listed(name: str, read: Callable[[str], T]) -> T:
    """What a kernel reads in a list. Raises ImproperlyConfigured with its sentence, which holds no address."""
    try:
        return read(env_str(name))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None


def env_endpoints(name: str) -> tuple[Endpoint, ...]:
    """Model endpoints as name=URL, separated by commas. Raises ImproperlyConfigured, without the URL."""
    endpoints = _listed(name, endpoints_from)
    _note(name, ", ".join(one.name for one in endpoints))
    return endpoints


def env_webhooks(name: str) -> tuple[Webhook, ...]:
    """Webhooks as name=URL, separated by commas. Raises ImproperlyConfigured, without the URL."""
    webhooks = _listed(name, webhooks_from)
    _note(name, ", ".join(one.name for one in webhooks))
    return webhooks


def env_pacs(name: str) -> tuple[Pacs, ...]:
    """PACS as name=URL, separated by commas. Raises ImproperlyConfigured, without the URL."""
    archives = _listed(name, pacs_from)
    _note(name, ", ".join(one.name for one in archives))
    return archives


def env_senders(name: str) -> tuple[Sender, ...]:
    """Who may send images, as TITLE=address, separated by commas. Raises ImproperlyConfigured."""
    return _listed(name, senders_from)


def env_folders(name: str) -> dict[str, Path]:
    """Folders of models as name=/path, separated by commas. Raises ImproperlyConfigured."""
    return _listed(name, folders_from)


def env_certificates(name: str) -> str:
    """The certificates of the file that the variable names; empty where it names none.

    Raises ImproperlyConfigured for a file that cannot be read or holds none in PEM form.
    """
    raw = env_str(name)
    if not raw:
        return ""
    path = Path(raw).expanduser().resolve()
    try:
        text = path.read_bytes().decode("ascii", "ignore")  # text beside the certificates does not matter
    except OSError as error:
        raise ImproperlyConfigured(f"{name}: {path} cannot be read: {error.strerror}") from None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError):
        raise ImproperlyConfigured(
            f"{name}: {path} holds no certificates that can be read; they begin with -----BEGIN CERTIFICATE-----"
        ) from None
    return text


def env_provider() -> Provider | None:
    """The provider of OpenID Connect; None without an issuer. Raises ImproperlyConfigured, which tells no secret."""
    issuer = env_str("REXVQA_OIDC_ISSUER")
    if not issuer:
        return None
    try:
        provider = Provider(
            issuer=issuer,
            client_id=env_str("REXVQA_OIDC_CLIENT_ID"),
            name=env_str("REXVQA_OIDC_NAME") or "OpenID Connect",
            secret=env_str("REXVQA_OIDC_CLIENT_SECRET") or _secret_in(env_str("REXVQA_OIDC_CLIENT_SECRET_FILE")),
            roles_claim=env_str("REXVQA_OIDC_ROLES_CLAIM", "roles"),
            roles=role_table(env_str("REXVQA_OIDC_ROLES")),
            links_by_email=env_word("REXVQA_OIDC_LINK", ("never", "verified-email")) == "verified-email",
            certificates=env_certificates("REXVQA_OIDC_CA_FILE"),
        )
        check_provider(provider)
    except ValueError as error:
        raise ImproperlyConfigured(f"REXVQA_OIDC_…: {error}") from None
    return provider


def _secret_in(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise ImproperlyConfigured(f"REXVQA_OIDC_CLIENT_SECRET_FILE: {path} cannot be read") from None


def env_secret(name: str, path: Path) -> str:
    """The secret of this variable, else the one kept in ``path``. Raises ImproperlyConfigured for one to be guessed."""
    value = env_str(name)
    if not value:
        _note(name, path)
        return secret_from_file(path)
    if len(value) < SHORTEST_SECRET or len(set(value)) < FEWEST_SIGNS:
        raise ImproperlyConfigured(f"{name} can be guessed; give it at least {SHORTEST_SECRET} random characters")
    return value


def secret_from_file(path: Path) -> str:
    """The random key kept in ``path``; written with mode 600 when it is not there yet."""
    try:
        return _read_secret(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(64))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # only one of two starting processes can win
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return _read_secret(path)


def _read_secret(path: Path) -> str:
    value = path.read_text().strip()
    if len(value) < SHORTEST_SECRET:
        raise ImproperlyConfigured(
            f"{path} holds no key; restore it from a backup (deleting it and serve --take-keys logs everybody out)"
        )
    return value
