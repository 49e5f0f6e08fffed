"""Images that came in are searched for text before anybody sees them; a search that was lost is begun again."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import ImageState, JobState, RenditionKind
from annotation.imaging.kernels.rendering import payload_of
from annotation.ingest import allowed_words, storage
from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import AuditEvent, Image, Job, User
from annotation.site.extras import has_text_search

JOB_KIND = "text_search"
HELD_JOB_KIND = "text_search_again"
PAGE = 100
_SEARCHES = AuditEvent.objects.filter(subject_type="image", act="image.searched").exclude(facts__rule="none")
_NOT_ALLOWED = '"allowed": false'  # of a finding, as both databases write JSON
SECONDS_OF_PATIENCE = 30
SECONDS_BETWEEN_FAILURES = 300


def check_text(image: Image, *, at: datetime) -> ImageState:
    """Search the stored pixels for text; make the image available, or put it into quarantine.

    An image that is in quarantine already stays there and only gets its boxes. Safe to run twice: an
    image that is past being searched is not changed. What was read is not kept. Returns the state that it has now.
    Where the search is not installed every image waits in quarantine for a person.
    """
    if not has_text_search():
        return _hold_unsearched(image, at=at)
    rendition = image.renditions.get(kind=RenditionKind.FULL)
    pixels = payload_of(storage.load(rendition.name), rendition.width, rendition.height)
    from annotation.imaging.kernels.text import RULE, find_text, is_suspicious  # loads OpenCV: not at every start

    words = allowed_words.current()
    findings = find_text(pixels, words.words)
    with transaction.atomic():
        held = Image.objects.select_for_update().get(pk=image.pk)
        if held.state not in (ImageState.CHECKING, ImageState.QUARANTINED):
            return ImageState(held.state)
        held.text_findings = [finding.as_json() for finding in findings]
        again = held.state == ImageState.QUARANTINED
        if not again:
            held.state = ImageState.QUARANTINED if is_suspicious(findings) else ImageState.AVAILABLE
            held.state_reason = _("Text in the pixels.") if is_suspicious(findings) else ""
        facts = {"rule": RULE, "words": words.number, "state": held.state, "findings": len(findings), "again": again}
        record("image.searched", actor=None, at=at, subject=held, facts=facts)
        held.save(update_fields=["text_findings", "state", "state_reason"])
        return ImageState(held.state)


@transaction.atomic
def _hold_unsearched(image: Image, *, at: datetime) -> ImageState:
    held = Image.objects.select_for_update().get(pk=image.pk)
    if held.state == ImageState.CHECKING:
        held.state = ImageState.QUARANTINED
        held.state_reason = _("Not searched for text: the search is not installed here.")
        record("image.searched", actor=None, at=at, subject=held, facts={"rule": "none", "state": held.state})
        held.save(update_fields=["state", "state_reason"])
    return ImageState(held.state)


def search_waiting(progress: Progress, params: Params) -> Result:
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
    except (OSError, ValueError, Image.DoesNotExist):
        counts["failed"] += 1
        return
    counts["searched"] += 1
    counts["quarantined"] += state == ImageState.QUARANTINED


def search_held(progress: Progress, params: Params) -> Result:
    """The job: search images that text holds in quarantine again, with the list of words as it is now."""
    counts = {"searched": 0, "quarantined": 0, "failed": 0}
    held = [image for image in Image.objects.filter(state=ImageState.QUARANTINED) if image.text_findings]
    for done, image in enumerate(held):
        progress.report(done, len(held), _("searching for text in the pixels"))
        _count(image, counts)
    return {"searched": counts["searched"], "failed": counts["failed"], "held_for_words": held_for_words().count()}


def begin_search_of_held(*, actor: User, at: datetime) -> Job | None:
    """Start that job, unless nothing is held for text, one waits already, or the search is not installed."""
    waiting = Job.objects.filter(kind=HELD_JOB_KIND, state=JobState.QUEUED)
    if not has_text_search() or waiting.exists() or not _held_by_search().exists():
        return None
    return enqueue(HELD_JOB_KIND, _("Search held images again with the list of words"), {}, actor=actor, at=at)


def held_for_words() -> QuerySet[Image]:
    """Images in quarantine that a search put there, and in which a search with a list of the site found nothing but
    allowed words: nobody asked for them to be held, and nobody changed them since. Oldest first."""
    with_list = _SEARCHES.filter(id=OuterRef("judged"), facts__words__gt=0)
    newest = _SEARCHES.filter(subject_id=OuterRef("public_id")).order_by("-id").values("id")[:1]
    images = _held_by_search().annotate(judged=Subquery(newest), said=Cast("text_findings", TextField()))
    return images.exclude(said__contains=_NOT_ALLOWED).filter(Exists(with_list))


def _held_by_search() -> QuerySet[Image]:
    first = Q(facts__again=False) | Q(facts__again__isnull=True)
    of_it = {"subject_type": "image", "subject_id": OuterRef("public_id")}
    by_people = AuditEvent.objects.filter(**of_it, act__in=["image.quarantined", "image.masked"])
    held = Image.objects.filter(state=ImageState.QUARANTINED).exclude(text_findings=[])
    held = held.filter(Exists(_SEARCHES.filter(first, subject_id=OuterRef("public_id"))), ~Exists(by_people))
    return held.order_by("ingested_at", "pk")


def begin_search(at: datetime) -> Job | None:
    """Start a search when images have waited for a while and nothing is about to search them.

    Also a sweep: what a killed ingest or search left behind is found again.
    """
    late = at - timedelta(seconds=SECONDS_OF_PATIENCE)
    if not Image.objects.filter(state=ImageState.CHECKING, ingested_at__lt=late).exists():
        return None
    with transaction.atomic():
        busy = Job.objects.filter(kind__in=[JOB_KIND, "ingest_upload"], state__in=[JobState.QUEUED, JobState.RUNNING])
        if busy.exists() or _failed_lately(at):
            return None
        return enqueue(JOB_KIND, _("Search new images for text"), {}, actor=None, at=at)


def _failed_lately(at: datetime) -> bool:
    """A search that found files broken is not begun again at once, forever."""
    last = Job.objects.filter(kind=JOB_KIND, finished_at__isnull=False).order_by("-finished_at").first()
    if last is None or last.finished_at is None or at - last.finished_at > timedelta(seconds=SECONDS_BETWEEN_FAILURES):
        return False
    return last.state != JobState.SUCCEEDED or bool((last.result or {}).get("failed"))
