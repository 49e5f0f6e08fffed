"""A new bank, without questions so far."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import QuestionBank, User
from annotation.questionbank.kernels.entries import BankRefused
from annotation.site.advisory_locks import OneAtATime, lock
from annotation.site.slugs import free_slug

LONGEST_NAME = 200


@transaction.atomic
def make_bank(name: str, *, simulated: bool = False, actor: User | None, at: datetime) -> QuestionBank:
    """Raises BankRefused for a name that is missing, too long or taken."""
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME:
        sentence = _("Name the bank, in at most %(most)s characters.") % {"most": LONGEST_NAME}
        raise BankRefused("bad_name", sentence, status=422, field="name")
    lock(OneAtATime.NAME)
    if QuestionBank.objects.filter(name=name).exists():
        sentence = _("A bank named “%(name)s” exists already: give this one another name.") % {"name": name}
        raise BankRefused("name_taken", sentence, field="name")
    bank = store_bank(name, simulated=simulated, actor=actor, at=at)
    record("bank.made", actor=actor, at=at, subject=bank)
    return bank


def store_bank(name: str, *, simulated: bool, actor: User | None, at: datetime) -> QuestionBank:
    """The row of a bank of this name, of which there is none yet, with a free address."""
    slug = free_slug(name, among=QuestionBank.objects.all(), otherwise="bank")
    return QuestionBank.objects.create(name=name, slug=slug, simulated=simulated, created_by=actor, created_at=at)
