"""One look at a page of the site."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.urls import reverse

from tests.browser.pages.acts import Act, submit_empty
from tests.browser.pages.place import Place


@dataclass(frozen=True)
class Shown:
    """One look at a page: its URL name, the person (empty: nobody is logged in), what fills the address."""

    name: str
    person: str = ""
    keys: tuple[str, ...] = ()
    query: str = ""
    status: int = 200
    act: Act | None = None
    note: str = ""

    @property
    def title(self) -> str:
        return " ".join(filter(None, (self.name, self.person or "nobody", *self.keys, self.query, self.note)))

    def address(self, place: Place) -> str:
        query = re.sub(r"\{(.+?)\}", lambda found: str(_part(place, found[1])), self.query)  # "?file={sent good}"
        return reverse(self.name, args=[_part(place, key) for key in self.keys]) + query


def looks(person: str, *pages: str, act: Act | None = None) -> list[Shown]:
    """One at each page by this person: the name of the page and, after strokes, what fills its address."""
    return [Shown(name, person, tuple(keys), act=act) for name, *keys in (page.split("/") for page in pages)]


def both(name: str, person: str = "", keys: tuple[str, ...] = ()) -> list[Shown]:
    """A page as it comes, and with its form refused."""
    return [Shown(name, person, keys), Shown(name, person, keys, act=submit_empty, note="refused")]


def _part(place: Place, key: str) -> str | int:
    """What stands in the address for a thing of the place: its slug, public id or number; else the key itself."""
    thing = place.people.get(key) or place.things.get(key, key)
    for name in ("slug", "public_id", "pk"):
        if hasattr(thing, name):
            part: str | int = getattr(thing, name)
            return part
    return str(thing)
