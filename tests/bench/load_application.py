"""The site as it is served, with one address more: a view behind the same middleware that inserts one row.

It is what the load test measures its figures against, in the same process.
"""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rexvqa_site.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402

from rexvqa_site.lanes import Lanes  # noqa: E402
from tests.bench.review import with_bare_view  # noqa: E402

settings.ROOT_URLCONF = with_bare_view()
application = Lanes(get_wsgi_application(), images="/images/")
