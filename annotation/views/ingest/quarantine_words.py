"""The words that are never names: an image in which only these are found does not wait in quarantine for its text."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.enums import Role
from annotation.forms.images import WordForm
from annotation.imaging.kernels.textwords import ALLOWED
from annotation.ingest import searching
from annotation.jobs.queueing import job_under_way
from annotation.models import Image
from annotation.site.health import has_text_search
from annotation.site.sorted_tables import numbered_page
from annotation.views.ingest.quarantine import IMAGES_PER_PAGE, previews
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, role_required


@role_required(Role.DEIDENTIFIER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def quarantine_words(request: AuthenticatedRequest) -> HttpResponse:
    """The list; a word that is added begins a new search of what text holds, which finds what can be released."""
    form = WordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        before, at, word = searching.current_words(), timezone.now(), form.cleaned_data["word"]
        now = run_on_form(form, lambda: searching.add_word(word, actor=request.user, at=at))
        if now is not None:
            if now != before:
                searching.begin_search_of_quarantined(actor=request.user, at=at)
                sentence = _("“%(word)s” is on the list, for images that come in from now on.")
                messages.success(request, sentence % {"word": word})
            return redirect("quarantine-words")
    return _words_page(request, form)


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_word_remove(request: AuthenticatedRequest) -> HttpResponse:
    word = request.POST.get("word", "")
    searching.remove_word(word, actor=request.user, at=timezone.now())
    messages.success(
        request, _("“%(word)s” is off the list. Images that were released stay released.") % {"word": word}
    )
    return redirect("quarantine-words")


def _words_page(request: AuthenticatedRequest, form: WordForm) -> HttpResponse:
    now = searching.current_words()
    images = searching.quarantined_for_words() if now.words else Image.objects.none()
    shown = images.select_related("exam__bank").prefetch_related(previews())
    context = {
        "form": form,
        "number": now.number,
        "words": sorted(now.words),
        "built_in": sorted(ALLOWED),
        "page": numbered_page(request.GET, shown, IMAGES_PER_PAGE),
        "job": job_under_way(searching.AGAIN_JOB_KIND),
        "is_searchable": has_text_search(),
    }
    return render(request, "annotation/images/quarantine_words.html", context, status=422 if form.errors else 200)
