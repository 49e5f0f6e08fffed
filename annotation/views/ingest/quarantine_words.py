"""Words that are never names: the list of the site, and the images that only its words hold in quarantine."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.enums import JobState, Role
from annotation.forms.images import WordForm
from annotation.imaging.kernels.textwords import ALLOWED
from annotation.ingest import allowed_words as acts
from annotation.ingest.searching import HELD_JOB_KIND, begin_search_of_held, held_for_words
from annotation.models import Image, Job
from annotation.site.extras import has_text_search
from annotation.views.ingest.quarantine import IMAGES_PER_PAGE, previews
from annotation.views.site.decorators import AuthenticatedRequest, role_required


@role_required(Role.DEIDENTIFIER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def quarantine_words(request: AuthenticatedRequest) -> HttpResponse:
    """The list; a word that is added begins a new search of what text holds, which finds what can be released."""
    form = WordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        before, at = acts.current(), timezone.now()
        try:
            now = acts.add_word(form.cleaned_data["word"], actor=request.user, at=at)
        except acts.WordRefused as refusal:
            form.add_error("word", str(refusal))
        else:
            if now != before:
                begin_search_of_held(actor=request.user, at=at)
                said = _("“%(word)s” is on the list, for images that come in from now on.")
                messages.success(request, said % {"word": form.cleaned_data["word"]})
            return redirect("quarantine-words")
    return _page(request, form)


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_word_remove(request: AuthenticatedRequest) -> HttpResponse:
    word = request.POST.get("word", "")
    acts.remove_word(word, actor=request.user, at=timezone.now())
    messages.success(
        request, _("“%(word)s” is off the list. Images that were released stay released.") % {"word": word}
    )
    return redirect("quarantine-words")


def _page(request: AuthenticatedRequest, form: WordForm) -> HttpResponse:
    now = acts.current()
    held = held_for_words() if now.words else Image.objects.none()
    pages = Paginator(held.select_related("exam__bank").prefetch_related(previews()), IMAGES_PER_PAGE)
    unfinished = Job.objects.filter(kind=HELD_JOB_KIND, state__in=[JobState.QUEUED, JobState.RUNNING])
    context = {
        "form": form,
        "number": now.number,
        "words": sorted(now.words),
        "built_in": sorted(ALLOWED),
        "page": pages.get_page(request.GET.get("page")),
        "job": unfinished.order_by("-id").first(),
        "is_searchable": has_text_search(),
    }
    return render(request, "annotation/images/quarantine_words.html", context, status=422 if form.errors else 200)
