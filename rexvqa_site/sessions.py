"""Sessions in the database, as Django stores them. Every request asks for one, so the query is kept as SQL."""

from __future__ import annotations

from django.contrib.sessions.models import Session
from django.utils import timezone

from annotation.site import internals
from annotation.site.sorted_tables import KeptQuery

_BY_KEY = KeptQuery(lambda key: Session.objects.filter(session_key=key), str)


class SessionStore(internals.SessionStore):
    def find_session(self, key: str) -> Session | None:
        found = _BY_KEY.first(key)
        return None if found is None or found.expire_date <= timezone.now() else found
