"""The site as it is served, with one address more: a view behind the same middleware that inserts one row.

It is what the load test measures its figures against, in the same process.
"""

from __future__ import annotations

import os
from types import ModuleType

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rexvqa_site.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402

from rexvqa_site.lanes import Lanes  # noqa: E402
from tests.bench.review import bare_view  # noqa: E402

_addresses = ModuleType("tests.bench.load_addresses")


def _point_at_both() -> None:
    from django.urls import include, path

    _addresses.urlpatterns = [path("bare/", bare_view()), path("", include("rexvqa_site.urls"))]  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = _addresses


_point_at_both()
application = Lanes(get_wsgi_application(), images="/images/")
