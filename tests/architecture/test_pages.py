"""No page is forgotten: what answers a GET is looked at in a browser, or is listed as something else than a page."""

from __future__ import annotations

from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.urls.converters import IntConverter

from annotation.enums import Role
from annotation.views.site.decorators import patterns
from tests.browser.pages.shown import EMPTY, FULL, NO_PAGE
from tests.conftest import make_person

SHOWN = {one.name for one in (*EMPTY, *FULL)}
ALL = {str(pattern.name): pattern for _before, pattern in patterns(get_resolver())}
PAGES = {name: pattern for name, pattern in ALL.items() if not name.startswith("api-")}  # the API shows none


def address_of(pattern: URLPattern) -> str:
    """An address of that form, of a thing that is not there."""
    given = pattern.pattern.converters.items()
    return reverse(str(pattern.name), kwargs={name: 1 if isinstance(one, IntConverter) else "x" for name, one in given})


def test_what_nobody_looks_at_is_no_page(client: Client, db: None) -> None:
    """Asked by a person with every role that there is."""
    client.force_login(make_person("Omni", *Role))
    unseen = set(PAGES) - SHOWN - set(NO_PAGE)
    assert {name for name in unseen if client.get(address_of(PAGES[name])).status_code != 405} == set()


def test_what_is_looked_at_is_there() -> None:
    assert SHOWN | set(NO_PAGE) <= set(ALL)
    assert not SHOWN & set(NO_PAGE)
