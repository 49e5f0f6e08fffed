"""Models in folders of this server, for whatever they are asked: found by name, read and loaded. Nothing is sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.endpoints.configured_endpoints import LONGEST_SHOWN
from annotation.refusals import Refused
from annotation.site.health import INSTALL, has_sentence_models
from annotation.validators.kernels.model_folder import ModelFolder

Folder = TypeVar("Folder", bound=ModelFolder)
EMBEDDINGS, CLASSIFIERS = "EMBEDDING_FOLDERS", "CLASSIFIER_FOLDERS"  # settings that name them


def folders(setting: str) -> dict[str, Path]:
    """In the order of the setting."""
    named: dict[str, Path] = getattr(settings, setting)
    return named


def folder_named(
    name: str, setting: str, *, read: Callable[[str, Path], Folder], fingerprint: str = "", refused: type[Refused]
) -> Folder:
    """What the folder says of itself; with a ``fingerprint`` it has to hold the files of before.

    Raises ``refused`` (``no_folder``, ``folders_off``, ``bad_folder``, ``folder_changed``).
    """
    there = folders(setting)
    if (path := there.get(name)) is None:
        others = _("Folders: %(names)s.") % {"names": ", ".join(there)} if there else _("There is none yet.")
        sentence = _(
            "There is no model folder named “%(name)s”. %(there)s Whoever runs the server names them in %(setting)s."
        ) % {"name": name[:LONGEST_SHOWN], "there": others, "setting": f"REXVQA_{setting}"}
        raise refused("no_folder", sentence, status=404, field="endpoint")
    if not has_sentence_models():
        sentence = _("Model folders are off: onnxruntime or tokenizers is not installed; %(install)s.")
        raise refused("folders_off", sentence % {"install": INSTALL % "embeddings"}, field="endpoint")
    with usable(name, refused):
        found = read(name, path)
    if fingerprint and fingerprint != found.fingerprint:
        sentence = _(
            "The folder “%(name)s” holds other files than before: it is another model now. Ask it as a new one, or "
            "have the old files put back."
        )
        raise refused("folder_changed", sentence % {"name": name}, field="model")
    return found


@contextmanager
def usable(name: str, refused: type[Refused]) -> Iterator[None]:
    """What the block reads or asks of a folder. Raises ``refused`` (``bad_folder``) where that fails."""
    try:
        yield
    except (ValueError, OSError) as error:
        sentence = _("The folder “%(name)s” cannot be used: %(why)s. Whoever runs the server puts that right.")
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise refused("bad_folder", sentence % {"name": name, "why": why}, field="endpoint") from None


def n_threads() -> int:
    """Half of the cores: the site goes on beside it."""
    return max(1, (os.cpu_count() or 1) // 2)
