"""Passwords and active accounts as Django checks them. Every request asks for its person, so that query is kept."""

from __future__ import annotations

from django.contrib.auth.backends import ModelBackend

from annotation.models import User
from annotation.site.kept_queries import KeptQuery

_BY_ID = KeptQuery(lambda pk: User.objects.filter(pk=pk), int)


class PersonBackend(ModelBackend):
    def get_user(self, user_id: int) -> User | None:
        person = _BY_ID.first(user_id)
        return person if person is not None and self.user_can_authenticate(person) else None
