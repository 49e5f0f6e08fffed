"""The endpoints that whoever runs the server has named, and their keys. No page, no row and no client adds one."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.call_enums import EndpointPlace
from annotation.endpoints.kernels.endpoint_list import LONGEST_MODEL_NAME, Endpoint, Key
from annotation.endpoints.simulated_endpoint import simulated_endpoint
from annotation.refusals import Refused

KEY_FOLDER = "model_keys"  # of the home; not in a backup
LONGEST_KEY_FILE = 4096  # bytes
LONGEST_SHOWN = 80  # characters of a name that no endpoint has
MODEL_NAME = re.compile(rf"[!-~]{{1,{LONGEST_MODEL_NAME}}}")


class EndpointRefused(Refused):
    """A model endpoint cannot be used; the sentence says why and never holds a key."""


def endpoints() -> tuple[Endpoint, ...]:
    """In the order of ``REXVQA_MODEL_ENDPOINTS``; in a demonstration, its simulated models come last."""
    named: tuple[Endpoint, ...] = settings.MODEL_ENDPOINTS
    simulated = simulated_endpoint()
    if simulated is None or any(one.name == simulated.name for one in named):
        return named
    return (*named, simulated)


def endpoint_named(name: str) -> Endpoint:
    """Raises EndpointRefused (``no_endpoint``) for a name that is not in the list."""
    known = {endpoint.name: endpoint for endpoint in endpoints()}
    if name in known:
        return known[name]
    there = _("Endpoints: %(names)s.") % {"names": ", ".join(known)} if known else _("There is none yet.")
    sentence = _(
        "There is no model endpoint named “%(name)s”. %(there)s Whoever runs the server names them in "
        "REXVQA_MODEL_ENDPOINTS."
    ) % {"name": name[:LONGEST_SHOWN], "there": there}
    raise EndpointRefused("no_endpoint", sentence, status=404, field="endpoint")


def endpoint_to_ask(name: str) -> Endpoint:
    """Raises EndpointRefused for a name that is not in the list, and (``no_key``) for an endpoint outside without its
    key.
    """
    endpoint = endpoint_named(name)
    if endpoint.place == EndpointPlace.OUTSIDE and key_for(endpoint) is None:
        sentence = _("The key of the endpoint “%(name)s” is missing. Whoever runs the server gives it its key.")
        raise EndpointRefused("no_key", sentence % {"name": name}, field="endpoint")
    return endpoint


def checked_model(endpoint: Endpoint, model: str) -> str:
    """The name, or that of the endpoint where none is given. Raises EndpointRefused (``no_model``, ``bad_model``)."""
    name = model.strip() or endpoint.model
    if not name:
        sentence = _("Name the model as the endpoint calls it, or give the endpoint one in REXVQA_MODEL_ENDPOINTS.")
        raise EndpointRefused("no_model", sentence, status=422, field="model")
    if not MODEL_NAME.fullmatch(name):
        sentence = _("The name of a model has 1 to 200 visible characters, without spaces.")
        raise EndpointRefused("bad_model", sentence, status=422, field="model")
    return name


def key_for(endpoint: Endpoint) -> Key | None:
    """Its key: of the environment, else of its file in ``model_keys``; None for an endpoint that is asked without one.

    Raises EndpointRefused (``key_open``) for a file that others may read, and (``bad_key``) for what cannot be a key.
    """
    variable = f"REXVQA_MODEL_KEY_{endpoint.name.upper().replace('-', '_')}"
    if in_environment := os.environ.get(variable, "").strip():
        return _key(in_environment, variable)
    path = Path(settings.HOME) / KEY_FOLDER / endpoint.name
    in_file = private_text(path)
    return None if in_file is None else _key(in_file, str(path))


def _key(secret: str, place: str) -> Key:
    try:
        return Key(secret)
    except ValueError:
        sentence = _(
            "%(place)s holds no key: one has 8 to 500 visible characters, without spaces, quotes and backslashes."
        )
        raise EndpointRefused("bad_key", sentence % {"place": place}) from None


def private_text(path: Path) -> str | None:
    """What a file holds that its owner alone may read; None where there is no file. Raises EndpointRefused."""
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
                sentence = _("Others may read %(file)s. Let its owner say: chmod 600 %(file)s")
                raise EndpointRefused("key_open", sentence % {"file": path})
            return file.read(LONGEST_KEY_FILE).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        sentence = _("%(file)s cannot be read: %(reason)s.")
        raise EndpointRefused("bad_key", sentence % {"file": path, "reason": error.strerror}) from None
