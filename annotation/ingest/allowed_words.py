"""Words that are never names, as a site lists them beside imaging/textwords. A list is a version; versions stay.

A word counts letter by letter as it stands, capital and small letters being the same; a text is allowed where each of
its words is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import lock_log, record
from annotation.imaging.kernels.textwords import ALLOWED, letters_of
from annotation.models import AllowedWords, User

LONGEST = 40


class WordRefused(Exception):
    """The word cannot stand in the list; the sentence says why, and what to do."""


@dataclass(frozen=True)
class WordsNow:
    number: int  # 0: no word was ever listed
    words: frozenset[str]


def current() -> WordsNow:
    newest = AllowedWords.objects.order_by("-number").first()
    return WordsNow(newest.number, frozenset(newest.words)) if newest else WordsNow(0, frozenset())


@transaction.atomic
def add_word(word: str, *, actor: User, at: datetime) -> WordsNow:
    """A new version with this word. One that is there already changes nothing. Raises WordRefused."""
    letters = _checked(word)
    lock_log()
    now = current()
    return now if letters in now.words else _store(now, now.words | {letters}, "words.added", letters, actor, at)


@transaction.atomic
def remove_word(word: str, *, actor: User, at: datetime) -> WordsNow:
    """A new version without this word, for images that are searched from now on. Twice changes nothing."""
    lock_log()
    now, letters = current(), letters_of(word)
    return _store(now, now.words - {letters}, "words.removed", letters, actor, at) if letters in now.words else now


def _checked(word: str) -> str:
    letters = letters_of(word)
    if not letters:
        raise WordRefused(_("Type a word."))
    if " " in letters:
        raise WordRefused(_("One word at a time: a text is allowed where each of its words is in the list."))
    if not letters.isalpha():
        raise WordRefused(_("Numbers can be dates or patient numbers. Only letters can stand in the list."))
    if not 2 <= len(letters) <= LONGEST:
        raise WordRefused(_("A word has 2 to %(n)s letters: a single letter can be an initial.") % {"n": LONGEST})
    if letters in ALLOWED:
        raise WordRefused(_("“%(word)s” is allowed already, without being listed.") % {"word": letters})
    return letters


def _store(now: WordsNow, words: frozenset[str], act: str, word: str, actor: User, at: datetime) -> WordsNow:
    made = AllowedWords.objects.create(number=now.number + 1, words=sorted(words), made_by=actor, made_at=at)
    record(act, actor=actor, at=at, subject=made, facts={"word": word, "version": made.number})
    return WordsNow(made.number, words)
