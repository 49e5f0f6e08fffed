"""Images that came in are searched for text before anybody sees them; a search that was lost is begun again.

A site lists words that are never names, beside those of imaging/kernels/textwords. A list is a version; versions stay.
A word counts letter by letter, capital and small letters being the same; a text is allowed where each of its words is.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import lock_log, record
from annotation.enums import ImageState, JobQueue, JobState, RenditionKind, Turn
from annotation.imaging.kernels.textwords import ALLOWED, letters_of
from annotation.ingest import storage
from annotation.ingest.kernels.credits import IngestRefused
from annotation.jobs.queueing import LATER, JobKind, NoParams, Progress, Result, enqueue
from annotation.models import AllowedWords, AuditEvent, Image, Job, User
from annotation.site.health import has_text_search

JOB_KIND: JobKind[NoParams] = JobKind("text_search", JobQueue.IMAGES, LATER)
AGAIN_JOB_KIND: JobKind[NoParams] = JobKind("text_search_again", JobQueue.IMAGES, LATER)
PAGE = 100
_SEARCHES = AuditEvent.objects.filter(subject_type="image", act="image.searched").exclude(facts__rule="none")
_NOT_ALLOWED = '"allowed": false'  # of a finding, as both databases write JSON
SECONDS_OF_PATIENCE = 30
SECONDS_BETWEEN_FAILURES = 300
LONGEST = 40  # letters of a word


def check_text(image: Image, *, at: datetime) -> ImageState:
    """Search the stored pixels for text; make the image available, or put it into quarantine.

    An image that is in quarantine already stays there and only gets its boxes. Safe to run twice: an
    image that is past being searched is not changed. What was read is not kept. Returns the state that it has now.
    Where the search is not installed every image waits in quarantine for a person.
    """
    if not has_text_search():
        return _quarantine_unsearched(image, at=at)
    from annotation.imaging.kernels.rendering import payload_of
    from annotation.imaging.kernels.text import RULE, find_text, is_suspicious  # loads OpenCV, which may not be here

    rendition = image.renditions.get(kind=RenditionKind.FULL)
    pixels = payload_of(storage.load(rendition.name), rendition.width, rendition.height)
    words = current_words()
    findings = find_text(pixels, words.words, Turn(image.turn) if image.waits_for_turn else Turn.NONE)
    with transaction.atomic():
        locked = Image.objects.select_for_update().get(pk=image.pk)
        is_of_it = locked.renditions.filter(pk=rendition.pk).exists()  # else it was made anew while it was searched
        if locked.state not in (ImageState.CHECKING, ImageState.QUARANTINED) or not is_of_it:
            return ImageState(locked.state)
        locked.text_findings = [finding.as_json() for finding in findings]
        again = locked.state == ImageState.QUARANTINED
        if not again:
            reasons = [_("Text in the pixels.")] if is_suspicious(findings) else []
            reasons += [_("By its file it lies otherwise than usual.")] if locked.waits_for_turn else []
            locked.state = ImageState.QUARANTINED if reasons else ImageState.AVAILABLE
            locked.state_reason = " ".join(reasons)
        facts = {"rule": RULE, "words": words.number, "state": locked.state, "findings": len(findings), "again": again}
        record("image.searched", actor=None, at=at, subject=locked, facts=facts)
        locked.save(update_fields=["text_findings", "state", "state_reason"])
        return ImageState(locked.state)


@transaction.atomic
def _quarantine_unsearched(image: Image, *, at: datetime) -> ImageState:
    locked = Image.objects.select_for_update().get(pk=image.pk)
    if locked.state == ImageState.CHECKING:
        locked.state = ImageState.QUARANTINED
        locked.state_reason = _("Not searched for text: the search is not installed here.")
        record("image.searched", actor=None, at=at, subject=locked, facts={"rule": "none", "state": locked.state})
        locked.save(update_fields=["state", "state_reason"])
    return ImageState(locked.state)


def searched_among(images: Iterable[Image]) -> set[str]:
    """Of these images the names of those that were searched for text, here or before."""
    names = [image.public_id for image in images]
    return set(_SEARCHES.filter(subject_id__in=names).values_list("subject_id", flat=True))


def search_waiting(progress: Progress, params: NoParams) -> Result:
    """The job: search every image that waits, also those that come in meanwhile.

    An image whose files cannot be read keeps waiting and is counted, so that one broken file stops nobody.
    """
    counts = {"searched": 0, "quarantined": 0, "failed": 0}
    last = 0
    while batch := list(Image.objects.filter(state=ImageState.CHECKING, pk__gt=last).order_by("pk")[:PAGE]):
        for image in batch:
            done = sum(counts.values())
            waiting = Image.objects.filter(state=ImageState.CHECKING, pk__gt=last).count()
            progress.report(done, done + waiting, _("searching for text in the pixels"))
            last = image.pk
            _count(image, counts)
    return counts


def _count(image: Image, counts: dict[str, int]) -> None:
    try:
        state = check_text(image, at=timezone.now())
    except (OSError, ValueError, ObjectDoesNotExist):  # also one that was removed meanwhile
        counts["failed"] += 1
        return
    counts["searched"] += 1
    counts["quarantined"] += state == ImageState.QUARANTINED


def search_quarantined(progress: Progress, params: NoParams) -> Result:
    """The job: search images that are in quarantine for text again, with the list of words as it is now."""
    counts = {"searched": 0, "quarantined": 0, "failed": 0}
    images = [image for image in Image.objects.filter(state=ImageState.QUARANTINED) if image.text_findings]
    for done, image in enumerate(images):
        progress.report(done, len(images), _("searching for text in the pixels"))
        _count(image, counts)
    n_for_words = quarantined_for_words().count()
    return {"searched": counts["searched"], "failed": counts["failed"], "held_for_words": n_for_words}


def begin_search_of_quarantined(*, actor: User, at: datetime) -> Job | None:
    """Start that job, unless nothing is in quarantine for text, one waits already, or the search is not installed."""
    waiting = Job.objects.filter(kind=AGAIN_JOB_KIND, state=JobState.QUEUED)
    if not has_text_search() or waiting.exists() or not _quarantined_by_search().exists():
        return None
    return enqueue(
        AGAIN_JOB_KIND, _("Search quarantined images again with the list of words"), NoParams(), actor=actor, at=at
    )


def quarantined_for_words() -> QuerySet[Image]:
    """Images in quarantine that a search put there, and in which a search with a list of the site found nothing but
    allowed words: no person put them there, and nobody changed them since. Oldest first."""
    with_list = _SEARCHES.filter(id=OuterRef("judged"), facts__words__gt=0)
    newest = _SEARCHES.filter(subject_id=OuterRef("public_id")).order_by("-id").values("id")[:1]
    images = _quarantined_by_search().annotate(judged=Subquery(newest), as_text=Cast("text_findings", TextField()))
    return images.exclude(as_text__contains=_NOT_ALLOWED).filter(Exists(with_list))


def _quarantined_by_search() -> QuerySet[Image]:
    first = Q(facts__again=False) | Q(facts__again__isnull=True)
    of_it = {"subject_type": "image", "subject_id": OuterRef("public_id")}
    by_people = AuditEvent.objects.filter(**of_it, act__in=["image.quarantined", "image.masked"])
    images = Image.objects.filter(state=ImageState.QUARANTINED).exclude(text_findings=[])
    images = images.exclude(is_turned=None, turn__gt="")  # held until somebody chooses how it lies
    images = images.filter(Exists(_SEARCHES.filter(first, subject_id=OuterRef("public_id"))), ~Exists(by_people))
    return images.order_by("ingested_at", "pk")


def begin_search(at: datetime) -> Job | None:
    """Start a search when images have waited for a while and nothing is about to search them.

    Also a sweep: what a killed ingest or search left behind is found again.
    """
    late = at - timedelta(seconds=SECONDS_OF_PATIENCE)
    if not Image.objects.filter(state=ImageState.CHECKING, ingested_at__lt=late).exists():
        return None
    with transaction.atomic():
        busy = Job.objects.unfinished().filter(kind__in=[JOB_KIND, "ingest_upload"])
        if busy.exists() or _failed_lately(at):
            return None
        return enqueue(JOB_KIND, _("Search new images for text"), NoParams(), actor=None, at=at)


def _failed_lately(at: datetime) -> bool:
    """A search that found files broken is not begun again at once, forever."""
    last = Job.objects.filter(kind=JOB_KIND, finished_at__isnull=False).order_by("-finished_at").first()
    if last is None or last.finished_at is None or at - last.finished_at > timedelta(seconds=SECONDS_BETWEEN_FAILURES):
        return False
    return last.state != JobState.SUCCEEDED or bool((last.result or {}).get("failed"))


# The words of the site


class AllowedList(Struct, frozen=True):
    number: int  # 0: no word was ever listed
    words: frozenset[str]


def current_words() -> AllowedList:
    newest = AllowedWords.objects.order_by("-number").first()
    return AllowedList(newest.number, frozenset(newest.words)) if newest else AllowedList(0, frozenset())


@transaction.atomic
def add_word(word: str, *, actor: User, at: datetime) -> AllowedList:
    """A new version with this word. One that is there already changes nothing. Raises IngestRefused."""
    letters = _checked(word)
    lock_log()
    now = current_words()
    return now if letters in now.words else _store_words(now, now.words | {letters}, "words.added", letters, actor, at)


@transaction.atomic
def remove_word(word: str, *, actor: User, at: datetime) -> AllowedList:
    """A new version without this word, for images that are searched from now on. Twice changes nothing."""
    lock_log()
    now, letters = current_words(), letters_of(word)
    return (
        _store_words(now, now.words - {letters}, "words.removed", letters, actor, at) if letters in now.words else now
    )


def _not_listed(sentence: str) -> IngestRefused:
    return IngestRefused("word_not_listed", sentence, status=422, field="word")


def _checked(word: str) -> str:
    letters = letters_of(word)
    if not letters:
        raise _not_listed(_("Type a word."))
    if " " in letters:
        raise _not_listed(_("One word at a time: a text is allowed where each of its words is in the list."))
    if not letters.isalpha():
        raise _not_listed(_("Numbers can be dates or patient numbers. The list takes letters only."))
    if not 2 <= len(letters) <= LONGEST:
        raise _not_listed(_("A word has 2 to %(n)s letters: a single letter can be an initial.") % {"n": LONGEST})
    if letters in ALLOWED:
        raise _not_listed(_("“%(word)s” is allowed already, without being listed.") % {"word": letters})
    return letters


def _store_words(
    now: AllowedList, words: frozenset[str], act: str, word: str, actor: User, at: datetime
) -> AllowedList:
    made = AllowedWords.objects.create(number=now.number + 1, words=sorted(words), made_by=actor, made_at=at)
    record(act, actor=actor, at=at, subject=made, facts={"word": word, "version": made.number})
    return AllowedList(made.number, words)
