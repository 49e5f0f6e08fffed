"""To whom other apps show an image, and who reads with it as it is now: serving and changing an image ask here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from annotation.models import Image
from annotation.site.hooks import Hooks

Rule = Callable[[int, Image, datetime], bool]
rules: Hooks[Rule] = Hooks()  # of the id of a person, and an available image: whether it is shown to them then
Use = Callable[[int], Iterable[str]]
uses: Hooks[Use] = Hooks()  # of the id of an image: the names of what people read with it as it was frozen


def is_shown(person_id: int, image: Image, at: datetime) -> bool:
    return any(rule(person_id, image, at) for rule in rules)


def read_in(image_id: int) -> list[str]:
    """The names of all that is being read with this image."""
    return [name for use in uses for name in use(image_id)]
