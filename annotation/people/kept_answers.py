"""A request that makes something, sent twice with one key: the second gets the answer of the first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.models import KeptAnswer, User
from annotation.people.tokens import PeopleRefused

KEPT_FOR = timedelta(hours=24)
LONGEST_KEY = 100


class MadeAnswer(Struct, frozen=True):
    """What a program gets: the status, the JSON, and the address of what was made."""

    status: int
    body: Any
    location: str = ""
    is_repeated: bool = False


class Caller(Struct, frozen=True):
    """Whose keys are distinguished: a person, and the token by which the request came."""

    person: User
    token: str = ""


def is_kept(caller: Caller, key: str, *, at: datetime) -> bool:
    """Whether this key got its answer within a day."""
    kept = KeptAnswer.objects.filter(person=caller.person, token=caller.token, key=key)
    return kept.filter(kept_at__gt=at - KEPT_FOR).exists()


def answer_once(
    caller: Caller, key: str, request_sha256: str, act: Callable[[], MadeAnswer], *, at: datetime
) -> MadeAnswer:
    """Run the act and keep its answer in the same transaction; or give the answer that this key got within a day.

    What the act refuses is not kept: it may be sent again. Two at once wait for each other. Raises PeopleRefused where
    the key came with another request.
    """
    if not (key.isascii() and key.isprintable() and 0 < len(key) <= LONGEST_KEY):
        sentence = _("An Idempotency-Key is 1 to %(most)s visible ASCII characters.") % {"most": LONGEST_KEY}
        raise PeopleRefused("bad_key", sentence, status=400)
    with transaction.atomic():
        KeptAnswer.objects.filter(kept_at__lte=at - KEPT_FOR).delete()
        kept, is_new = KeptAnswer.objects.get_or_create(
            person=caller.person,
            token=caller.token,
            key=key,
            defaults={"request_sha256": request_sha256, "kept_at": at},
        )
        if not is_new:
            return _repeated(kept, request_sha256)
        answer = act()
        kept.status, kept.body, kept.location = answer.status, answer.body, answer.location
        kept.save(update_fields=["status", "body", "location"])
        return answer


def _repeated(kept: KeptAnswer, request_sha256: str) -> MadeAnswer:
    if kept.request_sha256 != request_sha256:
        sentence = _("This Idempotency-Key was used for another request. Use a new key for each thing that you make.")
        raise PeopleRefused("key_reused", sentence, status=422)
    return MadeAnswer(kept.status, kept.body, kept.location, is_repeated=True)
