"""How people get into a site that a process of its own fills for a test or a measurement: by their sessions."""

from __future__ import annotations

from typing import Any

BACKEND = "annotation.people.backend.PersonBackend"


def session_of(person: Any) -> str:
    """The key of a session in which they are logged in."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(person, backend=BACKEND)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def cookies_of(session: str, port: int, token: str = "") -> str:
    """What a browser of this person sends to a site that was started at this port."""
    return f"sessionid_{port}={session}" + (f"; csrftoken_{port}={token}" if token else "")


def sessions_of_readers(study: Any, n_readers: int) -> list[str]:
    """Those of so many new readers of the study."""
    from annotation.models import User
    from tests.readerstudy.studies import enrol

    sessions = []
    for n in range(n_readers):
        reader = User.objects.create_user(f"reader{n}@example.org", None, name=f"Reader {n}")
        enrol(study, reader)
        sessions.append(session_of(reader))
    return sessions
