"""Sessions in the database, as Django keeps them. Every request asks for one, so the query is kept as SQL."""

from __future__ import annotations

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotation.site.kept_queries import KeptQuery

_BY_KEY = KeptQuery(lambda key: Session.objects.filter(session_key=key), str)


class SessionStore(db.SessionStore):
    def _get_session_from_db(self) -> Session | None:
        found = _BY_KEY.first(str(self.session_key))
        if found is None or found.expire_date <= timezone.now():
            self._session_key = None
            return None
        return found
